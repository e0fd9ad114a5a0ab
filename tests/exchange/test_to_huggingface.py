"""A model exported to Hugging Face: Marian's logits, ids and searches are ours, and it comes back as it was."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.exchange.marian import ENGLISH, KOREAN, ODD, ids, logits, marian, publish, tokenizer
from tests.support.saving import save_built

from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.run import Config
from regard.config.special_tokens import BOS, EOS, PAD, UNK
from regard.engines.engine import quiet
from regard.errors import UserError
from regard.exchange.from_huggingface import import_huggingface
from regard.exchange.to_huggingface import export_huggingface
from regard.model.build import build
from regard.saved.folder import load_model
from regard.text.normalise import normalise
from regard.text.subwords import Subwords
from regard.translate.translator import Options, Translator

DECODE = DecodeConfig(beam=3, alpha=0.8, penalty="paper", extra_length=4)
VARIANTS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "silu, an untied projection": {"activation": "silu", "tie_projection": False},
    "gelu, two embeddings": {"activation": "gelu", "share_embeddings": False},
    "two vocabularies": {"source_vocabulary": 1},
    "an odd d_model": {"d_model": 15, "heads": 3},
}


def save(folder: Path, **changes: Any) -> None:
    """A model that nobody trained, with biases and norms that are not 0 and 1."""
    tags = ("<2ko>", "<formal>")
    vocabularies = {"subwords.model": Subwords.train([*ENGLISH, *KOREAN], 420, tags=tags)}
    if "source_vocabulary" in changes:
        vocabularies = {
            "source.subwords.model": Subwords.train(ENGLISH, 330, kind="unigram", tags=tags),
            "target.subwords.model": Subwords.train(KOREAN, 340),
        }
        changes["source_vocabulary"] = vocabularies["source.subwords.model"].size
    *_, target = vocabularies.values()
    small = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 16, "d_ff": 20, "heads": 2}
    config = model_config(vocabulary=target.size, **{**small, **changes})
    torch.manual_seed(5)
    model = build(config)
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.add_(torch.randn_like(tensor) * 0.2)
        shift_D = model.get_parameter("decoder.1.around_feed_forward.norm.bias")
        model.projection_VD[EOS] = 3.5 * shift_D / shift_D.square().sum()  # a logit of about 3.5: outputs end
    contents = {name: subwords.content for name, subwords in vocabularies.items()}
    save_built(
        folder,
        model,
        Config(model=config, decode=DECODE),
        contents,
        languages=("en", "ko"),
        form="NFKC",
        card="# 카드\n",
    )


@pytest.fixture(scope="module", params=VARIANTS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Our folder and Marian's."""
    place = tmp_path_factory.mktemp("exchange")
    save(place / "ours", **VARIANTS[request.param])
    export_huggingface(place / "ours", place / "marian")
    return place / "ours", place / "marian"


def test_logits_are_the_same(pair: tuple[Path, Path]) -> None:
    saved = load_model(pair[0])
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(4, saved.config.source_vocabulary or saved.config.vocabulary, (3, 40), generator=generator)
    source[0, 5:], source[1, 39:] = PAD, PAD
    target = torch.randint(4, saved.config.vocabulary, (3, 30), generator=generator)
    target[:, 0], target[2, 20:] = BOS, PAD
    with torch.no_grad():
        found = saved.model.logits(saved.model.features(source, target))
    expected = logits(marian(pair[1]), source, target, PAD)
    assert torch.allclose(found, expected, atol=1e-4), (found - expected).abs().max()


def test_text_has_the_same_ids_and_comes_back(pair: tuple[Path, Path]) -> None:
    theirs, ours = tokenizer(pair[1]), Translator(load_model(pair[0]))
    texts = [normalise(text, ours.form) for text in (*ODD, "<s> <0x41> ⁇ \U0010fffd")]
    for subwords, target in ((ours.source_subwords, False), (ours.target_subwords, True)):
        numbers = subwords.encode(texts)
        assert ids(theirs, texts, target=target) == numbers
        assert ids(theirs, ["  two   spaces\u3000 "], target=target) == subwords.encode(["two spaces\u3000"])
    decoded = theirs.batch_decode([[BOS, *row, EOS, PAD] for row in numbers], skip_special_tokens=True)
    assert decoded == [ours.target_subwords.decode(row) for row in numbers]


