"""
Resume an interrupted fit
=========================

Resume a long fit after an interruption from its checkpoint, with the same result as without the interruption.
"""

import tempfile
from pathlib import Path

import numpy as np

from dempster.cluster import ECM
from dempster.plot import CredalPartitionDisplay

CENTERS = np.array([[0.0, 0.0], [7.0, 0.0], [0.0, 7.0]])


def block(number: int) -> np.ndarray:
    """Return one block, as if it were read from a disk."""
    rng = np.random.default_rng(number)
    return CENTERS[rng.integers(0, 3, 20_000)] + rng.normal(size=(20_000, 2))


class Disk:
    """Ten blocks, with a simulated failure in the fifth pass."""

    passes = 0
    fails = True

    def __iter__(self):
        self.passes += 1
        for number in range(10):
            if self.fails and self.passes == 5 and number == 6:
                self.fails = False
                raise OSError("simulated failure")
            yield block(number)


# %%
# The first fit fails in the fifth pass over the data. The second one continues from the checkpoint
# file.
with tempfile.TemporaryDirectory() as folder:
    disk = Disk()
    model = ECM(3, tol=1e-9, random_state=0, checkpoint=Path(folder) / "fit.passes")
    try:
        model.fit(disk)
    except OSError as error:
        print(f"pass {disk.passes}: {error}")
    disk.passes = 0
    model.fit(disk)
    print(f"{disk.passes} more passes, {model.n_iter_} iterations in total")

# %%
# The result has the same bits as that of a fit without interruption.
uninterrupted = ECM(3, tol=1e-9, random_state=0).fit(disk)
print(
    "same centers as without interruption:",
    np.array_equal(model.cluster_centers_, uninterrupted.cluster_centers_),
)
print(model.credal_partition_.summary())

# %%
# 2,000 rows of the first block: three clusters with filled hulls and a few two-colored points
# between them.
rows = block(0)[:2000]
display = CredalPartitionDisplay.from_partition(model.predict_mass(rows), rows)
display.figure_.savefig("resume_a_fit.png", dpi=120)
print("wrote resume_a_fit.png")
