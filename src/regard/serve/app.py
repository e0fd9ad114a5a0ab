"""The web application: the two APIs, the page, and the middleware around them."""

from collections.abc import Iterable
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from regard.serve.api import deepl, deepl_documents, libretranslate, look, watching
from regard.serve.api.described import Handler, Operation, description
from regard.serve.assets import FOLDERS, Assets
from regard.serve.knowledge import corrections, glossaries
from regard.serve.middleware import Middleware
from regard.serve.refused import Refused, shape
from regard.serve.state import AppState


def create_app(state: AppState, names: frozenset[str] | None) -> ASGIApp:
    """Create the ASGI application; `names` are the host names that it answers to, None for any."""
    apis = {
        "LibreTranslate": libretranslate.operations(state),
        "DeepL": [
            *deepl.operations(state),
            *deepl_documents.operations(state),
            *glossaries.operations(state),
        ],
        "Corrections": corrections.operations(state),
        "Page": look.operations(state),
        "Watching": watching.operations(state),
    }
    assets = Assets()
    described = JSONResponse(description(apis))

    async def spec(_: Request) -> Response:
        return described

    app = Starlette(
        routes=[
            *_routes(state, (one for operations in apis.values() for one in operations)),
            Route("/openapi.json", spec),
            Route("/spec", spec),
            Route("/", assets.index),
            Route("/look/page.html", look.template),
            *(Route(f"{folder}/{{name}}", assets.file) for folder in FOLDERS),
        ],
        exception_handlers={Refused: _refused, HTTPException: _not_found, Exception: _failed},
    )
    app.router.redirect_slashes = False
    return Middleware(app, state, names)


def _routes(state: AppState, operations: Iterable[Operation]) -> list[Route]:
    """Return the routes. Operations at one address are the same endpoint with different methods."""
    methods: dict[tuple[str, Handler], list[str]] = {}
    for one in operations:
        methods.setdefault((one.path, one.handler), []).append(one.method)
    return [
        Route(path, partial(handler, state), methods=allowed, name=path) for (path, handler), allowed in methods.items()
    ]


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return JSONResponse(shape(request.scope["path"], error.sentence), error.status, error.headers)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse(shape(request.scope["path"], error.detail), error.status_code, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    """Answer 500 for an unexpected exception, which uvicorn logs."""
    return JSONResponse(shape(request.scope["path"], "Cannot translate text: the server failed"), 500)
