import errno
import json
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.support.models import sentences
from tests.support.saving import save_built

from regard.config.model import model_config
from regard.config.run import Config
from regard.engines.ctranslate2_engine import CTranslate2Engine
from regard.engines.native.choice import why_not_taken, why_unavailable
from regard.engines.native.library import library
from regard.engines.native.native_engine import NativeEngine
from regard.engines.torch_engine import TorchEngine
from regard.errors import Failed, UserError
from regard.exchange.to_ctranslate2 import FOLDER, export_ctranslate2
from regard.files import write_json, write_manifest
from regard.model.build import build
from regard.saved.folder import LoadedModel, load_model, load_weights
from regard.saved.saved_model import SavedModel
from regard.search.sampling import Sampling
from regard.translate.load import convert, live, load
from regard.translate.translator import Options, Translator

TEXTS = [*sentences()[::40], "", "사과를 봅니다. שלום 👩‍👧 e\u0301"]


@pytest.fixture
def folder(saved: LoadedModel, tmp_path: Path) -> Path:
    path = tmp_path / "model"
    config = Config(model=saved.config, decode=saved.decode)
    save_built(path, saved.model, config, saved.subwords, languages=saved.languages)
    return path


def with_config(saved: LoadedModel, path: Path, **changes: object) -> Path:
    config = model_config(**{**saved.config.model_dump(), **changes})
    save_built(path, build(config), Config(model=config, decode=saved.decode), saved.subwords)
    return path


def test_the_fast_engine_where_it_can(folder: Path, saved: LoadedModel, translator: Translator, tmp_path: Path) -> None:
    assert isinstance(load(folder, engine="ctranslate2").engine, CTranslate2Engine)
    for engine in ("auto", "ctranslate2"):
        assert load(folder, engine=engine).translate(TEXTS) == translator.translate(TEXTS)
    assert isinstance(load(folder).engine, CTranslate2Engine if why_not_taken() else NativeEngine)
    assert isinstance(load(folder, engine="torch").engine, TorchEngine)
    assert isinstance(load(folder, folder).engine, TorchEngine)
    relative = with_config(saved, tmp_path / "relative", positions="relative")
    assert isinstance(load(relative).engine, TorchEngine)
    rotary = with_config(saved, tmp_path / "rotary", positions="rotary")
    assert isinstance(load(rotary).engine, TorchEngine if why_not_taken() else NativeEngine)
    with pytest.raises(
        UserError, match="rotary: CTranslate2 can't compute this model, since its positions are rotary; "
    ):
        load(rotary, engine="ctranslate2")
    with pytest.raises(UserError, match="one model on a CPU"):
        load(folder, folder, engine="ctranslate2")
    with pytest.raises(UserError, match="no engine is called 'fast'"):
        load(folder, engine="fast")


@pytest.mark.skipif(why_unavailable() is not None, reason="there is no native engine here")
def test_the_native_engine(folder: Path, saved: LoadedModel, translator: Translator, tmp_path: Path) -> None:
    """Its text is the reference's; in int8 where the export or the weights are; what it can't do is told."""
    assert load(folder, engine="native").translate(TEXTS) == translator.translate(TEXTS)
    options = Options(sampling=Sampling(seed=4))
    assert load(folder, engine="native").translate(TEXTS, options) == translator.translate(TEXTS, options)
    with pytest.raises(UserError, match="The native engine computes one model on a CPU"):
        load(folder, folder, engine="native")
    relative = with_config(saved, tmp_path / "relative", positions="relative")
    with pytest.raises(UserError, match="can't compute this model here, since its positions are relative"):
        load(relative, engine="native")
    export_ctranslate2(folder, folder / FOLDER, "int8")
    found = load(folder, engine="native")
    assert isinstance(found.engine, NativeEngine)
    assert found.engine.int8
    with pytest.raises(UserError, match="is an export for CTranslate2"):
        load(folder / FOLDER, engine="native")


