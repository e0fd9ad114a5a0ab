"""What a model looked at."""

import torch

from regard.config import BOS, EOS, ModelConfig
from regard.look.recorded import cross_attention
from regard.model.build import build


def test_a_token_has_the_row_that_predicts_it() -> None:
    torch.manual_seed(0)
    config = ModelConfig(vocabulary=20, encoder_layers=1, decoder_layers=2, d_model=16, d_ff=32, heads=2)
    model = build(config).eval()
    source, target = [5, 6, 7], [8, 9]
    weights_TS = cross_attention(model, source, target)
    assert weights_TS.shape == (2, 4)
    torch.testing.assert_close(weights_TS.sum(1), torch.ones(2))
    with torch.inference_mode():
        cross = model.attentions(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]])).cross
    torch.testing.assert_close(weights_TS[1], cross[-1][0, :, 1].mean(0))
    first_TS = cross_attention(model, source, target, layer=0)
    torch.testing.assert_close(first_TS[1], cross[0][0, :, 1].mean(0))
