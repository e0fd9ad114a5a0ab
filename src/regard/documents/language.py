"""Writing direction and fonts of languages."""

RIGHT_TO_LEFT = frozenset("ar arc ckb dv fa ha-Arab he iw khw ks ku-Arab ps sd syr ug ur yi".split())  # noqa: SIM905
FONTS = {  # fonts of office programs for the languages whose characters a western font lacks
    "ko": "Malgun Gothic",
    "ja": "Yu Gothic",
    "zh": "Microsoft YaHei",
}
REGIONS = {"ko": "ko-KR", "ja": "ja-JP", "zh": "zh-CN"}


def base(code: str | None) -> str:
    return (code or "").replace("_", "-").split("-")[0].lower()


def right_to_left(code: str | None) -> bool:
    return base(code) in RIGHT_TO_LEFT or (code or "") in RIGHT_TO_LEFT


def font(code: str | None) -> str | None:
    """Return the font for an East Asian language."""
    return FONTS.get(base(code))


def tag(code: str) -> str:
    """Return a language as office documents name it, with a region where they require one."""
    return REGIONS.get(code, code.replace("_", "-"))
