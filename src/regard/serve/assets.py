"""The files of the page, as a browser needs them."""

import mimetypes
from typing import Any

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

mimetypes.add_type("text/javascript", ".js")  # some systems say otherwise, and a browser then runs no module


class Assets(StaticFiles):
    """A folder. Browsers ask each time whether a file has changed, so that no two versions meet in one page."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        response = super().file_response(*given, **named)
        response.headers["Cache-Control"] = "no-cache"
        return response
