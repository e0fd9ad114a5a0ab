"""The files of the page."""

from tests.serve.running import Running


def test_modules_are_asked_for_anew_and_come_only_if_they_changed(served: Running) -> None:
    for path in ("/page/page.js", "/look/viewer.js"):
        answer = served.get(path)
        assert (answer.status, answer.headers["cache-control"]) == (200, "no-cache")
        assert answer.headers["content-type"].startswith("text/javascript")
        assert served.get(path, **{"If-None-Match": answer.headers["etag"]}).status == 304
    assert served.get("/page/").status == served.get("/look/").status == 404
    assert served.get("/look/../look.py").status == 404
