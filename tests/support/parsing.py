"""A parser that nobody trained."""

import pytest
import torch

from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.model.build import build
from regard.saved.folder import LoadedModel
from regard.text.subwords import Subwords
from regard.text.symbols import Symbols

LINE = "(S (NP DT NN HYPH )NP (VP VBD . )VP )S"


@pytest.fixture(scope="session")
def saved_parser(subwords: Subwords) -> LoadedModel:
    """A parser that nobody trained."""
    torch.manual_seed(1)
    symbols = Symbols.learn([LINE])
    config = model_config(
        vocabulary=symbols.size,
        source_vocabulary=subwords.size,
        encoder_layers=1,
        decoder_layers=1,
        d_model=16,
        d_ff=16,
        heads=2,
        tie_projection=False,
    )
    model = build(config).eval().requires_grad_(False)
    model.projection_VD.mul_(3.0)
    files = {"source.subwords.model": subwords.content, "target.symbols.txt": symbols.content}
    decode = DecodeConfig(beam=3, alpha=0.3, extra_length=20)
    return LoadedModel(config, decode, ("en", None), "NFC", files, task="parsing", model=model)
