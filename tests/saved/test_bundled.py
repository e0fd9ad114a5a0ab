"""Models by name: a folder that is there comes first."""

from pathlib import Path

import pytest

from regard.errors import UserError
from regard.saved import bundled
from regard.saved.folder import load_model


def test_a_name_stands_for_a_bundled_model_unless_there_is_such_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("en-de", "de-en", "notes"):
        (tmp_path / "models" / name).mkdir(parents=True)
    for name in ("en-de", "de-en"):
        (tmp_path / "models" / name / "config.json").write_text("{}")
    monkeypatch.setattr(bundled, "FOLDER", tmp_path / "models")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert list(bundled.bundled()) == ["de-en", "en-de"]
    assert bundled.located("en-de") == tmp_path / "models" / "en-de"
    assert bundled.located("notes") == Path("notes")
    with pytest.raises(UserError, match="notes: no such folder; .* runs/x/model, or de-en, or en-de"):
        load_model("notes")
    Path("en-de").mkdir()
    assert bundled.located("en-de") == Path("en-de")
