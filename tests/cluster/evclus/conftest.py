"""Quick networks of torch: what the tests of this folder ask for shows after a fifth of the usual first steps."""

import pytest

from dempster.cluster.evclus import nnevclus as _pretraining


@pytest.fixture(autouse=True)
def few_first_steps(monkeypatch):
    monkeypatch.setattr(_pretraining, "_ADAM_STEPS", 200)
