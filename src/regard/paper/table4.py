"""Table 4: English constituency parsing, published and ours."""

from pathlib import Path
from typing import Any

from regard.errors import UserError
from regard.files import read_json
from regard.paper.markdown import table
from regard.paper.published import published


def ours(path: Path) -> dict[str, Any]:
    """The figures of a file that `regard evaluate --gold … --parses … --json` printed."""
    result = read_json(path)
    figures = result.get("summary") if isinstance(result, dict) else None
    if not isinstance(figures, dict) or not isinstance(figures.get("f1"), int | float):
        raise UserError(
            f"{path}: has no summary with f1; make it with `regard evaluate --gold TREES --parses TREES --json`"
        )
    return {"parser": path.stem, "f1": figures["f1"], "sentences": figures.get("sentences")}


def report(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {"published": [row.model_dump() for row in published().table4], "ours": results}


def as_markdown(results: list[dict[str, Any]]) -> str:
    """The published rows on section 23 of the Wall Street Journal, and ours on what they were measured on."""
    rows: list[list[object]] = [[row.parser, row.training, f"{row.f1:.1f}"] for row in published().table4]
    text = table(["WSJ section 23", "training", "F1"], rows)
    if not results:
        return text
    found = [[one["parser"], one["sentences"], f"{one['f1']:.1f}"] for one in results]
    return "\n".join([text, "", table(["ours", "sentences", "F1"], found)])
