"""Seeds by ECM and by k-EVCLUS."""

from __future__ import annotations

from dempster.cluster import ECM, EVCLUS
from dempster.plot import CredalPartitionDisplay
from reproduce import data
from reproduce.lecture import PAPER
from reproduce.runner import Run, experiment


@experiment(PAPER, "Seeds", "ECM and k-EVCLUS")
def seeds(run: Run) -> None:
    """Standardised attributes, three clusters.

    The lecture calls the two programs with their defaults and shows the
    partitions on two principal components; ECM uses the single clusters, the frame and the empty
    set. We use our defaults with the same focal sets."""
    import matplotlib.pyplot as plt

    X, _ = data.table("Seeds")
    figure, axes = plt.subplots(1, 2, figsize=(13, 4.8), layout="constrained")
    for ax, method in zip(axes, (ECM, EVCLUS), strict=True):
        model = method(3, focal_sets="simple", random_state=0, n_jobs=1).fit(X)
        CredalPartitionDisplay.from_partition(
            model.credal_partition_, X, ax=ax, title=method.__name__
        )
    run.figure(
        "partitions", figure, "Partitions of the seeds on two principal components."
    )
