"""A studio and a tab of it, for the tests of this folder."""

import pytest

pytest.importorskip("starlette", reason="the studio needs starlette and uvicorn: pip install 'evidentia[studio]'")

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
