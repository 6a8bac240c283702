"""Shorter pretraining of torch networks, which is enough for the tests of this folder."""

from importlib.util import find_spec

import pytest


@pytest.fixture(autouse=True)
def short_pretraining(monkeypatch):
    if find_spec("torch") is not None:
        epochs = "dempster.cluster.evclus._network_training._PRETRAINING_EPOCHS"
        monkeypatch.setattr(epochs, 4)
