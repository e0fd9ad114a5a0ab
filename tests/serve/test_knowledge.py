"""Glossaries, memory and corrections over HTTP, by other people's clients where they have one."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import deepl
import pytest
from libretranslatepy import LibreTranslateAPI
from tests.serve.running import Running, running

from regard.errors import UserError
from regard.memory.store import Memory
from regard.serve.knowledge.server_knowledge import ServerKnowledge
from regard.serve.limits.keys import new_key, read_keys

TEXT = "The old woman sees 12 apples."


@pytest.fixture(scope="module")
def taught(folders: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with a memory."""
    place: Path = tmp_path_factory.mktemp("memory") / "work.db"
    with running(*folders.values(), memory=place) as found:
        yield found


def translated(served: Running, text: str, **more: Any) -> Any:
    return served.post("/translate", {"q": text, "source": "en", "target": "de", **more}).json


@pytest.fixture
def client(taught: Running) -> Iterator[deepl.DeepLClient]:
    with closing(deepl.DeepLClient("any", server_url=taught.url)) as found:
        yield found


def test_deepl_glossaries(client: deepl.DeepLClient) -> None:
    assert ("en", "de") in [(pair.source_lang, pair.target_lang) for pair in client.get_glossary_languages()]
    marked = client.create_glossary_from_csv("of a file", "en", "de", "\ufeffwoman,Weib\n")
    assert client.get_glossary_entries(marked) == {"woman": "Weib"}, "without the file's byte order mark"
    client.delete_glossary(marked)
    made = client.create_glossary("mine", "en", "de", {"woman": "Weib", "사과": "Apfel"})
    assert (made.ready, made.entry_count, made.source_lang, made.target_lang) == (True, 2, "EN", "DE")
    assert client.get_glossary_entries(made) == {"woman": "Weib", "사과": "Apfel"}
    assert [one.glossary_id for one in client.list_glossaries()] == [made.glossary_id]
    assert client.get_glossary(made.glossary_id).name == "mine"
    with_terms = client.translate_text(TEXT, source_lang="en", target_lang="de", glossary=made)
    without = client.translate_text(TEXT, source_lang="en", target_lang="de")
    assert "Weib" in with_terms.text
    assert "Weib" not in without.text
    page = client.translate_text(
        f"<p>{TEXT}</p>", source_lang="en", target_lang="de", glossary=made, tag_handling="html"
    )
    assert "Weib" in page.text
    with pytest.raises(deepl.DeepLException, match="no dictionary for source_lang"):
        client.translate_text(TEXT, source_lang="de", target_lang="fr", glossary=made.glossary_id)
    client.delete_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary(made.glossary_id)
    with pytest.raises(deepl.DeepLException, match="Glossary not found"):
        client.translate_text(TEXT, source_lang="en", target_lang="de", glossary=made.glossary_id)


def test_deepl_multilingual_glossaries(client: deepl.DeepLClient) -> None:
    entries = [
        deepl.api_data.MultilingualGlossaryDictionaryEntries("en", "de", {"woman": "Weib"}),
        deepl.api_data.MultilingualGlossaryDictionaryEntries("de", "fr", {"Apfel": "pomme"}),
    ]
    made = client.create_multilingual_glossary("both", entries)
    assert sorted((one.source_lang, one.entry_count) for one in made.dictionaries) == [("DE", 1), ("EN", 1)]
    more = deepl.api_data.MultilingualGlossaryDictionaryEntries("en", "de", {"apples": "Obst"})
    client.update_multilingual_glossary_dictionary(made, more)
    found: Any  # its annotation says a dictionary, and it is text
    (found,) = client.get_multilingual_glossary_entries(made, "en", "de").dictionaries
    assert found.entries == "woman\tWeib\napples\tObst\n"
    client.replace_multilingual_glossary_dictionary(made, more)
    (found,) = client.get_multilingual_glossary_entries(made, "en", "de").dictionaries
    assert found.entries == "apples\tObst\n"
    assert client.update_multilingual_glossary_name(made, "new").name == "new"
    assert "Obst" in client.translate_text(TEXT, source_lang="en", target_lang="de", glossary=made).text
    client.delete_multilingual_glossary_dictionary(made, source_lang="de", target_lang="fr")
    assert len(client.get_multilingual_glossary(made.glossary_id).dictionaries) == 1
    assert [one.name for one in client.list_multilingual_glossaries()] == ["new"]
    client.delete_multilingual_glossary(made)
    assert client.list_multilingual_glossaries() == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"entries": "a\tb"}, "'name'"),
        ({"name": "x", "entries": "a"}, "line 1: needs a source and a target"),
        ({"name": "x", "entries": "a\tb\na\tc"}, "comes twice"),
        ({"name": "x", "entries": ""}, "'entries' not specified"),
        ({"name": "x", "entries": "a\tb", "entries_format": "xml"}, "'entries_format' not supported"),
        ({"name": "x", "entries": "a\tb", "target_lang": "fr"}, "language pair"),
        ({"name": "x", "entries": "a\tb", "shared": True}, "'shared' not supported"),
        ({"name": "x" * 2000, "entries": "a\tb"}, "'name'"),
        ({"name": "x", "entries": "a\tb\0"}, "characters that no text has"),
    ],
)
def test_bad_glossaries_are_told(taught: Running, fields: dict[str, Any], said: str) -> None:
    answer = taught.post("/v2/glossaries", {"source_lang": "en", "target_lang": "de", **fields})
    assert answer.status == 400
    assert said in answer.json["message"]


