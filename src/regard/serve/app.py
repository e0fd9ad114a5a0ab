"""The web application: the two APIs, the page, and the guard around them."""

from collections.abc import Iterable
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from regard.serve import deepl, libretranslate, look, watching
from regard.serve.assets import FOLDERS, Assets
from regard.serve.described import Handler, Operation, description
from regard.serve.desk import Desk
from regard.serve.guard import Guard
from regard.serve.refused import Refused, shape


def create_app(desk: Desk, names: frozenset[str] | None) -> ASGIApp:
    """What answers, under these names; under any, if None."""
    apis = {
        "LibreTranslate": libretranslate.operations(desk),
        "DeepL": deepl.operations(desk),
        "Page": look.operations(desk),
        "Watching": watching.operations(desk),
    }
    assets = Assets()
    described = JSONResponse(description(apis))

    async def spec(_: Request) -> Response:
        return described

    app = Starlette(
        routes=[
            *_routes(desk, (one for operations in apis.values() for one in operations)),
            Route("/openapi.json", spec),
            Route("/spec", spec),
            Route("/", assets.index),
            Route("/look/page.html", look.template),
            *(Route(f"{folder}/{{name}}", assets.file) for folder in FOLDERS),
        ],
        exception_handlers={Refused: _refused, HTTPException: _not_found, Exception: _failed},
    )
    app.router.redirect_slashes = False
    return Guard(app, desk.settings, desk.metrics, names)


def _routes(desk: Desk, operations: Iterable[Operation]) -> list[Route]:
    """Who answers where. Operations at one address are the same, asked with another method."""
    methods: dict[tuple[str, Handler], list[str]] = {}
    for one in operations:
        methods.setdefault((one.path, one.handler), []).append(one.method)
    return [
        Route(path, partial(handler, desk), methods=allowed, name=path) for (path, handler), allowed in methods.items()
    ]


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return JSONResponse(shape(request.scope["path"], error.sentence), error.status, error.headers)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse(shape(request.scope["path"], error.detail), error.status_code, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    """A bug, which uvicorn logs."""
    return JSONResponse(shape(request.scope["path"], "Cannot translate text: the server failed"), 500)
