"""`regard info`: print which engines are available, and which one `auto` uses."""

import json
from typing import Annotated, Any

import typer


def info(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Print versions and engines, and why an engine is not used."""
    report = _report()
    if as_json:
        typer.echo(json.dumps(report))
        return
    typer.echo(f"regard {report['regard']}, Python {report['python']}, {report['cores']} cores")
    for name, engine in report["engines"].items():
        facts = {key: value for key, value in engine.items() if key not in ("available", "reason")}
        there = "available" if engine["available"] else "not available"
        because = f": {engine['reason']}" if engine.get("reason") else ""
        typer.echo(f"{name:12} {there}{because} " + ", ".join(f"{key} {value}" for key, value in facts.items()))
    typer.echo(f"auto takes {report['auto']['engine']}: {report['auto']['reason']}")


def _report() -> dict[str, Any]:
    import platform
    from importlib.metadata import version

    from regard import __version__
    from regard.cores import available_cores

    return {
        "regard": __version__,
        "python": platform.python_version(),
        "cores": available_cores(),
        "engines": {
            "native": _native(),
            "ctranslate2": {"available": True, "version": version("ctranslate2")},
            "torch": {"available": True, "version": version("torch")},
        },
        "auto": _auto(),
    }


def _native() -> dict[str, Any]:
    from regard.engines.native.choice import why_unavailable
    from regard.engines.native.library import isa

    reason = why_unavailable()
    return {"available": True, "isa": isa()} if reason is None else {"available": False, "reason": reason}


def _auto() -> dict[str, str]:
    """Return the engine that `auto` uses for a Transformer on a CPU, without an export in its folder."""
    from regard.engines.native.choice import why_not_taken
    from regard.engines.native.library import isa

    reason = why_not_taken()
    if reason is None:
        return {"engine": "native", "reason": f"it was measured to be no slower than CTranslate2 with {isa()}"}
    return {"engine": "ctranslate2", "reason": f"the native engine is not taken, since {reason}"}
