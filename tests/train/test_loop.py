"""Runs: they learn, go on where they were, and end with the same bits however they were stopped."""

import errno
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tests.support.training import Watcher

from regard.config.presets import read
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.errors import Failed, Interrupted, UserError
from regard.files import sha256, write_manifest
from regard.saved.folder import load_model
from regard.train import checkpoint
from regard.train.final import average_run, best_of_run
from regard.train.log import Record, Silence, read_history, records
from regard.train.loop import train
from regard.train.run import RUN, begin, record, run_writer, settle
from regard.train.step import Trainer, Update


def changed(config: Config, **values: Any) -> Config:
    return config.model_copy(update={"train": config.train.model_copy(update=values)})


def events(run: Path, kind: str) -> list[Record]:
    return [record for record in records(run / "log.jsonl") if record["event"] == kind]


def figures(run: Path) -> list[Record]:
    """What the log says, without what depends on the clock."""
    hidden = {"tokens_per_second", "seconds", "cpu_seconds", "pauses", "memory_mb"}
    kept = [record for record in records(run / "log.jsonl") if record["event"] in ("train", "validation")]
    return [{key: value for key, value in record.items() if key not in hidden} for record in kept]


@pytest.fixture
def unbroken(config: Config, data: Prepared, tmp_path: Path) -> Path:
    train(settle(config, data), data, tmp_path / "unbroken")
    return tmp_path / "unbroken"


def test_it_learns(config: Config, data: Prepared, tmp_path: Path) -> None:
    config = settle(changed(config, steps=150, checkpoint_every=50, log_every=10), data)
    model = train(config, data, tmp_path / "run")
    validations = events(tmp_path / "run", "validation")
    assert [record["step"] for record in validations] == [50, 100, 150]
    assert validations[-1]["perplexity"] < 0.5 * validations[0]["perplexity"]
    saved = load_model(model)
    assert saved.config == config.model and saved.decode.beam == 3
    card = (model / "README.md").read_text(encoding="utf-8")
    assert "steps 100, 150" in card and "| model.d_model | 16 |" in card


def test_the_folder_of_a_run(unbroken: Path, config: Config, data: Prepared) -> None:
    assert sorted(path.name for path in unbroken.iterdir()) == ["checkpoints", "log.jsonl", "model", "run.toml"]
    assert read(unbroken / "run.toml") == settle(config, data)
    assert [record["step"] for record in events(unbroken, "train")] == [3, 6, 9, 12]
    record = events(unbroken, "train")[0]
    assert {"loss", "nll", "perplexity", "rate", "gradient_norm", "tokens_per_second", "memory_mb", "tokens"} <= set(
        record
    )
    assert checkpoint.steps(unbroken / "checkpoints") == [8, 12]
    assert read(checkpoint.folder(unbroken / "checkpoints", 12) / "run.toml") == settle(config, data)
    last = checkpoint.load(checkpoint.folder(unbroken / "checkpoints", 12))
    assert last.progress.step == last.progress.updates == 12 and last.progress.tokens == record["tokens"] + sum(
        later["tokens"] - earlier["tokens"]
        for earlier, later in zip(events(unbroken, "train"), events(unbroken, "train")[1:], strict=False)
    )


def test_the_model_is_the_mean_of_the_last_checkpoints(unbroken: Path, tmp_path: Path) -> None:
    folder = unbroken / "checkpoints"
    parts = [checkpoint.load(checkpoint.folder(folder, step)).weights for step in (8, 12)]
    for name, tensor in load_model(unbroken / "model").model.state_dict().items():
        torch.testing.assert_close(tensor, (parts[0][name] + parts[1][name]) / 2)
    warnings: list[str] = []
    assert average_run(unbroken, tmp_path / "averaged", 2, warnings.append) == [8, 12] and not warnings
    assert sha256(tmp_path / "averaged" / "model.safetensors") == sha256(unbroken / "model" / "model.safetensors")
    assert average_run(unbroken, tmp_path / "more", 5, warnings.append) == [8, 12]
    assert len(warnings) == 1 and "has 2 checkpoints where 5 were asked for" in warnings[0]


def test_a_damaged_checkpoint_is_left_out_of_the_mean(
    unbroken: Path, config: Config, data: Prepared, tmp_path: Path
) -> None:
    path = checkpoint.folder(unbroken / "checkpoints", 8) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    watcher = Watcher()
    train(settle(config, data), data, unbroken, observer=watcher)
    assert len(watcher.warnings) == 1 and "step-00000008" in watcher.warnings[0]
    assert events(unbroken, "model")[-1]["mean_of"] == [12]
    assert "12" in (unbroken / "model" / "README.md").read_text()
    assert average_run(unbroken, tmp_path / "averaged", 2, watcher.warn) == [12]
    last = checkpoint.folder(unbroken / "checkpoints", 12) / "model.safetensors"
    assert sha256(unbroken / "model" / "model.safetensors") == sha256(last)
    last.write_bytes(b"")
    with pytest.raises(UserError, match="none of the checkpoints that were asked for is valid"):
        average_run(unbroken, tmp_path / "none", 2, watcher.warn)


