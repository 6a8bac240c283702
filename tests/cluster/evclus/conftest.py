"""Shorter pretraining of torch networks, which is enough for the tests of this folder."""

import pytest

from dempster.cluster.evclus import _training


@pytest.fixture(autouse=True)
def shortnnevclus(monkeypatch):
    monkeypatch.setattr(_training, "_ADAM_STEPS", 200)
