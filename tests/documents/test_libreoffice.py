"""Documents that LibreOffice writes, and results that it opens. Skipped where there is none."""

import io
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from tests.documents.files import members, translated
from tests.documents.translators import longer, upper

from regard.documents.segment import Translated

OFFICE = shutil.which("soffice")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(OFFICE is None, reason="there is no LibreOffice here")]


def converted(content: bytes, ending: str, to: str, folder: Path) -> bytes:
    """A file as LibreOffice writes it in another format."""
    (folder / f"file{ending}").write_bytes(content)
    out = folder / to
    command = [str(OFFICE), "--headless", f"-env:UserInstallation=file://{folder}/profile", "--convert-to", to]
    environment = os.environ | {"HOME": str(folder)}
    subprocess.run(
        [*command, "--outdir", str(out), str(folder / f"file{ending}")],
        env=environment, check=True, timeout=300, capture_output=True,
    )  # fmt: skip
    return (out / f"file.{to}").read_bytes()


@pytest.mark.parametrize(
    ("made", "ending", "open_ending"),
    [("made_docx", ".docx", "odt"), ("made_pptx", ".pptx", "odp"), ("made_xlsx", ".xlsx", "ods")],
)
def test_written_and_opened_by_libreoffice(
    request: pytest.FixtureRequest, made: str, ending: str, open_ending: str, tmp_path: Path
) -> None:
    content: bytes = request.getfixturevalue(made)
    as_open = converted(content, ending, open_ending, tmp_path)
    again = converted(as_open, f".{open_ending}", ending[1:], tmp_path)  # as LibreOffice writes Office's format
    for written, name in ((as_open, f"a.{open_ending}"), (again, f"a{ending}")):
        assert members(translated(written, name)) == members(written)
        for translate, target in ((upper, None), (longer, "ar"), (longer, "ko")):
            found = translated(written, name, translate, target)
            with zipfile.ZipFile(io.BytesIO(found)) as file:
                assert file.namelist() == list(members(written))
            assert converted(found, Path(name).suffix, "pdf", tmp_path).startswith(b"%PDF")


def margins(content: bytes, ending: str, folder: Path) -> tuple[float, float]:
    """The least distance of a word of the first page from the left edge, and from the right one, in points."""
    (folder / "file.pdf").write_bytes(converted(content, ending, "pdf", folder))
    command = ["pdftotext", "-bbox", "-l", "1", str(folder / "file.pdf"), "-"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (width,) = re.findall(r'<page width="([\d.]+)"', said)
    places = re.findall(r'<word xMin="([\d.]+)" yMin="[\d.]+" xMax="([\d.]+)"', said)
    return min(float(left) for left, _ in places), float(width) - max(float(right) for _, right in places)


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="there is no pdftotext here")
@pytest.mark.parametrize("ending", [".docx", ".odt"])
def test_text_from_the_right_begins_at_the_right_edge(made_docx: bytes, ending: str, tmp_path: Path) -> None:
    content = made_docx if ending == ".docx" else converted(made_docx, ".docx", "odt", tmp_path)
    hebrew = translated(content, f"a{ending}", lambda text: Translated("שלום"), "he")
    left, _ = margins(content, ending, tmp_path)
    _, right = margins(hebrew, ending, tmp_path)
    assert abs(left - right) < 10
