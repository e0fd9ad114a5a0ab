import pytest
from tests.serve.running import Running, running

from regard.serve.limits.hosts import called, names

LOOPBACK = names("127.0.0.1", "127.0.0.1", ())


def test_on_loopback_and_elsewhere() -> None:
    assert names("127.0.0.1", "127.0.0.1", ()) == {"localhost", "127.0.0.1"}
    assert names("Box", "::1", ["Translate.example"]) == {"localhost", "box", "translate.example"}
    assert names("0.0.0.0", "0.0.0.0", ()) is None
    assert names("0.0.0.0", "0.0.0.0", ["a.example"]) == {"localhost", "0.0.0.0", "a.example"}


@pytest.mark.parametrize(
    "header",
    ["localhost", "LOCALHOST:5000", "localhost.:80", "a.localhost", "127.0.0.1:5000", "127.9.9.9", "[::1]:5000"],
)
def test_ours(header: str) -> None:
    assert LOOPBACK is not None
    assert called(header, LOOPBACK)


@pytest.mark.parametrize(
    "header",
    ["", "evil.example", "evil.example:5000", "localhost.evil.example", "127.0.0.1.evil.example", "notlocalhost",
     "localhost@evil.example", "[", "[::1", "::1", "[evil]", "127.0.0.1:5000:1", "한국", "localhost evil"],
)  # fmt: skip
def test_not_ours(header: str) -> None:
    assert LOOPBACK is not None
    assert not called(header, LOOPBACK)


def test_a_page_from_elsewhere_is_told_nothing(served: Running) -> None:
    for path in ("/", "/languages", "/metrics", "/v2/usage", "/page/page.js"):
        answer = served.get(path, Host=f"evil.example:{served.port}")
        assert answer.status == 421
        assert list(answer.json.values()) == ["This server does not go by that name; allow it with --set hosts"]
        assert served.get(path, Host=f"localhost:{served.port}").status == 200
    assert served.figure('regard_refused_total{reason="name"}') >= 5


def test_a_name_that_is_allowed(folders: dict[str, str]) -> None:
    with running(folders["en-de"], hosts=("translate.example",)) as served:
        assert served.get("/languages", Host="Translate.example").status == 200
        assert served.get("/languages", Host="evil.example").status == 421
