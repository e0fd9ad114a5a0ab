"""Prepared data for the tests of commands."""

from pathlib import Path

import pytest
from tests.support.command import regard


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    lines = [f"number {n}\t{n} 번 {chr(0x1F600 + n % 40)}" for n in range(300)]
    (folder / "train.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "valid.tsv").write_text("\n".join(lines[:20]) + "\n", encoding="utf-8")
    regard(
        "prepare", "--train", str(folder / "train.tsv"), "--valid", str(folder / "valid.tsv"), "--vocabulary", "330",
        "--from", "en", "--to", "ko", "--cores", "1", "--out", str(folder / "data"),
    )  # fmt: skip
    return folder / "data"
