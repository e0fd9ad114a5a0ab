"""Settings by name and from files are what they say, and the presets are the paper's."""

from pathlib import Path
from typing import Any

import pytest

from regard.config.decode import DecodeConfig
from regard.config.presets import paper_figures, preset, preset_names, read, settings
from regard.config.run import Config
from regard.config.train import TrainConfig
from regard.errors import UserError
from regard.train.optimizer.schedule import rate


def test_base_is_the_paper() -> None:
    """PAPER.md sections 1 and 2."""
    base = preset("base")
    assert base == Config(train=TrainConfig(final="mean"))
    m, t, d = base.model, base.train, base.decode
    assert (m.encoder_layers, m.decoder_layers, m.d_model, m.d_ff, m.heads, m.d_k, m.d_v) == (
        6,
        6,
        512,
        2048,
        8,
        64,
        64,
    )
    assert (m.dropout, m.positions, m.norm, m.activation, m.score, m.neighbours) == (
        0.1, "sinusoidal", "post", "relu", "scaled", 0,
    )  # fmt: skip
    assert m.share_embeddings and m.tie_projection and m.attention_dropout == 0.0
    assert (t.steps, t.batch_tokens, t.label_smoothing, t.warmup, t.schedule) == (100_000, 25_000, 0.1, 4000, "paper")
    assert (t.beta1, t.beta2, t.epsilon, t.average_last, t.clip) == (0.9, 0.98, 1e-9, 5, None)
    assert (d.beam, d.alpha, d.extra_length) == (4, 0.6, 50)


def test_big_and_tiny() -> None:
    big = preset("big")
    assert (big.model.d_model, big.model.d_ff, big.model.heads, big.model.d_k, big.model.dropout) == (
        1024,
        4096,
        16,
        64,
        0.3,
    )
    assert (big.train.steps, big.train.average_last) == (300_000, 20)
    tiny = preset("tiny")
    assert (tiny.model.d_model, tiny.model.d_ff, tiny.model.heads, tiny.model.d_k) == (128, 256, 4, 32)
    assert (tiny.train.peak_rate, tiny.train.warmup, tiny.train.schedule) == (0.005, 2000, "inverse-sqrt")