def test_a_native_engine_that_was_not_compiled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything goes on through CTranslate2, and a person who asks for it learns why."""
    monkeypatch.setenv("REGARD_NATIVE_LIBRARY", str(folder / "none.so"))
    library.cache_clear()
    assert isinstance(load(folder).engine, CTranslate2Engine)
    with pytest.raises(UserError, match="it was not compiled when regard was installed"):
        load(folder, engine="native")
    monkeypatch.undo()
    library.cache_clear()


def test_nothing_is_left_on_the_disk(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted(folder.rglob("*"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    load(folder).translate("The man.")
    assert sorted(folder.rglob("*")) == before
    assert not list((tmp_path / "temporary").iterdir())


def test_weights_are_read_when_they_are_needed(folder: Path, translator: Translator) -> None:
    found = load(folder)
    assert not isinstance(found.saved, LoadedModel)
    assert found.model is found.model
    options = Options(alignment=True, sampling=Sampling(seed=4))
    (one,), (other,) = found.window(["The man."], options), translator.window(["The man."], options)
    assert one.text == other.text
    assert one.sentences[0].outputs[0].alignment == other.sentences[0].outputs[0].alignment


def test_of_several_threads_one_reads_the_weights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[Path] = []

    def counted(saved: SavedModel, path: Path) -> LoadedModel:
        times.append(path)
        return load_weights(saved, path)

    monkeypatch.setattr("regard.saved.folder.load_weights", counted)
    translator = load(folder)
    with ThreadPoolExecutor(8) as threads:
        models = set(threads.map(lambda _: translator.model, range(8)))
    assert (len(models), len(times)) == (1, 1)


def test_an_export_is_found(folder: Path, translator: Translator) -> None:
    export_ctranslate2(folder, folder / FOLDER, "int8")
    found = load(folder)
    assert isinstance(found.engine, CTranslate2Engine)
    assert found.engine.translator.compute_type == "int8_float32"
    assert len(found.translate(TEXTS)) == len(TEXTS)
    assert load(folder, engine="torch").translate(TEXTS) == translator.translate(TEXTS)
    load_model(folder)
    assert convert(folder).translate(TEXTS) == translator.translate(TEXTS)


def test_a_stale_export_is_noticed(folder: Path, saved: LoadedModel, tmp_path: Path) -> None:
    export_ctranslate2(folder, folder / FOLDER, "float32")
    load(folder)
    other = with_config(saved, tmp_path / "other")
    shutil.copytree(folder / FOLDER, other / FOLDER)
    for engine in ("auto", "ctranslate2"):
        with pytest.raises(
            UserError, match="other/ctranslate2: was not exported from what .*other is now; export it again"
        ):
            load(other, engine=engine)
    load(other, engine="torch")
    (other / FOLDER / "origin.json").write_text("[]")
    with pytest.raises(UserError, match="export it again"):
        load(other)


@pytest.mark.parametrize(
    "name", ["model.bin", "regard.json", "shared_vocabulary.json", "subwords.model", "config.json"]
)
def test_a_damaged_export_is_noticed(folder: Path, name: str) -> None:
    export = folder / FOLDER
    export_ctranslate2(folder, export, "float32")
    content = bytearray((export / name).read_bytes())
    content[len(content) // 2] ^= 1
    (export / name).write_bytes(content)
    with pytest.raises(UserError, match=f"{name}: its bytes differ"):
        load(folder)
    (export / name).write_bytes(content[:-1])
    with pytest.raises(UserError, match=f"{name}: .* bytes where the manifest says"):
        load(export)
    (export / name).unlink()
    with pytest.raises(UserError, match=f"{name}: missing"):
        load(folder)


def test_what_ctranslate2_refuses(folder: Path) -> None:
    export = folder / FOLDER
    export_ctranslate2(folder, export, "float32")
    (export / "model.bin").write_bytes((export / "model.bin").read_bytes()[:1000])
    write_manifest(export)
    with pytest.raises(UserError, match="not a model that CTranslate2 wrote .it is cut.; export the model again"):
        load(folder)


def test_an_export_alone(folder: Path, translator: Translator, tmp_path: Path) -> None:
    """It translates; what needs the model itself is refused with a sentence."""
    export = tmp_path / "elsewhere" / "M"
    export_ctranslate2(folder, export, "float32")
    wanted = [translation.source for translation in translator.window(TEXTS)]
    shutil.rmtree(folder)
    found = load(export)
    assert not found.has_weights
    translations = list(found.stream(TEXTS, Options(token_scores=True)))
    assert [translation.source for translation in translations] == wanted
    assert found.saved.languages == ("en", "de")
    assert found.request(Options()).decode == translator.saved.decode
    for translation in translations:
        for sentence in translation.sentences:
            for output in sentence.outputs:
                assert len(output.hypothesis.tokens) <= len(sentence.tokens) + 3
    for options in (Options(sampling=Sampling()), Options(prefix="The"), Options(alignment=True)):
        with pytest.raises(UserError, match="give .*the model that was exported|give that to --model"):
            found.translate("The man.", options)
    with pytest.raises(UserError, match="give the model that was exported"):
        found.model  # noqa: B018
    for arguments, engine in (((export,), "torch"), ((export, export), "auto")):
        with pytest.raises(UserError, match="M: is an export for CTranslate2"):
            load(*arguments, engine=engine)


def test_a_model_and_subwords_that_do_not_belong_together(folder: Path) -> None:
    saved = load_model(folder)
    config = model_config(**{**saved.config.model_dump(), "vocabulary": 500})
    save_built(folder, build(config), Config(model=config), saved.subwords, replace=True)
    with pytest.raises(UserError, match="500 tokens and its subwords 400"):
        load(folder)


def test_an_export_that_describes_nothing(folder: Path) -> None:
    export = folder / FOLDER
    export_ctranslate2(folder, export, "float32")
    write_json(export / "regard.json", {})
    write_manifest(export)
    with pytest.raises(UserError, match="regard.json: does not describe a regard model"):
        load(folder)


def test_a_full_disk_leaves_the_reference_to_a_training(saved: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = live(saved)
    assert isinstance(wanted.engine, CTranslate2Engine)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("regard.translate.load.write_ctranslate2", full)
    found = live(saved)
    assert isinstance(found.engine, TorchEngine)
    assert found.translate(TEXTS) == wanted.translate(TEXTS)


def test_compile_is_for_torch(folder: Path) -> None:
    with pytest.raises(UserError, match="nothing to compile"):
        load(folder, engine="ctranslate2", compile=True)


@pytest.mark.slow
def test_compiled_translations_are_the_same(folder: Path) -> None:
    """In a process of its own: what is compiled stays so."""
    program = """
