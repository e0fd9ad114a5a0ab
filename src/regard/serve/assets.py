"""The files of the page, as a browser needs them."""

import hashlib
import mimetypes
import re
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from regard.look.modules import joined
from regard.look.page import VIEWER, sourced
from regard.serve.middleware import HEADERS, POLICY

PAGE = Path(__file__).parent / "page"
FOLDERS = {"/page": PAGE, "/look": VIEWER}
INDEX = "/page/index.html"
SCRIPTS = ("/page/page.js", "/look/viewer.js")

_STYLE = re.compile(r'<link rel="stylesheet" href="(.+)">\n')

mimetypes.add_type("text/javascript", ".js")  # some systems say otherwise, and a browser then runs no module


class Assets:
    """All files of page and viewer, read once. Each of the two scripts comes with the modules that it needs, and the
    page with its style: whatever else it had to ask for before it is painted would make a person wait.

    Browsers ask each time whether a file has changed, so that no two versions meet in one page.
    """

    def __init__(self) -> None:
        self.contents = {
            f"{at}/{path.name}": path.read_bytes() for at, folder in FOLDERS.items() for path in folder.iterdir()
        }
        self.contents |= {address: joined(address, FOLDERS).encode() for address in SCRIPTS}
        page = self.contents[INDEX].decode()
        style = "".join(self.contents[address].decode() for address in _STYLE.findall(page))
        page = _STYLE.sub("", page).replace("</head>", f"<style>{style}</style>\n</head>")
        self.contents[INDEX] = page.encode()
        (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        self.policy = HEADERS[POLICY].replace("script-src 'self'", f"script-src 'self' {sourced(script)}")
        self.policy = self.policy.replace("style-src 'self'", f"style-src 'self' {sourced(style)}")
        self.tags = {address: f'"{hashlib.sha256(content).hexdigest()}"' for address, content in self.contents.items()}

    async def index(self, request: Request) -> Response:
        """The page itself."""
        return self._file(request, INDEX)

    async def file(self, request: Request) -> Response:
        """What stands at this address."""
        return self._file(request, request.scope["path"])

    def _file(self, request: Request, address: str) -> Response:
        """A file, or that the browser has it already."""
        if address not in self.contents:
            raise HTTPException(404)
        headers = {"ETag": self.tags[address], "Cache-Control": "no-cache"}
        if address == INDEX:
            headers[POLICY] = self.policy  # which lets the script and the style pass that stand in it
        known = request.headers.get("If-None-Match", "")
        if self.tags[address] in known or known.strip() == "*":
            return Response(status_code=304, headers=headers)
        return Response(self.contents[address], media_type=mimetypes.guess_type(address)[0], headers=headers)
