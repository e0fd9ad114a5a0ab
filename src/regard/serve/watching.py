"""For machines that watch over the server: whether it lives, whether it takes work, what it has done."""

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, Response

from regard.serve.described import answers, record, string
from regard.serve.desk import Desk

STATUS = record({"status": string()})


def router(desk: Desk) -> APIRouter:
    own = APIRouter(tags=["Watching"])

    @own.get("/health", summary="Whether the server lives", responses=answers(STATUS))
    async def health() -> Response:
        return JSONResponse({"status": "ok"})

    @own.get("/ready", summary="Whether the server takes work", responses=answers(STATUS, 503))
    async def ready() -> Response:
        if desk.draining:
            return JSONResponse({"error": "The server is about to stop"}, 503, {"Retry-After": "1"})
        return JSONResponse({"status": "ready"})

    @own.get(
        "/metrics",
        summary="Figures for Prometheus",
        response_class=Response,
        responses={
            **answers({}),
            200: {"description": "Figures", "content": {"text/plain": {"schema": {"type": "string"}}}},
        },
    )
    async def metrics() -> Response:
        return Response(desk.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return own
