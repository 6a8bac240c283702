"""Fixtures: a running studio, tabs and browsers."""

import pytest

pytest.importorskip(
    "starlette",
    reason="the studio needs starlette and uvicorn: pip install 'dempster[studio]'",
)

from tests.apps.studio.browser import WITH_WEBGL, WITHOUT_WEBGL, launch, open_page
from tests.apps.studio.live import Client, running_studio


@pytest.fixture(scope="session")
def studio():
    """Return the guard of a running studio."""
    with running_studio() as guard:
        yield guard


@pytest.fixture
def tab(studio):
    client = Client(studio)
    client.open()
    return client


@pytest.fixture(scope="module")
def iris(studio):
    """Return a tab with a run of iris: (client, source, run)."""
    client = Client(studio)
    client.open()
    source = client.load("iris")
    return client, source, client.cluster(source, clusters=3)


@pytest.fixture(scope="session")
def chromium(playwright):
    """Return a browser without WebGL, which is faster in tests."""
    browser = launch(playwright, *WITHOUT_WEBGL)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def chromium_with_webgl(chromium):
    browser = launch(chromium.browser_type, *WITH_WEBGL)
    yield browser
    browser.close()


@pytest.fixture
def page(chromium, studio):
    with open_page(chromium, studio) as opened:
        yield opened


@pytest.fixture
def webgl_page(chromium_with_webgl, studio):
    with open_page(chromium_with_webgl, studio) as opened:
        yield opened
