import numpy as np
import torch

from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS
from regard.model.build import build
from regard.model.seq2seq import Seq2Seq
from regard.model.transformer import Transformer
from regard.train.objective.loss import smoothed_cross_entropy
from regard.translate.alignment import cross_attention
from regard.translate.words import word_alignment, word_numbers

CONFIG = model_config(
    vocabulary=24, encoder_layers=1, decoder_layers=2, d_model=32, d_ff=32, heads=2, d_k=16, d_v=16, dropout=0.0
)


def reversing_model() -> Seq2Seq:
    """A model that has learned to write its source backwards, so that what came from what is known.

    With one layer in the decoder: of two, either may be the one that looks.
    """
    torch.manual_seed(0)
    model = build(CONFIG.model_copy(update={"decoder_layers": 1}))
    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(400):
        source_BS = torch.randint(4, 24, (64, 6))
        full_BT = torch.cat((torch.full((64, 1), BOS), source_BS.flip(1), torch.full((64, 1), EOS)), dim=1)
        ended_BS = torch.cat((source_BS, torch.full((64, 1), EOS)), dim=1)
        loss = smoothed_cross_entropy(
            model.features(ended_BS, full_BT[:, :-1]), model.projection_VD, full_BT[:, 1:], 0.0
        ).smoothed
        adam.zero_grad()
        (loss / full_BT[:, 1:].numel()).backward()
        adam.step()
    return model.eval()


def test_a_token_came_from_where_the_model_looked_to_predict_it() -> None:
    model = reversing_model()
    right = total = 0
    for source in torch.randint(4, 24, (20, 6)).tolist():
        attention_TS = cross_attention(model, source, source[::-1])
        assert attention_TS.shape == (6, 7)
        right += int((attention_TS.argmax(1) == torch.arange(5, -1, -1)).sum())
        total += 6
    assert right / total > 0.9


def test_a_layer_by_number() -> None:
    torch.manual_seed(0)
    model = Transformer(CONFIG).eval()
    source, target = [5, 6, 7], [8, 9]
    with torch.no_grad():
        attentions = model.attentions(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]]))
    for layer in (0, 1):
        expected_TS = attentions.cross[layer][0].mean(0)[:-1]
        weights_TS = cross_attention(model, source, target, layer)
        torch.testing.assert_close(weights_TS, expected_TS)
        torch.testing.assert_close(weights_TS.sum(1), torch.ones(2))
    last_but_one_TS = cross_attention(model, source, target, 0)
    torch.testing.assert_close(cross_attention(model, source, target), last_but_one_TS)


def test_words_from_pieces() -> None:
    attention_TS = np.array([[0.1, 0.2, 0.6], [0.5, 0.4, 0.1], [0.3, 0.6, 0.1]], np.float32)
    assert word_alignment(attention_TS, ["▁한", "국", "▁사람"], ["▁person", "▁Kore", "an"]) == ((1, 0), (0, 1))
    assert word_alignment(np.zeros((0, 3), np.float32), ["▁한", "국", "▁사람"], []) == ()
    attention_TS[0] = 0.0
    assert word_alignment(attention_TS, ["▁한", "국", "▁사람"], ["▁person", "▁Kore", "an"]) == ((0, 1),)


def test_a_word_begins_at_a_mark_and_at_the_beginning() -> None:
    assert word_numbers(["no", "▁mark", "s", "▁", "at"]) == [0, 1, 1, 2, 2]
    assert word_numbers(["▁mark", "s"]) == [0, 0] and word_numbers([]) == []
