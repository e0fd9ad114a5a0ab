"""Other people's clients, unchanged, over real sockets."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import deepl
import pytest
from deep_translator import DeeplTranslator, LibreTranslator, exceptions
from libretranslatepy import LibreTranslateAPI
from tests.serve.running import Running, running

from regard.errors import UserError
from regard.files import whole_directory
from regard.serve.limits.keys import new_key, read_keys
from regard.translate.load import load

TEXT = "The old woman sees 12 apples. 사과를 봅니다! שלום 👩\u200d👧"
PACKAGES = ("deepl-node@1", "translate@3")


@pytest.fixture(scope="module")
def locked(folders: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    """A server that wants a key, and a key."""
    file: Path = tmp_path_factory.mktemp("keys") / "keys.txt"
    key = new_key(file, "me")
    with running(*folders.values(), keys=read_keys(file)) as served:
        yield served, key


@pytest.fixture(scope="module")
def wanted(folders: dict[str, str]) -> str:
    return load(folders["en-de"]).translate(TEXT)


def test_libretranslatepy(locked: tuple[Running, str], wanted: str) -> None:
    served, key = locked
    client = LibreTranslateAPI(served.url, key)
    assert client.translate(TEXT, "en", "de") == wanted
    assert client.detect("안녕하세요, 반갑습니다.")[0]["language"] == "ko"
    assert [one["code"] for one in client.languages()] == ["de", "en", "fr"]


def test_deep_translator(
    locked: tuple[Running, str], wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, key = locked
    client = LibreTranslator(source="en", target="de", api_key=key, custom_url=served.url)
    assert client.translate(TEXT) == wanted
    assert client.translate_batch([TEXT, TEXT]) == [wanted, wanted]
    with pytest.raises(exceptions.AuthorizationException):
        LibreTranslator(source="en", target="de", api_key="wrong", custom_url=served.url).translate(TEXT)
    monkeypatch.setitem(_addresses(), "DEEPL_FREE", f"{served.url}{{version}}/")
    assert DeeplTranslator(source="en", target="de", api_key=key).translate(TEXT) == wanted


def _addresses() -> dict[str, str]:
    from deep_translator import constants

    return constants.BASE_URLS


def test_deepl(locked: tuple[Running, str], wanted: str) -> None:
    served, key = locked
    with closing(deepl.DeepLClient(key, server_url=served.url)) as client:
        one = client.translate_text(TEXT, source_lang="EN", target_lang="DE", formality="prefer_more")
        assert (one.text, one.detected_source_lang, one.billed_characters) == (wanted, "EN", len(TEXT))
        several = client.translate_text([TEXT, ""], source_lang="EN", target_lang="DE", split_sentences="1")
        assert [result.text for result in several] == [wanted, ""]
        tagged = client.translate_text("<b>The man.</b>", source_lang="EN", target_lang="DE", tag_handling="html")
        assert tagged.text.startswith("<b>")
        assert {language.code for language in client.get_source_languages()} == {"EN", "DE"}
        assert {language.code for language in client.get_target_languages()} == {"DE", "EN-GB", "EN-US", "FR"}
        assert client.get_usage().character.count > len(TEXT)
        with pytest.raises(deepl.DeepLException, match="target_lang"):
            client.translate_text(TEXT, target_lang="JA")
        for option in ({"formality": "more"}, {"context": "x"}, {"preserve_formatting": True}, {"splitting_tags": "x"}):
            with pytest.raises(deepl.DeepLException, match=f"'{next(iter(option))}' not supported"):
                client.translate_text(TEXT, source_lang="EN", target_lang="DE", **option)  # type: ignore[arg-type]
    other = closing(deepl.DeepLClient("wrong", server_url=served.url))
    with other as client, pytest.raises(deepl.AuthorizationException):
        client.get_usage()


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packages from npm, in the user's cache; fetched once, and not needed where npm is absent or without a network."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not here")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "regard" / "npm-clients"
    if not cache.is_dir():
        fresh = tmp_path_factory.mktemp("npm")
        (fresh / "package.json").write_text("{}")
        command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
        installed = subprocess.run(command, cwd=fresh, capture_output=True, text=True, timeout=120, check=False)
        if installed.returncode:
            pytest.skip(f"npm could not fetch {', '.join(PACKAGES)}; there may be no network")
        with suppress(UserError), whole_directory(cache) as whole:  # another process may have been first
            shutil.copytree(fresh, whole, dirs_exist_ok=True)
    return cache


def node(modules: Path, script: str) -> object:
    command = ["node", "--input-type=module", "--eval", script]
    done = subprocess.run(command, cwd=modules, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_deepl_node(locked: tuple[Running, str], wanted: str, modules: Path) -> None:
    served, key = locked
    script = f"""
    import * as deepl from "deepl-node";
    const client = new deepl.Translator({json.dumps(key)}, {{ serverUrl: {json.dumps(served.url[:-1])} }});
    const one = await client.translateText({json.dumps(TEXT)}, "en", "de");
    const [two] = await client.translateText([{json.dumps(TEXT)}], null, "de", {{ formality: "prefer_less" }});
    let unsupported = false;
    try {{ await client.translateText("x", "en", "de", {{ formality: "less" }}); }}
    catch (error) {{ unsupported = error.message.includes("'formality' not supported"); }}
    const targets = (await client.getTargetLanguages()).map((language) => language.code);
    const usage = await client.getUsage();
    let refused = "";
    try {{ await new deepl.Translator("wrong", {{ serverUrl: {json.dumps(served.url[:-1])} }}).getUsage(); }}
    catch (error) {{ refused = error.constructor.name; }}
    const counts = [one.billedCharacters, usage.character.count > 0];
    console.log(JSON.stringify([one.text, two.text, ...counts, targets, refused, unsupported]));
    """
    targets = ["de", "en-GB", "en-US", "fr"]
    assert node(modules, script) == [wanted, wanted, len(TEXT), True, targets, "AuthorizationError", True]


def test_translate_from_npm(locked: tuple[Running, str], wanted: str, modules: Path) -> None:
    served, key = locked
    script = f"""
    import {{ Translate }} from "translate";
    const options = {{ url: {json.dumps(served.url + "translate")}, key: {json.dumps(key)} }};
    const translate = Translate({{ engine: "libre", ...options }});
    const found = await translate({json.dumps(TEXT)}, {{ from: "english", to: "de" }});
    let refused = "";
    try {{ await translate("x", {{ from: "en", to: "ja" }}); }} catch (error) {{ refused = error.message; }}
    console.log(JSON.stringify([found, refused]));
    """
    assert node(modules, script) == [wanted, "ja is not supported"]