@pytest.mark.parametrize("stops", [(1,), (4,), (5, 7, 10), tuple(range(1, 11, 2))])
def test_a_stopped_run_ends_with_the_same_bits(
    unbroken: Path, config: Config, data: Prepared, tmp_path: Path, stops: tuple[int, ...]
) -> None:
    run = tmp_path / "stopped"
    for stop in stops:
        with pytest.raises(Interrupted, match=f"after step {stop + 1} with everything saved") as caught:
            train(settle(config, data), data, run, observer=Watcher(stop))
        assert caught.value.code == 75
    train(settle(config, data), data, run)
    assert sha256(run / "model" / "model.safetensors") == sha256(unbroken / "model" / "model.safetensors")
    last = checkpoint.folder(run / "checkpoints", 12)
    other = checkpoint.folder(unbroken / "checkpoints", 12)
    for name in ("model.safetensors", "training.safetensors"):
        assert sha256(last / name) == sha256(other / name)
    assert figures(run) == figures(unbroken), "the log has no gaps and no repeats"
    assert len(events(run, "resume")) == len(stops)


def test_a_stopped_run_ends_with_the_same_bits_when_subwords_are_sampled(
    config: Config, data: Prepared, tmp_path: Path, unbroken: Path
) -> None:
    config = settle(changed(config, subword_sampling=0.3), data)
    train(config, data, tmp_path / "whole")
    for stop in (3, 8):
        with pytest.raises(Interrupted):
            train(config, data, tmp_path / "stopped", observer=Watcher(stop))
    train(config, data, tmp_path / "stopped")
    name = "model/model.safetensors"
    assert sha256(tmp_path / "stopped" / name) == sha256(tmp_path / "whole" / name) != sha256(unbroken / name)
    assert figures(tmp_path / "stopped") == figures(tmp_path / "whole")


def test_ctrl_c_has_its_own_code(config: Config, data: Prepared, tmp_path: Path) -> None:
    with pytest.raises(Interrupted) as caught:
        train(settle(config, data), data, tmp_path / "run", observer=Watcher(2, signal.SIGINT))
    assert caught.value.code == 130


def test_a_damaged_checkpoint_costs_only_its_steps(
    unbroken: Path, config: Config, data: Prepared, tmp_path: Path
) -> None:
    with pytest.raises(Interrupted):
        train(settle(config, data), data, tmp_path / "run", observer=Watcher(9))
    path = checkpoint.folder(tmp_path / "run" / "checkpoints", 10) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    watcher = Watcher()
    train(settle(config, data), data, tmp_path / "run", observer=watcher)
    assert len(watcher.warnings) == 1 and "step-00000010" in watcher.warnings[0]
    assert sha256(tmp_path / "run/model/model.safetensors") == sha256(unbroken / "model/model.safetensors")
    assert figures(tmp_path / "run") == figures(unbroken)


