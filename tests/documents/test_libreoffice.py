"""Documents that LibreOffice writes, and results that it opens. Skipped where there is none."""

import io
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from tests.documents.files import members, translated
from tests.documents.translators import longer, upper

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