ROWS: dict[str, dict[str, Any]] = {  # Table 3: what each row changes
    "A-1": {"heads": 1, "d_k": 512, "d_v": 512}, "A-4": {"heads": 4, "d_k": 128, "d_v": 128},
    "A-16": {"heads": 16, "d_k": 32, "d_v": 32}, "A-32": {"heads": 32, "d_k": 16, "d_v": 16},
    "B-16": {"d_k": 16}, "B-32": {"d_k": 32},
    "C-N2": {"encoder_layers": 2, "decoder_layers": 2}, "C-N4": {"encoder_layers": 4, "decoder_layers": 4},
    "C-N8": {"encoder_layers": 8, "decoder_layers": 8},
    "C-d256": {"d_model": 256, "d_k": 32, "d_v": 32}, "C-d1024": {"d_model": 1024, "d_k": 128, "d_v": 128},
    "C-ff1024": {"d_ff": 1024}, "C-ff4096": {"d_ff": 4096}, "D-drop0": {"dropout": 0.0}, "D-drop2": {"dropout": 0.2},
    "D-ls0": {}, "D-ls2": {}, "E": {"positions": "learned"},
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_table_3_change_what_the_paper_changes(name: str) -> None:
    row, base = preset(name), preset("base")
    assert row.model == base.model.model_copy(update=ROWS[name])
    smoothing = {"D-ls0": 0.0, "D-ls2": 0.2}.get(name, 0.1)
    assert row.train == base.train.model_copy(update={"label_smoothing": smoothing})
    assert row.decode == base.decode
    assert paper_figures(name) is not None


LINEAGE = {
    *(f"{cell}{attention}" for cell in ("rnn", "lstm", "gru") for attention in ("", "-attention", "-additive")),
    "gnmt", "moe-lstm", "deep-att", "convs2s", "bytenet", "feedforward",
}  # fmt: skip


AS_PUBLISHED = {"gnmt-published", "moe-lstm-published", "deep-att-published"}
PAPERS_PARSERS = ("parsing-wsj", "parsing-semi")


@pytest.mark.parametrize("name", PAPERS_PARSERS)
def test_parsers_are_as_table_4_has_them(name: str) -> None:
    found = preset(name)
    assert (found.decode.beam, found.decode.alpha, found.decode.extra_length) == (21, 0.3, 300)
    assert found.model.encoder_layers == found.model.decoder_layers == 4 and found.model.d_model == 1024
    assert (found.model.heads, found.model.d_k, found.model.d_ff) == (8, 128, 2048)


@pytest.mark.parametrize(
    ("name", "warmup", "dropouts"), [("parsing-wsj", 16_000, (0.2, 0.2)), ("parsing-semi", 4000, (0.1, 0.0))]
)
def test_parsers_are_trained_as_in_tensor2tensor(name: str, warmup: int, dropouts: tuple[float, float]) -> None:
    """At every step half of the rate of equation 3."""
    found = preset(name)
    assert (found.model.dropout, found.model.attention_dropout) == dropouts
    paper = TrainConfig(warmup=warmup)
    for step in (1, 100, warmup, 3 * warmup, 100_000):
        assert rate(step, found.train, 1024) == pytest.approx(0.5 * rate(step, paper, 1024), rel=1e-3)


def test_multi30k_is_run_by_the_published_rule() -> None:
    """Wu et al., 2021: 8,000 steps at most, ten validations without a better one, the mean of the last ten."""
    train = read(Path(__file__).parents[2] / "experiments" / "multi30k-tiny.toml").train
    assert (train.steps, train.patience, train.best, train.final) == (8000, 10, "loss", "mean")
    assert train.average_last == train.keep_last == 10 and train.accumulate * train.batch_tokens == 2 * 4096


LATER = ("mamba", "mixer", "mask-predict", "decoder-only", "encoder-only", "fine-tuning")


def test_every_preset_is_valid_and_listed() -> None:
    assert {
        "base",
        "big",
        "tiny",
        "small",
        "low-resource",
        "fast",
        *ROWS,
        *LINEAGE,
        *PAPERS_PARSERS,
        "parsing-small",
        *AS_PUBLISHED,
        "moe-transformer",
        *LATER,
    } == set(preset_names())
    for name in preset_names():
        assert isinstance(preset(name), Config)


def test_changes_by_section() -> None:
    config = preset("tiny", model={"dropout": 0.2}, train={"steps": 7})
    assert config.model.dropout == 0.2 and config.train.steps == 7
    assert config.model.d_model == 128 and config.train.peak_rate == 0.005
    assert preset("base", model={"heads": 4}).model.d_k == 128, "d_k follows unless it is given"


def test_settings_from_the_command_line() -> None:
    given = settings(["train.steps=7", "model.positions=rotary", "train.clip=", "train.bleu=true", 'decode.x="말 = 1"'])
    assert given == {
        "train": {"steps": 7, "clip": None, "bleu": True}, "model": {"positions": "rotary"}, "decode": {"x": "말 = 1"},
    }  # fmt: skip
    for wrong in ("train.steps", "steps=7", ".steps=7", "train.=7"):
        with pytest.raises(UserError, match="write SECTION.KEY=VALUE"):
            settings([wrong])


def test_nothing_unsets_an_optional_key() -> None:
    paper = preset("tiny", **settings(["train.schedule=paper", "train.peak_rate="]))
    assert paper.train.peak_rate is None
    with pytest.raises(UserError, match="train.steps: .*integer"):
        preset("tiny", **settings(["train.steps="]))


def test_unknown_preset() -> None:
    with pytest.raises(UserError, match="no preset is called 'bsae'; did you mean 'base'"):
        preset("bsae")


class TestRunFiles:
    def test_on_top_of_a_preset(self, tmp_path: Path) -> None:
        path = tmp_path / "런.toml"
        path.write_text('preset = "tiny"\n[model]\ndropout = 0.2\n[decode]\nbeam = 7\n', encoding="utf-8")
        config = read(path, train={"steps": 12})
        assert config.model == preset("tiny").model.model_copy(update={"dropout": 0.2})
        assert config.decode == DecodeConfig(beam=7) and config.train.steps == 12

    def test_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "run.toml"
        path.write_text("[train]\nsteps = 5\n")
        assert read(path).train == TrainConfig(steps=5)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"[model\n", "not valid TOML.*line 1"),
            (b"\xff", "run.toml: not UTF-8 text"),
            (b"a = " + b"[" * 10_000, "run.toml: not valid TOML"),
            (b"a = " + b"9" * 5000, "run.toml: not valid TOML"),
            (b"a = 1  # " + b"x" * (16 << 20), "run.toml: more than 16,777,216 bytes"),
            (b"preset = 'nope'", "no preset is called 'nope'"),
            (b"[model]\nlayers = 3\n", "run.toml: unknown key 'model.layers'"),
            (b"model = 3\n", "run.toml: model"),
        ],
    )
    def test_mistakes(self, tmp_path: Path, content: bytes, message: str) -> None:
        path = tmp_path / "run.toml"
        path.write_bytes(content)
        with pytest.raises(UserError, match=message):
            read(path)

    def test_a_file_without_end(self, tmp_path: Path) -> None:
        (tmp_path / "run.toml").symlink_to("/dev/zero")
        with pytest.raises(UserError, match="run.toml: more than 16,777,216 bytes"):
            read(tmp_path / "run.toml")

    @pytest.mark.parametrize("value", ["[" * 10_000, "9" * 5000])
    def test_values_that_are_none(self, value: str) -> None:
        with pytest.raises(UserError, match=r"steps: .*nable to parse .*string as an integer.*, not '.{0,210}$"):
            preset("tiny", **settings([f"train.steps={value}"]))

    def test_absent(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="no such file"):
            read(tmp_path / "none.toml")


PLANS = ("later", "table2", "table3", "table4")


@pytest.mark.parametrize(
    "path",
    [path for path in sorted((Path(__file__).parents[2] / "experiments").glob("*.toml")) if path.stem not in PLANS],
    ids=lambda path: path.stem,
)
def test_shipped_run_files_are_valid(path: Path) -> None:
    """A plan is not one run but many; tests/paper reads it."""
    assert read(path).train.steps > 0