def test_a_half_written_log_line_is_mended(unbroken: Path, config: Config, data: Prepared, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(settle(config, data), data, tmp_path / "run", observer=Watcher(6))
    with (tmp_path / "run" / "log.jsonl").open("a") as file:
        file.write('{"event": "train", "step": 9}\n{"event": "tra')
    train(settle(config, data), data, tmp_path / "run")
    assert figures(tmp_path / "run") == figures(unbroken)


def test_more_steps(config: Config, data: Prepared, tmp_path: Path, unbroken: Path) -> None:
    train(settle(changed(config, steps=8), data), data, tmp_path / "run")
    train(settle(config, data), data, tmp_path / "run")
    assert sha256(tmp_path / "run/model/model.safetensors") == sha256(unbroken / "model/model.safetensors")
    assert events(tmp_path / "run", "resume")[0]["train.steps"] == [8, 12], "the change is recorded"


def test_a_finished_run_does_nothing_more(unbroken: Path, config: Config, data: Prepared) -> None:
    before = sha256(unbroken / "model" / "model.safetensors")
    (unbroken / "model" / "ctranslate2").mkdir()  # an export
    train(settle(config, data), data, unbroken, observer=Watcher(1))
    assert sha256(unbroken / "model" / "model.safetensors") == before
    assert (unbroken / "model" / "ctranslate2").exists()
    train(settle(changed(config, steps=16), data), data, unbroken)
    assert not (unbroken / "model" / "ctranslate2").exists(), "it is not of this model"


@pytest.mark.parametrize(
    ("section", "key", "value"), [("train", "seed", 9), ("train", "batch_tokens", 99), ("model", "dropout", 0.3)]
)
def test_a_setting_that_would_change_the_run_is_refused(
    unbroken: Path, config: Config, data: Prepared, section: str, key: str, value: object
) -> None:
    other = config.model_copy(update={section: getattr(config, section).model_copy(update={key: value})})
    with pytest.raises(UserError, match=f"{section}.{key} was .* and is now {value}.*--fresh"):
        train(settle(other, data), data, unbroken)
    train(settle(other, data), data, unbroken, fresh=True)
    assert events(unbroken, "begin") and not events(unbroken, "resume")


def test_other_data_is_refused(unbroken: Path, config: Config, data: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.train.loop.fingerprint", lambda *_: "other")
    with pytest.raises(UserError, match="not the data that .* was trained on"):
        train(settle(config, data), data, unbroken)


@pytest.mark.parametrize(
    ("section", "key", "value"), [("train", "seed", 9), ("model", "d_ff", 48), ("train", "moving_average", 0.9)]
)
def test_a_checkpoint_of_another_run_is_refused(
    unbroken: Path, config: Config, data: Prepared, tmp_path: Path, section: str, key: str, value: object
) -> None:
    other = config.model_copy(update={section: getattr(config, section).model_copy(update={key: value})})
    other = changed(other, steps=16, checkpoint_every=16)
    train(settle(other, data), data, tmp_path / "other")
    shutil.copytree(tmp_path / "other/checkpoints/step-00000016", unbroken / "checkpoints/step-00000016")
    sentence = "step-00000016: a checkpoint of another run .* there and .* here.; move it out of this folder"
    with pytest.raises(UserError, match=sentence) as caught:
        train(settle(changed(config, steps=20), data), data, unbroken)
    assert f"{section}." in str(caught.value)
    (unbroken / "checkpoints/step-00000016/run.toml").unlink()  # as one made by hand
    write_manifest(unbroken / "checkpoints/step-00000016")
    if key == "d_ff":
        with pytest.raises(UserError, match="another run .*feed_forward.* is 48.*there and 32.* here"):
            train(settle(changed(config, steps=20), data), data, unbroken)


def test_another_environment_is_told_and_logged(unbroken: Path, config: Config, data: Prepared, tmp_path: Path) -> None:
    run = tmp_path / "run"
    for threads, stop in ((2, 5), (1, 0)):
        watcher, before = Watcher(stop), torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            with pytest.raises(Interrupted) if stop else nullcontext():
                train(settle(config, data), data, run, observer=watcher)
        finally:
            torch.set_num_threads(before)
        if stop:
            assert not watcher.warnings
    (told,) = watcher.warnings
    assert "threads was 2 and is 1; the run goes on, but may not end with the same bits" in told
    (resumed,) = events(run, "resume")
    assert resumed["environment.threads"] == [2, 1] and "environment.torch" not in resumed
    recorded = checkpoint.load(checkpoint.folder(run / "checkpoints", 12)).progress.environment
    assert recorded["threads"] == 1 and recorded["torch"] == torch.__version__
    assert recorded["instructions"] == torch.backends.cpu.get_cpu_capability() and recorded["processor"]


def test_the_same_environment_is_no_matter(config: Config, data: Prepared, tmp_path: Path) -> None:
    watcher = Watcher(2)
    with pytest.raises(Interrupted):
        train(settle(config, data), data, tmp_path / "run", observer=watcher)
    train(settle(config, data), data, tmp_path / "run", observer=watcher)
    assert not watcher.warnings
    path = checkpoint.folder(tmp_path / "run" / "checkpoints", 12)
    values = json.loads((path / "training.json").read_text())
    del values["environment"]  # as an earlier version wrote it
    (path / "training.json").write_text(json.dumps(values))
    write_manifest(path)
    train(settle(changed(config, steps=13), data), data, tmp_path / "run", observer=watcher)
    assert not watcher.warnings


def test_a_folder_that_is_no_run_is_left_alone(config: Config, data: Prepared, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    with pytest.raises(UserError, match="is not a run"):
        train(settle(config, data), data, tmp_path)
    assert (tmp_path / "precious").read_text() == "x"


def test_fresh_does_not_touch_a_folder_that_is_no_run(config: Config, data: Prepared, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "precious").write_text("x")
    with pytest.raises(UserError, match="is not a run"):
        train(settle(config, data), data, tmp_path, fresh=True)
    assert (tmp_path / "model" / "precious").read_text() == "x"


def test_fresh_keeps_the_run_when_the_new_one_cannot_begin(unbroken: Path, config: Config, data: Prepared) -> None:
    with pytest.raises(UserError, match="don't fit into a batch"):
        train(settle(changed(config, batch_tokens=3), data), data, unbroken, fresh=True)
    assert checkpoint.steps(unbroken / "checkpoints") == [8, 12]


def test_fresh_where_checkpoints_are_on_another_disk(config: Config, data: Prepared, tmp_path: Path) -> None:
    run, disk = tmp_path / "run", tmp_path / "disk"
    run.mkdir()
    disk.mkdir()
    record(run, settle(config, data))
    (run / "checkpoints").symlink_to(disk)
    train(settle(config, data), data, run)
    other = settle(changed(config, seed=9, steps=4), data)
    train(other, data, run, fresh=True)
    assert checkpoint.steps(disk) == [4] and events(run, "begin") and not events(run, "resume")


def test_a_run_that_fine_tunes_is_not_begun_at_random(
    unbroken: Path, config: Config, data: Prepared, tmp_path: Path
) -> None:
    tuned = settle(config, data).model_copy(update={"start": "model, 0123"})
    with pytest.raises(UserError, match="fine-tunes a model .*--from"):
        train(tuned, data, tmp_path / "run")
    weights = load_model(unbroken / "model").model.state_dict()
    with pytest.raises(Interrupted):
        train(tuned, data, tmp_path / "run", weights=weights, observer=Watcher(2))
    train(tuned, data, tmp_path / "run")
    smaller = {name: tensor[:1] for name, tensor in weights.items()}
    with pytest.raises(UserError, match="in the model that is to be fine-tuned"):
        train(tuned, data, tmp_path / "run", weights=smaller, fresh=True)
    assert checkpoint.steps(tmp_path / "run" / "checkpoints"), "refused before anything is removed"


def test_who_stops_a_run_does_not_wait_for_its_validation(
    unbroken: Path, config: Config, data: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, save = tmp_path / "run", checkpoint.save
    with pytest.raises(Interrupted):
        train(settle(config, data), data, run, observer=Watcher(3))
    assert checkpoint.steps(run / "checkpoints") == [4] and not events(run, "validation")

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save", killed)
    with pytest.raises(KeyboardInterrupt):  # after the validation, before the checkpoint that knows of it
        train(settle(config, data), data, run)
    assert len(events(run, "validation")) == 1
    monkeypatch.setattr(checkpoint, "save", save)
    train(settle(config, data), data, run)
    assert figures(run) == figures(unbroken)


def test_a_loss_that_is_no_number_is_never_the_best(
    config: Config, data: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter([math.nan, 3.0, 2.0, 2.0])
    monkeypatch.setattr("regard.train.loop.validation_losses", lambda *_: (next(found),) * 2)
    train(settle(config, data), data, tmp_path / "run")
    validations = events(tmp_path / "run", "validation")
    assert [record["best"] for record in validations] == [False, True, True] and validations[0]["nll"] is None
    assert json.loads(json.dumps(read_history(tmp_path / "run")["summary"], allow_nan=False))["best_step"] == 12


def test_killed_while_the_run_was_first_written_down(config: Config, data: Prepared, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".run.toml.77.partial").write_text("half")
    train(settle(config, data), data, tmp_path / "run")


def test_no_valid_checkpoint_is_not_a_fresh_start(unbroken: Path, config: Config, data: Prepared) -> None:
    for path in (unbroken / "checkpoints").glob("*/training.json"):
        path.write_text("{}")
    log = (unbroken / "log.jsonl").read_text()
    with pytest.raises(UserError, match="none of its checkpoints is valid"):
        train(settle(config, data), data, unbroken)
    assert (unbroken / "log.jsonl").read_text() == log


def test_over_long_pairs_are_left_out_told_and_logged(config: Config, data: Prepared, tmp_path: Path) -> None:
    lengths = data.train[0].lengths(np.arange(len(data.train[0])))
    longest = np.sort(np.maximum(*lengths) + 1)
    config = settle(changed(config, steps=2, batch_tokens=int(longest[-1]) - 1), data)
    count, watcher = int(np.count_nonzero(longest > config.train.batch_tokens)), Watcher()
    train(config, data, tmp_path / "run", observer=watcher)
    (told,) = watcher.warnings
    assert told.startswith(f"train-0: {count} pair") and f"train.batch_tokens={longest[-1] - 1} allows" in told
    assert f"the longest has {longest[-1]}" in told
    assert events(tmp_path / "run", "begin")[0]["too_long"] == {"train-0": count}


def test_texts_beyond_learned_positions_are_left_out(config: Config, data: Prepared, tmp_path: Path) -> None:
    model = config.model.model_copy(update={"positions": "learned", "max_length": 12})
    learned, watcher = settle(config.model_copy(update={"model": model}), data), Watcher()
    train(learned, data, tmp_path / "run", observer=watcher)
    assert data.valid is not None and len(watcher.warnings) == 2
    counts = {
        name: int(np.count_nonzero(np.maximum(*split.lengths(np.arange(len(split)))) + 1 > 12))
        for name, split in (("train-0", data.train[0]), ("valid", data.valid))
    }
    assert all(count > 1 for count in counts.values())
    assert events(tmp_path / "run", "begin")[0]["too_long"] == counts
    assert watcher.warnings[1].startswith(
        f"valid: {counts['valid']} pairs are left out, with more tokens than model.max"
    )


def test_learned_positions_too_few_for_any_text(config: Config, data: Prepared, tmp_path: Path) -> None:
    model = config.model.model_copy(update={"positions": "learned", "max_length": 2})
    with pytest.raises(UserError, match="all 534 training pairs have a text of 4 or more tokens"):
        train(settle(config.model_copy(update={"model": model}), data), data, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_validator_may_come_later(unbroken: Path, config: Config, data: Prepared) -> None:
    train(settle(changed(config, steps=16), data), data, unbroken, validator=lambda _: {"bleu": 1.5})
    assert "| 16 |" in (unbroken / "model" / "README.md").read_text()


def test_fine_tuning_another_size_is_refused(unbroken: Path, config: Config, data: Prepared, tmp_path: Path) -> None:
    weights = load_model(unbroken / "model").model.state_dict()
    larger = config.model_copy(update={"model": config.model.model_copy(update={"d_ff": 48})})
    with pytest.raises(UserError, match="feed_forward.*32.*48"):
        train(settle(larger, data), data, tmp_path / "run", weights=weights)


def test_two_writers_are_refused(config: Config, data: Prepared, tmp_path: Path) -> None:
    with run_writer(tmp_path / "run"), pytest.raises(UserError, match="another regard process is training.*--out"):
        train(settle(config, data), data, tmp_path / "run")
    assert not (tmp_path / "run").exists(), "neither had begun"


def test_the_lock_stands_inside_the_run(config: Config, data: Prepared, tmp_path: Path) -> None:
    """So that a process that has the folder mounted in another place finds it."""
    seen: list[list[str]] = []

    class Looking(Silence):
        def step(self, number: int, update: Update) -> None:
            seen.append(sorted(path.name for path in (*tmp_path.iterdir(), *(tmp_path / "run").glob(".*"))))

    train(settle(changed(config, steps=1), data), data, tmp_path / "run", observer=Looking())
    assert seen == [[".run.toml.lock", "run"]] and not list((tmp_path / "run").glob(".*"))


SECOND_MOUNT = """
import sys
from contextlib import nullcontext
from pathlib import Path
from regard.train.run import run_writer
with run_writer(Path(sys.argv[1])):
    print("in")
"""


def test_two_writers_by_two_mounts_are_refused(tmp_path: Path) -> None:
    """As two containers have it that share one volume."""
    volume, other = tmp_path / "a" / "run", tmp_path / "b" / "run"
    volume.mkdir(parents=True)
    other.mkdir(parents=True)
    script = 'mount --bind "$1" "$2" && exec "$3" -c "$4" "$2"'
    command = ["unshare", "-m", "sh", "-c", script, "sh", str(volume), str(other), sys.executable]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*command, "pass"], check=False, capture_output=True).returncode
    ):
        pytest.skip("may not mount here")
    with run_writer(volume):
        refused = subprocess.run([*command, SECOND_MOUNT], check=False, capture_output=True, text=True)
    assert refused.returncode != 0 and "another regard process is training in this folder" in refused.stderr
    assert subprocess.run([*command, SECOND_MOUNT], check=True, capture_output=True, text=True).stdout == "in\n"


def test_early_stopping(config: Config, data: Prepared, tmp_path: Path) -> None:
    config = settle(changed(config, patience=2, peak_rate=1e-12, schedule="constant", warmup=0), data)
    config = changed(config, steps=100)
    train(config, data, tmp_path / "run")
    summary = read_history(tmp_path / "run")["summary"]
    assert 12 <= checkpoint.steps(tmp_path / "run" / "checkpoints")[-1] < 100
    (told,) = events(tmp_path / "run", "early stop")
    assert (told["stale"], told["best_step"]) == (2, summary["best_step"])


def test_the_best_is_kept(config: Config, data: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses go up after step 4: the checkpoint of step 4 stays though it is not among the last two."""
    plain = Trainer.evaluated
    worse = iter(range(100))

    def evaluated(self: Trainer) -> Any:
        model = plain(self)
        with torch.no_grad():
            model.embedding_VD.mul_(1.0 + next(worse))  # type: ignore[union-attr]
        return model

    config = settle(changed(config, steps=20, moving_average=0.5), data)
    monkeypatch.setattr(Trainer, "evaluated", evaluated)
    train(config, data, tmp_path / "run")
    best = [record["step"] for record in events(tmp_path / "run", "validation") if record["best"]][-1]
    assert {best, 16, 20} == set(checkpoint.steps(tmp_path / "run" / "checkpoints"))


def test_what_a_validator_finds_is_logged(config: Config, data: Prepared, tmp_path: Path) -> None:
    train(
        settle(config, data),
        data,
        tmp_path / "run",
        validator=lambda model: {"answer": float(not model.training) * 42},
    )
    assert [record["answer"] for record in events(tmp_path / "run", "validation")] == [42.0] * 3


@pytest.fixture
def by_bleu(config: Config, data: Prepared, tmp_path: Path) -> Path:
    """A run whose BLEU, told by a validator, is the highest at step 8 of 20; its loss is lowest elsewhere."""
    scores = iter([10.0, 30.0, 20.0, 29.0, 5.0])
    settings = changed(config, steps=20, bleu=True, best="bleu", final="best")
    train(settle(settings, data), data, tmp_path / "run", validator=lambda _: {"bleu": next(scores)})
    return tmp_path / "run"


def test_the_best_by_bleu_is_kept_and_used(by_bleu: Path, tmp_path: Path) -> None:
    assert [record["best"] for record in events(by_bleu, "validation")] == [True, True, False, False, False]
    assert checkpoint.steps(by_bleu / "checkpoints") == [8, 16, 20]
    best = sha256(checkpoint.folder(by_bleu / "checkpoints", 8) / "model.safetensors")
    assert sha256(by_bleu / "model" / "model.safetensors") == best
    assert "the checkpoint of step 8, the best by bleu" in (by_bleu / "model" / "README.md").read_text()
    assert best_of_run(by_bleu, tmp_path / "best", print) == 8
    assert sha256(tmp_path / "best" / "model.safetensors") == best
    summary = read_history(by_bleu)["summary"]
    assert (summary["best_step"], summary["best_bleu"], summary["validation_bleu"]) == (8, 30.0, 5.0)


def test_the_best_of_a_moving_average(config: Config, data: Prepared, tmp_path: Path) -> None:
    scores = iter([10.0, 30.0, 20.0])
    settings = settle(changed(config, bleu=True, best="bleu", moving_average=0.5), data)
    seen = []

    def validator(model: torch.nn.Module) -> dict[str, float]:
        seen.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        return {"bleu": next(scores)}

    train(settings, data, tmp_path / "run", validator=validator)
    for folder, expected in (("model", seen[2]), ("best", seen[1])):
        if folder == "best":
            assert best_of_run(tmp_path / "run", tmp_path / "run" / folder, print) == 8
        weights = load_model(tmp_path / "run" / folder).model.state_dict()
        assert all(torch.equal(weights[name], tensor) for name, tensor in expected.items())


def test_the_average_of_a_moving_average_is_what_training_writes(
    config: Config, data: Prepared, tmp_path: Path
) -> None:
    run, warnings = tmp_path / "run", list[str]()
    model = train(settle(changed(config, moving_average=0.5), data), data, run)
    for name, last in (("default", None), ("one", 1)):
        assert average_run(run, tmp_path / name, last, warnings.append) == [12] and not warnings
        assert sha256(tmp_path / name / "model.safetensors") == sha256(model / "model.safetensors")
    newest = checkpoint.folder(run / "checkpoints", 12)
    assert sha256(model / "model.safetensors") != sha256(newest / "model.safetensors"), "these are the raw weights"
    assert average_run(run, tmp_path / "two", 2, warnings.append) == [8, 12]
    parts = [checkpoint.load(checkpoint.folder(run / "checkpoints", step)).tensors for step in (8, 12)]
    for name, tensor in load_model(tmp_path / "two").model.state_dict().items():
        torch.testing.assert_close(tensor, (parts[0][f"average.{name}"] + parts[1][f"average.{name}"]) / 2)
    assert "mean of the moving averages at the checkpoints: run, step 8, 12" in (tmp_path / "two/README.md").read_text()


def test_the_average_without_a_number_is_what_training_writes(unbroken: Path, tmp_path: Path) -> None:
    warnings: list[str] = []
    assert average_run(unbroken, tmp_path / "averaged", None, warnings.append) == [8, 12] and not warnings
    assert sha256(tmp_path / "averaged" / "model.safetensors") == sha256(unbroken / "model" / "model.safetensors")


def test_the_best_is_found_where_the_newest_checkpoint_is_broken(by_bleu: Path, tmp_path: Path) -> None:
    (checkpoint.folder(by_bleu / "checkpoints", 20) / "training.json").write_text("{}")
    warnings: list[str] = []
    assert best_of_run(by_bleu, tmp_path / "best", warnings.append) == 8
    assert len(warnings) == 1 and "step-00000020" in warnings[0]
    for path in (by_bleu / "checkpoints").glob("*/training.json"):
        path.write_text("{}")
    with pytest.raises(UserError, match="none of its checkpoints is valid; restore one"):
        best_of_run(by_bleu, tmp_path / "none", warnings.append)


def test_there_is_no_best_before_a_validation(config: Config, data: Prepared, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(settle(config, data), data, tmp_path / "run", observer=Watcher(2))
    with pytest.raises(UserError, match="has no best checkpoint"):
        best_of_run(tmp_path / "run", tmp_path / "best", print)


@pytest.mark.parametrize("values", [{"bleu": True}, {"patience": 3}, {"final": "best"}])
def test_what_needs_a_validation_set(config: Config, data: Prepared, tmp_path: Path, values: dict[str, Any]) -> None:
    data.valid = None
    with pytest.raises(UserError, match=f"has no validation set, which train.{next(iter(values))} needs; .*--valid"):
        train(settle(changed(config, **values), data), data, tmp_path / "run", validator=lambda _: {"bleu": 1.0})
    assert not (tmp_path / "run").exists()


def test_bleu_needs_a_translator(config: Config, data: Prepared, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="give train.. a validator that returns bleu"):
        train(settle(changed(config, bleu=True), data), data, tmp_path / "run")


def test_a_run_that_is_not_finite_stops_before_any_harm(
    config: Config, data: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Trainer._gradients

    def broken(self: Trainer, step: Any, number: int) -> tuple[float, float, float]:
        loss, nll, reward = plain(self, step, number)
        return (float("nan"), nll, reward) if number > 5 else (loss, nll, reward)

    monkeypatch.setattr(Trainer, "_gradients", broken)
    watcher = Watcher()
    with pytest.raises(Failed, match="3 steps in a row were not finite.*lower learning rate"):
        train(settle(changed(config, bad_steps=3), data), data, tmp_path / "run", observer=watcher)
    skipped = events(tmp_path / "run", "skipped")
    assert [record["step"] for record in skipped] == [6, 7, 8]
    assert all(len(record["pairs"]) > 0 for record in skipped) and len(watcher.warnings) == 3
    assert checkpoint.steps(tmp_path / "run" / "checkpoints") == [4]


@pytest.mark.parametrize("rate", [1000.0, 10.0])
def test_a_run_that_diverges_ends_with_a_sentence(config: Config, data: Prepared, tmp_path: Path, rate: float) -> None:
    config = settle(changed(config, peak_rate=rate), data)
    with pytest.raises(Failed, match="diverged: at step [0-9]+ the training loss is .*lower learning rate"):
        train(config, data, tmp_path / "run")
    assert not (tmp_path / "run" / "model").exists()


def test_a_last_validation_that_is_no_number_ends_with_a_sentence(
    config: Config, data: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter([3.0, math.nan])
    monkeypatch.setattr("regard.train.loop.validation_losses", lambda *_: (next(found),) * 2)
    with pytest.raises(
        Failed, match="diverged: at step 8 the validation loss is nan .*the checkpoint of step 4 is intact"
    ):
        train(settle(changed(config, steps=8), data), data, tmp_path / "run")


def test_a_link_to_nothing_is_refused_before_the_first_step(config: Config, data: Prepared, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("absent")
    with pytest.raises(UserError, match="link: is a link to absent, which does not exist; mount that disk or make"):
        train(settle(config, data), data, tmp_path / "link")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoints").symlink_to(tmp_path / "disk")
    with pytest.raises(UserError, match="checkpoints: is a link to .*disk, which does not exist"):
        train(settle(config, data), data, tmp_path / "run")
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file: is a file; choose another --out"):
        train(settle(config, data), data, tmp_path / "file")


@pytest.mark.parametrize(
    ("number", "sentence"),
    [(errno.EROFS, "mount it for writing, or choose"), (errno.EACCES, "change the permissions there, or choose")],
)
def test_a_place_that_may_not_be_written(
    config: Config, data: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, sentence: str
) -> None:
    def closed(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number), "run")

    monkeypatch.setattr("os.mkdir", closed)
    with pytest.raises(UserError, match=f"run: {os.strerror(number)}; {sentence} another place"):
        train(settle(config, data), data, tmp_path / "run")


@pytest.mark.parametrize(
    ("log_every", "sentence"),
    [
        (1, "log.jsonl: was removed, moved or replaced while its run was under way; put the run's folder back"),
        (100, "step-00000008: could not be written .*; put back what was removed or moved under way"),
    ],
)
def test_a_run_that_is_moved_under_way(
    unbroken: Path, config: Config, data: Prepared, tmp_path: Path, log_every: int, sentence: str
) -> None:
    run, away = tmp_path / "run", tmp_path / "away"

    class Mover(Silence):
        def step(self, number: int, update: Update) -> None:
            if number == 6:
                run.rename(away)

    moved = settle(changed(config, log_every=log_every), data)
    if log_every == 100:
        data.valid = None  # nor does a validation write to the log
    with pytest.raises(Failed, match=f"{sentence} and run the same command again to go on"):
        train(moved, data, run, observer=Mover())
    assert not run.exists(), "nothing is made where the run is not any more"
    away.rename(run)
    train(moved, data, run)
    assert sha256(run / "model/model.safetensors") == sha256(unbroken / "model/model.safetensors")


def test_a_run_that_skipped_a_step_goes_on_with_the_same_bits(
    config: Config, data: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adam counts the steps that were taken, and goes on counting them."""
    plain = Trainer._gradients

    def broken(self: Trainer, step: Any, number: int) -> tuple[float, float, float]:
        loss, nll, reward = plain(self, step, number)
        return (float("nan"), nll, reward) if number == 2 else (loss, nll, reward)

    monkeypatch.setattr(Trainer, "_gradients", broken)
    config = settle(changed(config, steps=8), data)
    train(config, data, tmp_path / "whole")
    with pytest.raises(Interrupted):
        train(config, data, tmp_path / "stopped", observer=Watcher(stop_at=4))
    train(config, data, tmp_path / "stopped")
    assert len({sha256(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "stopped")}) == 1


def test_fine_tuning_begins_with_the_weights(unbroken: Path, config: Config, data: Prepared, tmp_path: Path) -> None:
    weights = load_model(unbroken / "model").model.state_dict()
    config = settle(changed(config, steps=4, peak_rate=1e-9), data)
    train(config, data, tmp_path / "run", weights=weights)
    for name, tensor in load_model(tmp_path / "run" / "model").model.state_dict().items():
        torch.testing.assert_close(tensor, weights[name], atol=1e-6, rtol=0)


def test_a_disk_that_fills_up(
    config: Config, data: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unbroken: Path
) -> None:
    plain, calls = save_file, iter(range(100))

    def full(*arguments: Any, **named: Any) -> None:
        if next(calls) == 1:
            raise OSError(28, "No space left on device")
        plain(*arguments, **named)

    monkeypatch.setattr("regard.train.checkpoint.save_file", full)
    with pytest.raises(Failed, match="No space left.*step 4 is intact"):
        train(settle(config, data), data, tmp_path / "run")
    train(settle(config, data), data, tmp_path / "run")
    assert sha256(tmp_path / "run/model/model.safetensors") == sha256(unbroken / "model/model.safetensors")


def test_a_disk_that_is_full_when_a_run_goes_on(
    config: Config, data: Prepared, unbroken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = (unbroken / "log.jsonl").read_text()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("regard.train.log.write_bytes", full)
    with pytest.raises(Failed, match="No space left.*step 12 is intact.*run the same command again"):
        train(settle(changed(config, steps=16), data), data, unbroken)
    assert (unbroken / "log.jsonl").read_text() == log


@pytest.mark.parametrize(("precision", "known", "told"), [("bf16", False, 1), ("bf16", True, 0), ("float32", False, 0)])
def test_a_precision_that_the_processor_does_not_know_is_told(
    config: Config,
    data: Prepared,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    precision: str,
    known: bool,
    told: int,
) -> None:
    monkeypatch.setattr("regard.train.loop.knows_bf16", lambda _: known)
    watcher = Watcher()
    train(settle(changed(config, steps=1, precision=precision), data), data, tmp_path / "run", observer=watcher)
    assert len(watcher.warnings) == told
    assert all("train.precision=bf16: this processor has no bfloat16" in sentence for sentence in watcher.warnings)


def test_history_of_a_long_run_and_of_foreign_lines(config: Config, data: Prepared, unbroken: Path) -> None:
    template = json.dumps(events(unbroken, "train")[0])
    with (unbroken / "log.jsonl").open("w") as file:
        for step in range(100_000):
            file.write(template.replace('"step": 3', f'"step": {step}') + "\n")
        file.write('{"event": "validation", "step": 3}\n{"event": "train", "step": 4, "nll": 1}\n[]\n')
    history = read_history(unbroken)
    assert len(history["training"][0]) == 100_000 and history["summary"]["step"] == 99_999


RESIDENT = """
import os, sys
from pathlib import Path
from regard.config.presets import read
from regard.data.prepared import Prepared
from regard.train.log import Silence
from regard.train.loop import train

class Scales(Silence):
    def step(self, number, update):
        if number in (500, 2000):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            print(pages * os.sysconf("SC_PAGE_SIZE"))

train(read(Path(sys.argv[1])), Prepared.open(Path(sys.argv[2])), Path(sys.argv[3]), observer=Scales())
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell a process its memory here")
def test_memory_does_not_grow(unbroken: Path, data: Prepared, tmp_path: Path) -> None:
    """From step 500 to step 2,000, with 15 validations and checkpoints between them."""
    smallest = {"d_model": 8, "d_ff": 8, "heads": 1, "d_k": 8, "d_v": 8}
    config = read(unbroken / "run.toml", model=smallest, train={"steps": 2000, "checkpoint_every": 100})
    record(tmp_path, config)
    command = [sys.executable, "-c", RESIDENT, str(tmp_path / "run.toml"), str(data.directory), str(tmp_path / "run")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    early, late = map(int, done.stdout.split())
    assert late - early < 5 << 20, f"{(late - early) / 2**20:.1f} MiB more after 1,500 steps more"


def test_translation_has_no_next_word(config: Config, data: Prepared) -> None:
    shown = config.model_copy(update={"model": config.model.model_copy(update={"next_word": True})})
    with pytest.raises(UserError, match="next_word is for parsers"):
        settle(shown, data)


def test_a_run_file_of_before_a_setting_existed_is_the_same_run(config: Config, data: Prepared, tmp_path: Path) -> None:
    config = settle(config, data)
    record(tmp_path, config)
    lines = (tmp_path / RUN).read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("attention_dropout")]
    assert len(kept) == len(lines) - 1
    (tmp_path / RUN).write_text("".join(kept), encoding="utf-8")
    assert begin(tmp_path, config, fresh=False) == {}
