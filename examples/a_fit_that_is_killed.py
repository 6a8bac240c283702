"""A long fit that breaks down, and goes on from its checkpoint to the same bits."""

import tempfile
from pathlib import Path

import numpy as np

from dempster.cluster import ECM

CENTERS = np.array([[0.0, 0.0], [7.0, 0.0], [0.0, 7.0]])


def block(number: int) -> np.ndarray:
    """As if it were read from a disk."""
    rng = np.random.default_rng(number)
    return CENTERS[rng.integers(0, 3, 20_000)] + rng.normal(size=(20_000, 2))


class Disk:
    """Ten blocks. The power fails in the fifth pass over them."""

    passes, fails = 0, True

    def __iter__(self):
        self.passes += 1
        for number in range(10):
            if self.fails and self.passes == 5 and number == 6:
                self.fails = False
                raise OSError("the power failed")
            yield block(number)


with tempfile.TemporaryDirectory() as folder:
    disk = Disk()
    model = ECM(3, tol=1e-9, random_state=0, checkpoint=Path(folder) / "fit.passes")
    try:
        model.fit(disk)
    except OSError as error:
        print(f"pass {disk.passes}: {error}")
    disk.passes = 0
    model.fit(disk)
    print(f"{disk.passes} more passes, {model.n_iter_} iterations in all")

unbroken = ECM(3, tol=1e-9, random_state=0).fit(disk)
print("the same bits:", np.array_equal(model.cluster_centers_, unbroken.cluster_centers_))
print(model.credal_partition_.summary())
