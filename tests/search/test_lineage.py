"""The models that the Transformer is compared with are searched, saved, loaded and combined as it is."""

from functools import partial
from pathlib import Path

import pytest
import torch
from tests.support.models import padded, plain_beam_search, sentences
from tests.support.saving import save_built

from regard.config.decode import DecodeConfig
from regard.config.model import ModelConfig
from regard.config.presets import preset, preset_names
from regard.config.run import Config
from regard.config.special_tokens import BOS, EOS
from regard.engines.torch_engine import TorchEngine
from regard.errors import UserError
from regard.exchange.to_ctranslate2 import export_ctranslate2
from regard.exchange.to_huggingface import export_huggingface
from regard.exchange.to_onnx import export_onnx
from regard.model.build import build
from regard.model.seq2seq import Seq2Seq
from regard.saved.folder import LoadedModel, load_model
from regard.search.beam import beam_search
from regard.translate.load import live, load
from regard.translate.translator import Options, Translator

NAMES = [name for name in preset_names() if preset(name).model.architecture != "transformer"]
LATER = ("mask-predict", "decoder-only", "encoder-only")  # which have tests of their own
NAMES = [name for name in NAMES if not name.endswith("-published") and name not in LATER]
TEXTS = [*sentences()[::50], "", "사과를 봅니다. שלום 👩‍👧 e\u0301"]


def shrunk(name: str, vocabulary: int) -> tuple[ModelConfig, Seq2Seq]:
    """A preset's kind, so small that a search takes milliseconds, and far from uniform."""
    sizes = {"vocabulary": vocabulary, "d_model": 12, "encoder_layers": 2, "decoder_layers": 2, "tie_projection": False}
    config = preset(name, model=sizes).model
    torch.manual_seed(4)
    model = build(config).eval().requires_grad_(False)
    model.projection_VD.mul_(12.0 if name in ("convs2s", "rnn", "lstm", "gru") else 5.0)
    return config, model


@pytest.fixture(scope="module", params=NAMES)
def stored(
    request: pytest.FixtureRequest, saved: LoadedModel, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, LoadedModel]:
    config, model = shrunk(request.param, saved.config.vocabulary)
    path = tmp_path_factory.mktemp("lineage") / request.param
    save_built(path, model, Config(model=config, decode=saved.decode), saved.subwords)
    return path, LoadedModel(config, saved.decode, (None, None), "NFC", saved.subwords, model=model)


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_beam_search_finds_what_plain_lists_find(name: str) -> None:
    _, model = shrunk(name, 7)
    sources = [[4, 5, 6, 4, 5], [6], [5, 5, 4]]
    config = DecodeConfig(beam=3, extra_length=2)
    found = beam_search(model, padded(sources), config, n_best=3, early_stopping=False)
    for hypotheses, source in zip(found, sources, strict=True):
        wanted = plain_beam_search(model, source, config, 3)
        assert [hypothesis.tokens for hypothesis in hypotheses] == [tokens for _, tokens in wanted]
        for hypothesis, (score, _) in zip(hypotheses, wanted, strict=True):
            assert hypothesis.score == pytest.approx(score, abs=1e-4)


def test_comes_back_from_the_disk_and_translates(stored: tuple[Path, LoadedModel]) -> None:
    path, made = stored
    back = load_model(path)
    assert back.config == made.config
    for name, tensor in made.model.state_dict().items():
        assert torch.equal(back.model.state_dict()[name], tensor), name
    translator = load(path)
    assert isinstance(translator.engine, TorchEngine)
    assert isinstance(live(made).engine, TorchEngine)
    assert translator.translate(TEXTS) == Translator(made).translate(TEXTS)
    (found,) = translator.window(TEXTS[:1], Options(n_best=2))
    assert len(found.sentences[0].outputs) == 2


def test_alignment_where_there_is_attention(stored: tuple[Path, LoadedModel]) -> None:
    path, made = stored
    (found,) = load(path).window([TEXTS[0]], Options(alignment=True))
    output = found.sentences[0].outputs[0]
    attends = made.config.architecture in ("convolutional", "gnmt", "deep-attention") or (
        made.config.architecture == "recurrent" and made.config.attention != "none"
    )
    assert output.alignment is not None and output.tokens
    assert bool(output.alignment) == attends


def test_an_ensemble_of_different_models(stored: tuple[Path, LoadedModel], saved: LoadedModel, tmp_path: Path) -> None:
    path, _ = stored
    save_built(tmp_path / "transformer", saved.model, Config(model=saved.config, decode=saved.decode), saved.subwords)
    both = load(path, tmp_path / "transformer")
    assert both.translate(TEXTS[:2]) == load(tmp_path / "transformer", path).translate(TEXTS[:2])


def test_other_programs_refuse_with_one_sentence(stored: tuple[Path, LoadedModel], tmp_path: Path) -> None:
    path, made = stored
    kind = made.config.architecture
    with pytest.raises(
        UserError, match=f"CTranslate2 can't compute this model, since it is {kind}, not a Transformer; "
    ):
        load(path, engine="ctranslate2")
    with pytest.raises(UserError, match=f"since it is {kind}, not a Transformer; "):
        export_ctranslate2(path, tmp_path / "out", "float32")
    with pytest.raises(UserError, match=f"it is {kind}"):
        export_huggingface(path, tmp_path / "out")
    with pytest.raises(UserError, match=f"it is {kind}, not a Transformer"):
        export_onnx(path, tmp_path / "out")
    with pytest.raises(UserError, match="the native engine can't compute this model here, since"):
        load(path, engine="native")
    assert not (tmp_path / "out").exists()


def test_pictures_show_the_attention_that_there_is(stored: tuple[Path, LoadedModel]) -> None:
    path, made = stored
    found = load(path).look(TEXTS[-1])
    source_BS, target_BT = torch.tensor([[4, 5, EOS]]), torch.tensor([[BOS, 4]])
    weights = made.model.attentions(source_BS, target_BT)
    kinds = {kind for kind in ("encoder", "decoder", "cross") if getattr(weights, kind)}
    for sentence in found.sentences:
        assert sentence.attention.keys() == kinds
        for layers in sentence.attention.values():
            assert torch.allclose(layers.sum(-1), torch.ones(()), atol=1e-5)


def test_experts_in_a_transformer_are_for_torch_alone(saved: LoadedModel, tmp_path: Path) -> None:
    path, reason = tmp_path / "model", "it has a mixture of experts"
    config, model = shrunk("moe-transformer", saved.config.vocabulary)
    save_built(path, model, Config(model=config, decode=saved.decode), saved.subwords)
    for export in (partial(export_ctranslate2, quantization="float32"), export_huggingface, export_onnx):
        with pytest.raises(UserError, match=reason):
            export(path, tmp_path / "out")
    for engine in ("native", "ctranslate2"):
        with pytest.raises(UserError, match=reason):
            load(path, engine=engine)
    translator = load(path)
    assert isinstance(translator.engine, TorchEngine) and len(translator.translate(TEXTS)) == len(TEXTS)
    assert translator.look(TEXTS[0]).sentences[0].attention.keys() == {"encoder", "decoder", "cross"}
