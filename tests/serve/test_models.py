from functools import cached_property
from pathlib import Path

import pytest
from tests.serve.running import running
from tests.support.models import sentences
from tests.support.saving import save_built

from regard.config.run import Config
from regard.errors import UserError
from regard.saved.folder import LoadedModel
from regard.serve.api.languages import pattern, served
from regard.serve.metrics import Metrics
from regard.serve.models import Models
from regard.text.protected.languages import name
from regard.text.subwords import Subwords
from regard.translate.load import load
from regard.translate.translator import Options


def of_several(folder: Path, saved: LoadedModel, languages: tuple[str | None, str | None], *tags: str) -> str:
    """A model that is told by tags what to write."""
    subwords = Subwords.train(sentences(), 400, tags=tags)
    config = Config(model=saved.config, decode=saved.decode)
    save_built(folder, saved.model, config, {"subwords.model": subwords.content}, languages=languages)
    return str(folder)


def test_routes(folders: dict[str, str]) -> None:
    models = Models(list(folders.values()), 1 << 30, Metrics())
    assert models.languages == ["de", "en", "fr"]
    assert models.route("en", "en") == ()
    direct, twice = models.route("en", "de"), models.route("en", "fr")
    assert direct is not None
    assert twice is not None
    assert [step.model for step in direct] == [folders["en-de"]]
    assert [step.model for step in twice] == [folders["en-de"], folders["de-fr"]]
    assert models.route("fr", "en") is None
    assert models.sources("fr") == ["de", "en", "fr"]


def test_the_model_used_longest_ago_makes_room(folders: dict[str, str]) -> None:
    one, two, three = folders.values()
    metrics = Metrics()
    needed = Models([one], 1 << 30, Metrics())._bytes[one]
    models = Models([one, two, three], 2 * needed, metrics)
    assert list(models._loaded) == [two, three]
    models.loaded(two)
    serial = models.loaded(one).serial
    assert list(models._loaded) == [two, one]
    assert models.loaded(one).serial == serial
    assert metrics.registry.get_sample_value("regard_models_loaded") == 2
    assert metrics.registry.get_sample_value("regard_model_loads_total") == 4
    with pytest.raises(UserError, match=f"allow more with --set memory_bytes={needed}"):
        Models([one], needed - 1, Metrics())


def test_languages_that_are_given(folders: dict[str, str]) -> None:
    path = folders["en-de"]
    assert list(Models([f"pt_BR-ko={path}"], 1 << 30, Metrics()).steps) == [("pt-BR", "ko")]
    with pytest.raises(UserError, match="no such folder"):
        Models(["en-de=nowhere"], 1 << 30, Metrics())


def test_a_model_of_both_ways(saved: LoadedModel, tmp_path: Path) -> None:
    path = of_several(tmp_path / "model", saved, ("en", "de"), "<2en>", "<2de>")
    assert list(Models([path], 1 << 30, Metrics()).steps) == [("en", "de"), ("de", "en")]
    assert list(Models([f"de-en={path}"], 1 << 30, Metrics()).steps) == [("de", "en")]
    with pytest.raises(UserError, match="the model translates into de, en, not into fr"):
        Models([f"en-fr={path}"], 1 << 30, Metrics())
    with running(path) as served:
        for source, target in (("en", "de"), ("de", "en")):
            answer = served.post("/translate", {"q": "im Schnee.", "source": source, "target": target})
            assert answer.json["translatedText"] == load(path).translate("im Schnee.", Options(target=target))


def test_a_model_that_writes_several_languages_reads_one(saved: LoadedModel, tmp_path: Path) -> None:
    path = of_several(tmp_path / "model", saved, ("en", None), "<2de>", "<2ko>")
    assert list(Models([path], 1 << 30, Metrics()).steps) == [("en", "de"), ("en", "ko")]
    unsaid = of_several(tmp_path / "unsaid", saved, (None, None), "<2de>", "<2ko>")
    with pytest.raises(UserError, match="does not say which languages it translates"):
        Models([unsaid], 1 << 30, Metrics())
    assert list(Models([f"en-ko={unsaid}"], 1 << 30, Metrics()).steps) == [("en", "ko")]


def test_codes() -> None:
    codes = ["en", "zh-Hans", "ko"]
    spelt = {"EN": "en", "en-US": "en", "en_gb": "en", "ZH-hans": "zh-Hans", "Ko": "ko"}
    for given, meant in spelt.items():
        assert served(given, codes) == meant
    for given in ("zh", "e", "", "en-", "en us", "Ｅｎ", "ko" * 100):
        assert served(given, codes) is None
    import re

    assert all(re.match(pattern(codes), given) for given in spelt)
    assert (name("ko"), name("PT-br"), name("tlh")) == ("Korean", "Portuguese", "tlh")


def test_the_words_that_a_model_knows_are_found_once_for_all_requests(
    folders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, found = [], vars(Subwords)["word_ranks"].func

    def counted(subwords: Subwords) -> dict[str, int]:
        made.append(subwords)
        return found(subwords)

    counting = cached_property(counted)
    counting.__set_name__(Subwords, "word_ranks")
    monkeypatch.setattr(Subwords, "word_ranks", counting)
    with running(folders["en-de"]) as server:
        for text in ("The man reads.", "The woman reads."):
            assert server.post("/translate", {"q": text, "source": "en", "target": "de"}).status == 200
    assert len(made) == 1