def test_a_correction_is_the_answer_from_then_on(taught: Running) -> None:
    before = translated(taught, TEXT)
    assert "memory" not in before
    fields = {"q": TEXT, "translation": "Die Alte sieht Äpfel. 👩\u200d👧", "source": "en", "target": "de"}
    stored = taught.post("/corrections", fields)
    assert stored.status == 200
    after = translated(taught, f"  {TEXT}\n")
    assert after["translatedText"] == "  Die Alte sieht Äpfel. 👩\u200d👧\n"
    assert after["memory"]["percent"] == 100
    both = translated(taught, f"{TEXT} Another one comes.")
    assert both["translatedText"].startswith("Die Alte sieht Äpfel. 👩\u200d👧 ")
    page = taught.post("/translate", {"q": f"<b>{TEXT}</b>", "source": "en", "target": "de", "format": "html"}).json
    assert page["translatedText"] == "<b>Die Alte sieht Äpfel. 👩\u200d👧</b>"
    near = translated(taught, TEXT.replace("12", "13"), alternatives=1)
    assert near["memory"]["percent"] == 96
    listed = taught.get("/corrections?source=en&target=de").json["corrections"]
    assert [(one["id"], one["source"]) for one in listed] == [(stored.json["id"], TEXT)]
    assert taught.ask("DELETE", f"/corrections/{stored.json['id']}").status == 204
    assert taught.ask("DELETE", f"/corrections/{stored.json['id']}").status == 404
    assert translated(taught, TEXT) == before


def test_a_correction_along_two_models(taught: Running) -> None:
    fields = {"q": TEXT, "translation": "Elle voit.", "source": "en", "target": "fr"}
    number = taught.post("/corrections", fields).json["id"]
    assert taught.post("/translate", {"q": TEXT, "source": "en", "target": "fr"}).json["translatedText"] == "Elle voit."
    taught.ask("DELETE", f"/corrections/{number}")


def test_libretranslate_s_suggestions(taught: Running) -> None:
    fields = {"q": "사과를 봅니다.", "s": "Apfel!", "source": "en", "target": "de"}
    assert taught.post_form("/suggest", fields).json == {"success": True}
    assert translated(taught, "사과를 봅니다.")["translatedText"] == "Apfel!"
    assert taught.get("/frontend/settings").json["suggestions"] is True
    for missing in ("q", "s", "source", "target"):
        assert taught.post("/suggest", {**fields, missing: ""}).status == 400
    assert taught.post("/suggest", {**fields, "target": "en"}).status == 400
    assert taught.post("/suggest", {**fields, "s": "x" * 5001}).status == 400


