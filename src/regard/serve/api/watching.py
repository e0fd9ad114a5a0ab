"""Monitoring endpoints: liveness, readiness and metrics."""

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from regard.serve.api.described import Operation, answers, record, string
from regard.serve.refused import Refused
from regard.serve.state import AppState

STATUS = record({"status": string()})


def operations(_: AppState) -> list[Operation]:
    return [
        Operation("GET", "/health", health, "Whether the server lives", answers(STATUS)),
        Operation("GET", "/ready", ready, "Whether the server takes work", answers(STATUS, 503)),
        Operation("GET", "/metrics", metrics, "Figures for Prometheus", answers(string(), kind="text/plain")),
    ]


async def health(_: AppState, request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def ready(state: AppState, _: Request) -> Response:
    if state.leaving or state.draining:
        raise Refused(503, "The server is about to stop", retry_after=1)
    return JSONResponse({"status": "ready"})


async def metrics(state: AppState, _: Request) -> Response:
    return Response(state.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})
