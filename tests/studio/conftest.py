"""A studio and a tab of it, for the tests of this folder."""

import pytest

pytest.importorskip("starlette", reason="the studio needs starlette and uvicorn: pip install 'dempster[studio]'")

from tests.studio.browser import WITH_WEBGL, WITHOUT_WEBGL, launched, opened
from tests.studio.live import Client, running_studio


@pytest.fixture(scope="session")
def studio():
    """The guard of a studio that runs."""
    with running_studio() as guard:
        yield guard


@pytest.fixture
def tab(studio):
    """A new session."""
    client = Client(studio)
    client.open()
    return client


@pytest.fixture(scope="module")
def iris(studio):
    """A tab with a run of iris: (client, source, run)."""
    client = Client(studio)
    client.open()
    source = client.load("iris")
    return client, source, client.cluster(source, clusters=3)


@pytest.fixture(scope="session")
def chromium(playwright):
    """A browser as a machine without a graphics processor has it, which is the quicker one for tests."""
    browser = launched(playwright, *WITHOUT_WEBGL)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def chromium_with_webgl(chromium):
    """The same browser, in which programs draw what a graphics processor would."""
    browser = launched(chromium.browser_type, *WITH_WEBGL)
    yield browser
    browser.close()


@pytest.fixture
def page(chromium, studio):
    """The page of the studio in a new browser profile; scripts that fail fail the test."""
    with opened(chromium, studio) as found:
        yield found


@pytest.fixture
def webgl_page(chromium_with_webgl, studio):
    """The page as most people have it: points are drawn with WebGL."""
    with opened(chromium_with_webgl, studio) as found:
        yield found
