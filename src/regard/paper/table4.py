"""Table 4: English constituency parsing, published and ours."""

from pathlib import Path
from typing import Any

from regard.errors import UserError
from regard.files import read_json
from regard.paper.markdown import table
from regard.paper.published import published


def ours(path: Path) -> list[dict[str, Any]]:
    """Read figures from the output of `regard evaluate --json`: of trees, or of a parser with and without the
    constraint.
    """
    result = read_json(path)
    parts: dict[str, Any] = result if isinstance(result, dict) else {}
    found = {name: figures for name, figures in parts.items() if _has_f1(figures)}
    if not found:
        raise UserError(
            f"{path}: has no summary with f1; make it with `regard evaluate --gold TREES --parses TREES --json`, or "
            "with --model for --parses"
        )
    return [
        {
            "parser": path.stem if name == "summary" else f"{path.stem}, {name}",
            "f1": figures["f1"],
            "sentences": figures.get("sentences"),
        }
        for name, figures in found.items()
    ]


def _has_f1(figures: object) -> bool:
    return isinstance(figures, dict) and isinstance(figures.get("f1"), int | float)


def report(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {"published": [row.model_dump() for row in published().table4], "ours": results}


def as_markdown(results: list[dict[str, Any]]) -> str:
    """Return a table of the published rows on section 23 of the Wall Street Journal, and ours with their test sets."""
    rows: list[list[object]] = [[row.parser, row.training, f"{row.f1:.1f}"] for row in published().table4]
    text = table(["WSJ section 23", "training", "F1"], rows)
    if not results:
        return text
    found = [[one["parser"], one["sentences"], f"{one['f1']:.1f}"] for one in results]
    return "\n".join([text, "", table(["ours", "sentences", "F1"], found)])
