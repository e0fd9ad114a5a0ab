from pathlib import Path

import pytest

from regard.errors import UserError
from regard.serve.limits.keys import new_key, read_keys


def test_a_key_is_kept_as_a_hash(tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    mine, theirs = new_key(file, "me"), new_key(file, "너 & you")
    text = file.read_text()
    assert mine not in text
    assert theirs not in text
    assert file.stat().st_mode & 0o777 == 0o600
    keys = read_keys(file)
    assert [keys.holder(key) for key in (mine, theirs, mine[:-1], "", "\ud800")] == ["me", "너 & you", None, None, None]


def test_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    with pytest.raises(UserError, match="keys.txt: no such file; make a key with --new-key NAME"):
        read_keys(file)
    new_key(file, "me")
    with pytest.raises(UserError, match="'me' has a key already"):
        new_key(file, "me")
    for name in ("", " ", "a\nb", "a # b", "x" * 65):
        with pytest.raises(UserError, match="can't be the name of a key"):
            new_key(file, name)
    file.write_text(file.read_text() + "\n# a comment\n\nsecret me\n")
    with pytest.raises(UserError, match="keys.txt, line 6: not `HASH NAME`"):
        read_keys(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="is not a file of keys"):
        read_keys(file)
