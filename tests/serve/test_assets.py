"""The files of the page."""

import re

from tests.serve.running import Running


def test_modules_are_asked_for_anew_and_come_only_if_they_changed(served: Running) -> None:
    for path in ("/page/page.js", "/look/viewer.js"):
        answer = served.get(path)
        assert (answer.status, answer.headers["cache-control"]) == (200, "no-cache")
        assert answer.headers["content-type"].startswith("text/javascript")
        assert served.get(path, **{"If-None-Match": answer.headers["etag"]}).status == 304
        assert served.get(path, **{"If-None-Match": "*"}).status == 304
        assert served.get(path, **{"If-None-Match": '"another"'}).content == answer.content
    assert served.get("/page/").status == served.get("/look/").status == 404
    assert served.get("/look/../look.py").status == 404


def test_each_script_comes_with_all_that_it_needs(served: Running) -> None:
    for path in ("/page/page.js", "/look/viewer.js"):
        assert not re.search(r"^import\b", served.get(path).content.decode(), re.MULTILINE)
