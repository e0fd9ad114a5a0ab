"""Static files of the page, with caching and security headers."""

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
FOLDERS = {"/page": PAGE, "/panels": PAGE / "panels", "/look": VIEWER}
INDEX = "/page/index.html"
SCRIPTS = ("/page/page.js", "/look/viewer.js")

_STYLE = re.compile(r'<link rel="stylesheet" href="(.+)">\n')

mimetypes.add_type("text/javascript", ".js")  # some systems map it otherwise, and browsers then reject modules


class Assets:
    """All files of page and viewer, read once. The two scripts are bundled with their modules, and the style is inlined
    into the page, since every further request would delay the first paint.

    Browsers revalidate each file, so that a page never mixes two versions.
    """

    def __init__(self) -> None:
        self.contents = {
            f"{at}/{path.name}": path.read_bytes()
            for at, folder in FOLDERS.items()
            for path in folder.iterdir()
            if path.is_file()
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
        """Return the page itself."""
        return self._file(request, INDEX)

    async def file(self, request: Request) -> Response:
        """Return the file at this address."""
        return self._file(request, request.scope["path"])

    def _file(self, request: Request, address: str) -> Response:
        """Return a file, or 304 if the browser has it."""
        if address not in self.contents:
            raise HTTPException(404)
        headers = {"ETag": self.tags[address], "Cache-Control": "no-cache"}
        if address == INDEX:
            headers[POLICY] = self.policy  # allows the inline script and style
        known = request.headers.get("If-None-Match", "")
        if self.tags[address] in known or known.strip() == "*":
            return Response(status_code=304, headers=headers)
        return Response(self.contents[address], media_type=mimetypes.guess_type(address)[0], headers=headers)
