"""What the page asks for besides translations."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from tests.serve.running import Running, gated, running
from tests.serve.test_steady import LINES
from tests.support.models import like_trained
from tests.support.saving import save_built
from tests.support.waiting import until

from regard.config.decode import DecodeConfig
from regard.config.run import Config
from regard.config.special_tokens import EOS
from regard.look.page import page
from regard.model.build import build
from regard.saved.folder import LoadedModel
from regard.serve.limits.keys import new_key, read_keys
from regard.translate.load import load
from regard.translate.next_words import next_words
from regard.translate.translation import Translation
from regard.translate.translator import Options

TEXT = "The old woman sees 12 apples in the garden. 할머니가 🙂 봅니다!"


def once(found: Translation) -> list[tuple[str, float]]:
    """The different translations of a text, with their scores."""
    texts = [found.option(number) for number in range(found.options)]
    return [(text, found.option_score(n)) for n, text in enumerate(texts) if text not in texts[:n]]


def test_a_look_is_the_translators(served: Running, folders: dict[str, str]) -> None:
    answer = served.post("/look", {"q": TEXT, "source": "en", "target": "de"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.content.decode() == load(folders["en-de"]).look(TEXT).to_json()
    assert served.post("/look", {"q": TEXT, "source": "auto", "target": "de"}).content == answer.content


def test_looking_along_a_route(served: Running, folders: dict[str, str]) -> None:
    """The last model is looked into; where there is none, there is nothing to see."""
    middle = load(folders["en-de"]).translate(TEXT)
    found = served.post("/look", {"q": TEXT, "source": "en", "target": "fr"}).json
    assert (found["languages"], found["source"]) == (["de", "fr"], middle)
    assert found["translation"] == load(folders["de-fr"]).translate(middle, Options(protect=False)), "the model alone"
    assert served.post("/look", {"q": TEXT, "source": "de", "target": "de"}).status == 400


def test_details(served: Running, folders: dict[str, str]) -> None:
    translator = load(folders["en-de"])
    for text in (TEXT, *LINES[:6]):
        found = served.post("/details", {"q": text, "source": "en", "target": "de"}).json
        best = translator.window([text], Options(alignment=True))[0]
        assert (found["translatedText"], found["score"]) == (best.text, pytest.approx(best.score, abs=1e-3))
        assert found["alignment"] == (None if best.pairs is None else [list(pair) for pair in best.pairs])
        several = translator.window([text], Options(n_best=4))[0]
        wanted = [(text, score) for text, score in once(several) if text != best.text][:3]
        assert [one["text"] for one in found["alternatives"]] == [text for text, _ in wanted]
        assert [one["score"] for one in found["alternatives"]] == pytest.approx(
            [score for _, score in wanted], abs=1e-3
        )
        scored = translator.window([text], Options(n_best=4, token_scores=True))[0]
        weak = {one["word"]: one["probability"] for one in found["weak"]}
        assert weak == pytest.approx(scored.weak_words if scored.text == best.text else {}, abs=1e-3)


def test_details_along_a_route(served: Running, folders: dict[str, str]) -> None:
    """A word is traced back through the language between."""
    first, second = load(folders["en-de"]), load(folders["de-fr"])
    aligned = Options(alignment=True)
    for text in LINES:
        one = first.window([text], aligned)[0]
        two = second.window([one.text], aligned)[0]
        if one.pairs and two.pairs:
            break
    found = served.post("/details", {"q": text, "source": "en", "target": "fr"}).json
    origin = {target: source for source, target in one.pairs or ()}
    assert found["translatedText"] == two.text
    assert found["alignment"] == [[origin[middle], target] for middle, target in two.pairs or () if middle in origin]
    same = served.post("/details", {"q": "A b c", "source": "fr", "target": "fr"}).json
    assert same == {
        "translatedText": "A b c",
        "score": 0,
        "alignment": [[0, 0], [1, 1], [2, 2]],
        "alternatives": [],
        "weak": [],
    }


def test_a_greedy_model_has_scores(saved: LoadedModel, tmp_path: Path) -> None:
    """Its engine leaves them out of a translation, which does not need them."""
    torch.manual_seed(1)
    model = build(saved.config).eval().requires_grad_(False)
    like_trained(model)
    model.projection_VD[EOS] += 4 / saved.config.d_model  # so that it ends by itself
    config = Config(model=saved.config, decode=DecodeConfig(beam=1))
    save_built(tmp_path / "model", model, config, saved.subwords, languages=("en", "de"))
    with running(str(tmp_path / "model")) as served:
        found = served.post("/details", {"q": "The old woman.", "source": "en", "target": "de"}).json
    exact = load(tmp_path / "model", engine="torch").window(["The old woman."], Options(token_scores=True))[0]
    assert (found["translatedText"], found["score"]) == (exact.text, pytest.approx(exact.score, abs=1e-3))


def test_limits(folders: dict[str, str], tmp_path: Path) -> None:
    key = new_key(tmp_path / "keys.txt", "anna")
    keys = read_keys(tmp_path / "keys.txt")
    with running(folders["en-de"], keys=keys, characters=60, look_characters=30, quota=100) as served:
        asked = {"q": "A teacher.", "source": "en", "target": "de"}
        for path in ("/look", "/details"):
            assert served.post(path, asked).status == 400
            assert served.post(path, {**asked, "api_key": "wrong"}).status == 403
            assert served.post(path, {**asked, "q": "", "api_key": key}).status == 400
            assert served.post(path, {**asked, "q": ["A", "b"], "api_key": key}).status == 400
            assert served.post(path, {**asked, "target": "ko", "api_key": key}).status == 400
        refused = served.post("/look", {**asked, "q": "🙂" * 31, "api_key": key})
        assert (refused.status, refused.json) == (
            400,
            {"error": "Invalid request: request (31) exceeds text limit (30)"},
        )
        assert served.post("/look", {**asked, "q": "🙂" * 30, "api_key": key}).status == 200
        assert served.post("/details", {**asked, "q": "a" * 61, "api_key": key}).status == 400
        assert served.post("/details", {**asked, "q": "a" * 60, "api_key": key}).status == 200
        assert served.post("/details", {**asked, "q": "a" * 11, "api_key": key}).status == 403
        assert served.state.used["anna"] == 90


def test_too_many_sentences(folders: dict[str, str]) -> None:
    with running(folders["en-de"]) as served:
        refused = served.post("/look", {"q": "A. B! " * 40, "source": "en", "target": "de"})
        assert refused.status == 400
        assert "are too many to look at" in refused.json["error"]


def test_one_looks_at_a_time_and_translations_go_on(folders: dict[str, str]) -> None:
    models = folders["en-de"], folders["de-en"]
    asked = {"q": LINES[0], "source": "en", "target": "de"}
    with running(*models) as served, gated(served, models[0]) as gate, ThreadPoolExecutor(1) as pool:
        first = pool.submit(served.post, "/look", asked)
        until(lambda: gate.entered > 0)
        refused = served.post("/look", {**asked, "q": LINES[1]})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert served.figure('regard_refused_total{reason="look"}') == 1
        assert served.post("/translate", {"q": LINES[1], "source": "de", "target": "en"}).status == 200
        gate.gate.set()
        assert first.result().status == 200
        assert served.post("/look", {**asked, "q": LINES[1]}).status == 200


def test_a_model_without_weights(folders: dict[str, str]) -> None:
    """As beside an export: it is translated, and nothing more is known."""
    with running(folders["en-de"]) as served:
        served.state.models.loaded(folders["en-de"]).translator.has_weights = False
        asked = {"q": "A teacher.", "source": "en", "target": "de"}
        refused = served.post("/look", asked)
        assert refused.status == 400
        assert "give the model that was exported" in refused.json["error"]
        assert served.post("/details", asked).json["alignment"] is None


def test_what_a_look_is_saved_into(served: Running) -> None:
    answer = served.get("/look/page.html")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.content.decode() == page()


def test_other_words_are_the_translators(served: Running, folders: dict[str, str]) -> None:
    translator = load(folders["en-de"])
    beginning = translator.translate(TEXT).split()[0]
    asked = {"q": TEXT, "source": "en", "target": "de", "beginning": beginning}
    found = served.post("/words", asked).json["words"]
    wanted = next_words(translator, TEXT, beginning)
    assert [(one["word"], one["text"]) for one in found] == [(one.word, one.text) for one in wanted] != []
    assert [one["probability"] for one in found] == pytest.approx([one.probability for one in wanted], abs=1e-4)
    assert served.post("/words", {**asked, "beginning": None}).json["words"] != found
    for wrong in ({"q": " "}, {"beginning": 3}, {"beginning": "x" * 9000}, {"place": 2}, {"target": "en"}):
        assert served.post("/words", asked | wrong).status == 400


def test_what_the_models_say_of_themselves(served: Running) -> None:
    found = served.get("/about").json["models"]
    assert {"source": "en", "target": "de", "summary": None, "summaries": {}} in found
    with running("en-de") as server:
        for one in server.get("/about").json["models"]:
            assert one["summary"] == one["summaries"]["en"] == "A small Transformer for everyday sentences."
            assert one["summaries"]["ko"].startswith("일상적인 문장에 알맞은")


@pytest.mark.parametrize("source", ["auto", "en"])
def test_a_text_in_another_language_is_translated_if_forced(
    served: Running, folders: dict[str, str], source: str
) -> None:
    text, translator, force = "할머니가 정원에서 사과를 봅니다.", load(folders["en-de"]), Options(force=True)
    asked = {"q": text, "source": source, "target": "de"}
    forced = {**asked, "force": True}
    for path in ("/translate", "/details"):
        left = served.post(path, asked).json
        assert (left["translatedText"], left["untranslatedLanguage"], left["warnings"]) == (text, "ko", ["language"])
        found = served.post(path, forced).json
        assert found["translatedText"] == translator.translate(text, force) != text
        assert "untranslatedLanguage" not in found
    assert served.post("/words", {**asked, "beginning": ""}).status == 400
    words = served.post("/words", {**forced, "beginning": ""}).json["words"]
    assert [one["word"] for one in words] == [one.word for one in next_words(translator, text, "", force)] != []
    through = {**asked, "source": "en", "target": "fr"}
    assert served.post("/look", through).json["source"] == text
    assert served.post("/look", {**through, "force": True}).json["source"] == translator.translate(text, force)
