import json

import pytest
from tests.support.command import Run

from regard.cores import available_cores
from regard.engines.native.choice import why_unavailable
from regard.engines.native.library import ISA_VARIABLE, isa


def test_engines_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, "info")
    code, out, _ = run("--json")
    assert code == 0
    report = json.loads(out)
    reason = why_unavailable()
    expected = {"available": True, "isa": isa()} if reason is None else {"available": False, "reason": reason}
    assert report["engines"]["native"] == expected
    assert report["engines"]["ctranslate2"]["available"] and report["engines"]["torch"]["available"]
    assert report["cores"] == available_cores()
    assert f"auto takes {report['auto']['engine']}: ".encode() in run()[1]


@pytest.mark.skipif(why_unavailable() is not None, reason="there is no native engine here")
def test_a_lower_instruction_set_is_told_and_not_taken_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ISA_VARIABLE, "plain")
    report = json.loads(Run(monkeypatch, "info")("--json")[1])
    assert report["engines"]["native"]["isa"] == "plain"
    assert report["auto"]["engine"] == "ctranslate2"
