"""Documents that other people and programs made: every one under $REGARD_DOCUMENTS, such as those of Debian's packages.

Skipped without such a folder. Books are also given to EPUBCheck, where it is installed. On Debian,
`apt-file search -x '\\.(docx|pptx|xlsx|odt|odp|ods|epub)$'` names the packages, `apt-get download` gets them, and
`dpkg-deb -x` unpacks them into a folder; of some 560 files there, 390 differ.
"""

import json
import os
import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from xml.parsers import expat

import pytest
from tests.documents.files import compressions, members, translated
from tests.documents.translators import longer, upper

from regard.errors import UserError

FOLDER = os.environ.get("REGARD_DOCUMENTS", "")
ENDINGS = {".docx", ".pptx", ".xlsx", ".odt", ".odp", ".ods", ".epub"}
JAVA, EPUBCHECK = shutil.which("java"), shutil.which("epubcheck")
XML = re.compile(rb"\s*(?:\xef\xbb\xbf)?<")


def different(folder: Path) -> list[Path]:
    """The documents in a folder, each once; packages carry many copies."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
    return list({sha256(path.read_bytes()).digest(): path for path in paths}.values())


FILES = different(Path(FOLDER)) if FOLDER else []
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not FILES, reason="REGARD_DOCUMENTS names no folder of documents")]


def well_formed(content: bytes) -> bool:
    try:
        expat.ParserCreate().Parse(content, True)
    except expat.ExpatError:
        return False
    return True


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_identity_changes_no_byte_of_a_member(path: Path) -> None:
    """And a translation changes only members that are XML, which stay well-formed, in the same order and compression.

    A file that can't be translated is refused in a sentence.
    """
    content = path.read_bytes()
    try:
        same = translated(content, path.name)
    except UserError as error:
        pytest.skip(f"refused: {error}")
    before = members(content)
    assert members(same) == before
    for translate, target in ((upper, None), (longer, "ar"), (longer, "ko")):
        made = translated(content, path.name, translate, target)
        after = members(made)
        assert compressions(made) == compressions(content)
        changed = [name for name in before if after[name] != before[name]]
        assert all(XML.match(after[name]) for name in changed), changed
        assert all(well_formed(after[name]) or not well_formed(before[name]) for name in changed), changed


def messages(content: bytes, path: Path) -> set[tuple[str, str, str]]:
    """The errors of a book: severity, message and the member it is in."""
    path.write_bytes(content)
    command = [str(JAVA), "-jar", str(EPUBCHECK), "--json", str(path.with_suffix(".json")), str(path)]
    subprocess.run(command, capture_output=True, check=False, timeout=300)
    report = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return {
        (one["severity"], one["ID"], place["path"])
        for one in report["messages"]
        for place in one["locations"]
        if one["severity"] in ("ERROR", "FATAL")
    }


@pytest.mark.skipif(JAVA is None or EPUBCHECK is None, reason="there is no EPUBCheck here")
@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".epub"], ids=lambda path: path.name)
def test_a_book_has_no_errors_that_it_had_not(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    before = messages(content, tmp_path / "book.epub")
    for target in ("de", "ar", "ko"):
        assert messages(translated(content, path.name, upper, target), tmp_path / "book.epub") <= before
