"""What all tests share: one thread each (two run side by side), and where the real corpora are, if they are here."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

os.environ.setdefault("OMP_NUM_THREADS", "1")
pytest.register_assert_rewrite("tests.support", "tests.documents")
pytest_plugins = [
    "tests.support.bulk_here",
    "tests.support.command",
    "tests.support.digits",
    "tests.support.experiments",
    "tests.support.models",
    "tests.support.parsing",
    "tests.support.public",
]
# The same examples in every run, however long they take: no test depends on luck, or on what else the machine does.
settings.register_profile(
    "steady", derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile("steady")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background would ignore Ctrl-C


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first: begun last they would keep one of two processes busy while the other waits."""
    items.sort(key=lambda item: item.path.name != "test_kill.py")


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora, which the project does not carry: $REGARD_DATA or ../shared/data."""
    folder = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no corpora at {folder}; set REGARD_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def peak_bytes() -> Callable[[Callable[[], object]], int]:
    """A function that tells how many bytes torch holds at the most while something is done."""
    from regard.paper.table1.dependence import peak_bytes

    return peak_bytes


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Chromium, which `make` installs where it can; one for each file of tests, since nothing async runs beside it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright; pip install 'regard[dev]'")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium; install your system's package, such as chromium on Debian")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])  # which root can't have
        yield browser
        browser.close()


@pytest.hookimpl(trylast=True)  # after everything is torn down, so that the next test can begin
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """A model that tests share stays in evaluation mode; in a wrapper that trains it would train from then on."""
    for value in getattr(item, "funcargs", {}).values():
        if type(value).__name__ == "LoadedModel":
            assert not value.model.training, f"{item.name} leaves a shared model in training mode"