def test_a_tag_is_a_language_code(pair: tuple[Path, Path]) -> None:
    ours = Translator(load_model(pair[0])).source_subwords
    assert ids(tokenizer(pair[1]), [">>ko<< 12 apples"]) == [[ours.tag("<2ko>"), *ours.encode(["12 apples"])[0]]]


def test_searches_find_the_same(pair: tuple[Path, Path]) -> None:
    ours, model = Translator(load_model(pair[0])), marian(pair[1])
    generation = model.generation_config
    assert generation.num_beams == DECODE.beam and generation.length_penalty == DECODE.alpha
    assert generation.suppress_tokens == [PAD, UNK, BOS] and generation.forced_eos_token_id is None
    ended = 0
    for source in ours.source_subwords.encode([normalise(text, ours.form) for text in (*ODD[1:], *ENGLISH[:5])]):
        for beam in (1, DECODE.beam):
            most = len(source) + DECODE.extra_length
            found = ours.engine.search([source], ours.request(Options(beam=beam, penalty="average")), quiet)[0][0]
            asked = torch.tensor([[*source, EOS]])
            written = model.generate(asked, num_beams=beam, max_length=most + 2)[0].tolist()  # type: ignore[misc]
            if beam == 1 or len(written) < most:  # at the limit we end an output, and Marian leaves it open
                assert [*found.tokens[:most]] == [token for token in written[1:] if token not in (EOS, PAD)][:most]
                ended += EOS in written
    assert ended > 5


def test_comes_back_as_it_was(pair: tuple[Path, Path], tmp_path: Path) -> None:
    import_huggingface(pair[1], tmp_path / "back")
    before, after = load_model(pair[0]), load_model(tmp_path / "back")
    weights = after.model.state_dict()
    assert after.config == before.config and after.decode == before.decode and after.subwords == before.subwords
    assert after.languages == ("en", "ko") and after.form == "NFKC"
    assert all(torch.equal(tensor, weights[name]) for name, tensor in before.model.state_dict().items())
    options = Options(target="ko")
    assert Translator(after).translate(ODD, options) == Translator(before).translate(ODD, options)


def test_an_imported_model_can_be_exported_and_imported_again(tmp_path: Path) -> None:
    publish(tmp_path / "marian")
    import_huggingface(tmp_path / "marian", tmp_path / "ours")
    export_huggingface(tmp_path / "ours", tmp_path / "again")
    import_huggingface(tmp_path / "again", tmp_path / "back")
    before, after = load_model(tmp_path / "ours"), load_model(tmp_path / "back")
    assert before.subwords == after.subwords and before.config == after.config
    weights = after.model.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in before.model.state_dict().items())
    theirs, ours = tokenizer(tmp_path / "again"), Translator(before).source_subwords
    assert ids(theirs, ODD) == ours.encode(ODD)


def test_the_folder_has_no_pickle_and_keeps_the_card(pair: tuple[Path, Path]) -> None:
    names = {path.name for path in pair[1].iterdir()} - {"target_vocab.json"}
    assert names == {
        "README.md", "config.json", "generation_config.json", "manifest.json", "model.safetensors", "source.spm",
        "target.spm", "tokenizer_config.json", "vocab.json",
    }  # fmt: skip
    card = (pair[1] / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# 카드\n") and "MarianTokenizer" in card and "NFKC" in card


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"positions": "rotary"}, "rotary positions"),
        ({"norm": "pre"}, "normalises before"),
        ({"score": "unscaled"}, "unscaled scores"),
        ({"neighbours": 4}, "restricted to neighbours"),
        ({"mixing": "longformer"}, "longformer layers, which Marian can't express; export it with --to onnx"),
        ({"mixing": "state-space"}, "state-space layers, which Marian can't express; regard itself computes it"),
        ({"d_k": 4}, "d_k and d_v"),
    ],
)
def test_what_is_no_marian_is_refused(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    save(tmp_path / "ours", **changes)
    with pytest.raises(UserError, match=reason):
        export_huggingface(tmp_path / "ours", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]


def test_an_existing_folder_is_kept(pair: tuple[Path, Path]) -> None:
    with pytest.raises(UserError, match="exists already"):
        export_huggingface(pair[0], pair[1])


def test_a_model_without_subwords_is_refused(tmp_path: Path) -> None:
    config = Config(model=model_config(vocabulary=9, encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2))
    save_built(tmp_path / "m", build(config), config, {})
    with pytest.raises(UserError, match="no subwords"):
        export_huggingface(tmp_path / "m", tmp_path / "out")
