"""Interrupted fits resume from their checkpoint and give identical results."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dempster.cluster import CCM, ECM, EGMM
from dempster.data import rows as rows_module

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X = np.random.default_rng(0).normal(size=(2000, 2)) + 4 * np.random.default_rng(
    1
).integers(0, 2, size=(2000, 2))


class Shelf:
    """Blocks that count the passes and raise an exception in one of them."""

    def __init__(self, table=X, breaks_in=None):
        self.table = table
        self.breaks_in = breaks_in
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        for a, b in pairwise([0, 300, 301, 1500, 2000]):
            if self.passes == self.breaks_in and a == 301:
                raise RuntimeError("the power is gone")
            yield self.table[a:b]


@pytest.fixture(autouse=True)
def few_drawn(monkeypatch):
    monkeypatch.setattr(rows_module, "SAMPLE_SIZE", 200)


@pytest.mark.parametrize(
    ("method", "more"),
    [
        (ECM, {}),
        (ECM, {"metric": "adaptive"}),
        (CCM, {"focal_sets": "selected"}),
        (EGMM, {"focal_sets": "pairs"}),
        (EGMM, {"covariance": "own"}),
        (EGMM, {"distribution": "t"}),
    ],
)
def test_failed_fit_is_resumed(method, more, tmp_path):
    settings = {"n_clusters": 3, "random_state": 3, "max_iter": 12, "tol": 0, **more}
    whole = Shelf()
    expected = method(**settings).fit(whole)
    for breaks_in in (2, 8):
        path = tmp_path / f"{breaks_in}"
        model = method(**settings, checkpoint=path)
        with pytest.raises(RuntimeError, match="power"):
            model.fit(Shelf(breaks_in=breaks_in))
        rest = Shelf()
        model.fit(rest)
        assert rest.passes < whole.passes + 2 - max(breaks_in - 3, 0)
        np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
        np.testing.assert_array_equal(model.history_, expected.history_)
        assert vars(model).keys() == vars(expected).keys()
        again = Shelf()
        model.fit(again)  # all of it is in the file
        # the first row tells the columns; moments tell that X is the same
        assert again.passes <= 2
        np.testing.assert_array_equal(model.history_, expected.history_)


def test_checkpoint_of_another_fit(tmp_path):
    path = tmp_path / "fit"
    weights = np.ones(2000)
    settings = {"n_clusters": 3, "random_state": 3, "checkpoint": path}
    ECM(**settings).fit([X])
    ECM(**settings, n_jobs=1, verbose=0).fit([X])
    for other in (
        lambda: ECM(**{**settings, "random_state": 4}).fit([X]),
        lambda: ECM(**settings, alpha=2.0).fit([X]),
        lambda: ECM(**settings, init=np.zeros((3, 2))).fit([X]),
        lambda: CCM(**settings).fit([X]),
        lambda: ECM(**settings).fit([X], sample_weight=weights),
        lambda: ECM(**settings).fit([X[:, :1]]),
    ):
        with pytest.raises(ValueError, match="^checkpoint .* another model"):
            other()
    changed = X.copy()
    changed[77, 1] += 1e-6
    for data in ([changed], [X[:-1]]):
        with pytest.raises(ValueError, match="^checkpoint .* different rows"):
            ECM(**settings).fit(data)
    path.write_text("something else altogether, of a certain length " * 9)
    with pytest.raises(ValueError, match="is not a checkpoint"):
        ECM(**settings).fit([X])
    with pytest.raises(ValueError, match="^checkpoint must"):
        ECM(**{**settings, "checkpoint": tmp_path}).fit([X])
    with pytest.raises(ValueError, match="^checkpoint must"):
        ECM(**{**settings, "checkpoint": tmp_path / "no" / "fit"}).fit([X])


def test_damaged_checkpoint(tmp_path):
    path = tmp_path / "fit"
    settings = {"n_clusters": 3, "random_state": 3, "checkpoint": path, "max_iter": 6}
    ECM(**settings).fit([X])
    data = path.read_bytes()
    for end in (0, 7, 60, 83, 90, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:end])
        with pytest.raises(ValueError, match="is not a checkpoint"):
            ECM(**settings).fit([X])
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="is not a checkpoint"):
        ECM(**settings).fit([X])


_PROGRAM = """
import os, signal, sys
import numpy as np
from dempster.cluster import ECM
from dempster.data import rows
rows.SAMPLE_SIZE = 200
X, passes = np.load(sys.argv[1]), 0
def blocks():
    global passes
    passes += 1
    yield X[:700]
    if passes == 9 and sys.argv[4] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    yield X[700:]
model = ECM(3, random_state=3, tol=1e-9, checkpoint=sys.argv[2]).fit(blocks)
np.savez(sys.argv[3], centers=model.cluster_centers_, history=model.history_, passes=passes)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_killed_process_is_resumed(tmp_path):
    np.save(tmp_path / "x.npy", X)

    def run(name, fate):
        files = [
            tmp_path / "x.npy",
            tmp_path / f"{name}.passes",
            tmp_path / f"{name}-{fate}.npz",
        ]
        command = [sys.executable, "-c", _PROGRAM, *map(str, files), fate]
        source = str(Path(rows_module.__file__).parents[2])
        environment = {**os.environ, "PYTHONPATH": source}
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, check=False
        )
        return done.returncode, np.load(files[-1]) if files[-1].exists() else None

    passes = 0

    def blocks():
        nonlocal passes
        passes += 1
        yield X[:700]
        yield X[700:]

    expected = ECM(
        3, random_state=3, tol=1e-9, checkpoint=tmp_path / "whole.passes"
    ).fit(blocks)
    code, nothing = run("broken", "killed")
    assert code < 0
    assert nothing is None
    code, found = run("broken", "lives")
    assert code == 0
    np.testing.assert_array_equal(found["centers"], expected.cluster_centers_)
    np.testing.assert_array_equal(found["history"], expected.history_)
    # moments are compared, and six sums are not taken again
    assert found["passes"] == passes - 6
