"""What all tests share: one thread each (two run side by side), and where the real corpora are, if they are here."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora, which the project does not carry: $REGARD_DATA or ../shared/data."""
    folder = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no corpora at {folder}; set REGARD_DATA to their folder")
    return folder
