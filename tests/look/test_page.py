"""The viewer as one file."""

import re

from regard.look.page import VIEWER, page, sourced


def test_it_loads_nothing_and_every_module_is_in_it() -> None:
    written = page('{"source": "</script><b>"}')
    assert not re.search(r'\b(src|href)="', written)
    assert "</script><b>" not in written and "\\u003c/script>" in written
    (script,) = re.findall(r'<script type="module">(.*?)</script>', written, re.DOTALL)
    assert not re.search(r"^\s*import\b", script, re.MULTILINE)
    for module in VIEWER.glob("*.js"):
        for name in re.findall(r"^export (?:async )?function (\w+)", module.read_text(), re.MULTILINE):
            assert script.count(f"function {name}(") == 1, f"{name} of {module.name}"


def test_the_policy_names_the_script_and_the_style() -> None:
    written = page()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', written)
    (style,) = re.findall(r"<style>(.*?)</style>", written, re.DOTALL)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', written, re.DOTALL)
    assert policy.startswith("default-src 'none'; ")
    assert f"style-src {sourced(style)}" in policy and f"script-src {sourced(script)}" in policy


def test_modules_need_no_policy_to_bend() -> None:
    for module in VIEWER.glob("*.js"):
        assert not re.search(r"\beval\(|new Function|innerHTML|https?://(?!www\.w3\.org)", module.read_text())