import json, sys, regard
translators = [regard.load(sys.argv[1], compile=what, engine="torch") for what in (False, True)]
print(json.dumps([one.translate(["The man.", "A dog runs and runs.", "사과를", "One. Two!"]) for one in translators]))
"""
    command = [sys.executable, "-c", program, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    plain, compiled = json.loads(done.stdout)
    assert plain == compiled


def test_weights_stored_as_bytes_are_computed_as_bytes(saved: LoadedModel, tmp_path: Path) -> None:
    config = Config(model=saved.config, decode=saved.decode)
    save_built(tmp_path / "small", saved.model, config, saved.subwords, languages=saved.languages, storage="int8")
    if why_unavailable() is None:
        native = load(tmp_path / "small", engine="native").engine
        assert isinstance(native, NativeEngine) and native.int8
    found = load(tmp_path / "small", engine="ctranslate2")
    assert isinstance(found.engine, CTranslate2Engine) and found.engine.translator.compute_type.startswith("int8")
    same = convert(tmp_path / "small", "int8")
    assert found.translate(TEXTS) == same.translate(TEXTS)


def test_torch_is_not_imported_for_what_ctranslate2_does(folder: Path) -> None:
    program = (
        "import sys, pathlib, regard; from regard.translate.load import convert; "
        "convert(pathlib.Path(sys.argv[1]), alone=True).translate('The man sees.'); found = regard.load(sys.argv[1]); "
        "assert not {'torch', 'transformers'} & set(sys.modules); found.model; assert 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, str(folder)], check=True)


def test_a_model_under_training_whose_weights_are_not_numbers_is_told(saved: LoadedModel) -> None:
    """CTranslate2 would pass over them, and translate."""
    broken = build(saved.config).eval().requires_grad_(False)
    broken.projection_VD[50] = torch.nan
    with pytest.raises(Failed, match="not numbers"):
        live(replace(saved, model=broken))


def test_models_together_write_no_more_than_the_shortest_can(saved: LoadedModel, tmp_path: Path) -> None:
    sizes = {"short": 12, "long": 20}
    places = [with_config(saved, tmp_path / name, positions="learned", max_length=n) for name, n in sizes.items()]
    for order in (places, places[::-1]):
        engine = load(*order).engine
        assert isinstance(engine, TorchEngine) and engine.longest == 11