def test_libretranslate_s_own_client_gets_what_was_suggested(folders: dict[str, str], tmp_path: Path) -> None:
    """And the server's terms. It has no call for suggestions, which the form of LibreTranslate's page sends."""
    file = tmp_path / "terms.tsv"
    file.write_text("woman\tWeib\n")
    with running(folders["en-de"], memory=tmp_path / "work.db", glossaries=[f"en-de={file}"]) as served:
        client = LibreTranslateAPI(served.url)
        assert "Weib" in client.translate(TEXT, "en", "de")
        fields = {"q": TEXT, "s": "Die Alte 🙂", "source": "en", "target": "de"}
        assert served.post_form("/suggest", fields).json == {"success": True}
        assert client.translate(TEXT, "en", "de") == "Die Alte 🙂"


def test_without_a_memory_suggestions_are_off(served: Running) -> None:
    fields = {"q": "a", "s": "b", "source": "en", "target": "de"}
    answer = served.post("/suggest", fields)
    assert (answer.status, answer.json) == (403, {"error": "Suggestions are disabled on this server."})
    assert served.get("/frontend/settings").json["suggestions"] is False


def test_only_a_key_with_the_right_writes(folders: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    reader, writer = new_key(file, "reader"), new_key(file, "writer one", write=True)
    keys = read_keys(file)
    assert keys.holder(writer) == "writer one"
    with running(folders["en-de"], keys=keys, memory=tmp_path / "work.db") as served:
        fields = {"q": "a b", "s": "c d", "source": "en", "target": "de"}
        assert served.post("/suggest", fields).status == 400
        assert served.post("/suggest", {**fields, "api_key": reader}).status == 403
        assert served.get(f"/corrections?api_key={reader}").status == 403
        assert served.post("/suggest", {**fields, "api_key": writer}).status == 200
        assert translated(served, "a b", api_key=reader)["translatedText"] == "c d"
        (stored,) = served.get(f"/corrections?api_key={writer}").json["corrections"]
        assert (stored["author"], stored["origin"]) == ("writer one", "suggestion")
        clients = [deepl.DeepLClient(key, server_url=served.url) for key in (reader, writer)]
        with closing(clients[0]) as mine, closing(clients[1]) as other:
            made = mine.create_glossary("mine", "en", "de", {"a": "b"})
            with pytest.raises(deepl.GlossaryNotFoundException):
                other.get_glossary(made.glossary_id)


def test_glossary_files_and_reloading(folders: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "terms.tsv"
    file.write_text("woman\tWeib\n")
    with running(folders["en-de"], folders["de-fr"], glossaries=[f"en-de={file}"]) as served:
        assert "Weib" in translated(served, TEXT)["translatedText"]
        file.write_text("apples\tObst\n")
        serial = served.state.models.loaded(folders["en-de"]).serial
        served.state.reload()
        assert "Obst" in translated(served, TEXT)["translatedText"]
        assert served.state.models.loaded(folders["en-de"]).serial > serial
        file.write_text("apples\n")
        served.state.reload()
        assert "Obst" in translated(served, TEXT)["translatedText"], "after a mistake, the old glossary stays"


def test_a_glossary_of_no_direction_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="these directions are served: en-de"):
        ServerKnowledge.open([("en", "de")], memory=None, glossaries=["en-ko=terms.tsv"], most_stored=1)


def test_what_the_server_stores_the_command_sees(taught: Running) -> None:
    path = taught.state.knowledge.memory
    assert path is not None
    number = taught.post("/corrections", {"q": "x", "translation": "y", "source": "en", "target": "de"}).json["id"]
    with Memory(path.path) as other:
        assert other.get([number])[0].target == "y"
        other.remove([number])
    assert "memory" not in translated(taught, "x")


def test_the_page_s_details_know_the_memory(taught: Running) -> None:
    fields = {"q": TEXT, "source": "en", "target": "de"}
    number = taught.post("/corrections", {**fields, "translation": "Die Alte."}).json["id"]
    found = taught.post("/details", fields).json
    assert (found["translatedText"], found["memory"]["percent"], found["confidence"]) == ("Die Alte.", 100, 1.0)
    assert "Die Alte." not in [one["text"] for one in found["alternatives"]]
    near = taught.post("/details", {**fields, "q": TEXT.replace("12", "13")}).json
    assert near["memory"] == {"percent": 96, "source": TEXT, "target": "Die Alte."}
    taught.ask("DELETE", f"/corrections/{number}")
