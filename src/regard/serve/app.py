"""The web application: the two APIs, the page, and the guard around them."""

from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from regard import __version__
from regard.look.page import VIEWER
from regard.serve import deepl, libretranslate, look, watching
from regard.serve.assets import Assets
from regard.serve.desk import Desk
from regard.serve.guard import Guard
from regard.serve.refused import Refused, shape

PAGE = Path(__file__).parent / "page"


def create_app(desk: Desk, names: frozenset[str] | None) -> ASGIApp:
    app = FastAPI(
        title="regard",
        version=__version__,
        summary="Translation with models of your own, in the APIs of LibreTranslate and DeepL",
        docs_url=None,  # it would be fetched from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={Refused: _refused, HTTPException: _not_found, Exception: _failed},
    )
    for part in (libretranslate, deepl, watching, look):
        app.include_router(part.router(desk))

    page = Assets(directory=PAGE)

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return await page.get_response("index.html", request.scope)

    @app.get("/spec", include_in_schema=False)
    async def spec() -> Response:
        return JSONResponse(app.openapi())

    app.mount("/page", page)
    app.mount("/look", Assets(directory=VIEWER))
    _describe(app)
    return Guard(app, desk.settings, desk.metrics, names)


def _describe(app: FastAPI) -> None:
    """Make the description true: no answers that are never given, and DeepL's header."""
    description: dict[str, Any] = app.openapi()
    for path in description["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
    description.setdefault("components", {})["securitySchemes"] = {
        "DeepL-Auth-Key": {"type": "apiKey", "in": "header", "name": "Authorization"}
    }


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return JSONResponse(shape(request.scope["path"], error.sentence), error.status, error.headers)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse(shape(request.scope["path"], error.detail), error.status_code, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    """A bug, which uvicorn logs."""
    return JSONResponse(shape(request.scope["path"], "Cannot translate text: the server failed"), 500)
