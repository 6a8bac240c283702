"""Draw the agreement of the choice with the true clusters against the expected agreement, from benchmarks/choice/calibration.csv."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from _drawing import save

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "choice" / "calibration.csv"
N_GROUPS = 6

sets = pd.read_csv(FILE).sort_values("expected")
groups = pd.qcut(sets["expected"], N_GROUPS)
means = sets.groupby(groups, observed=True)[["expected", "agreement"]].mean()
figure, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
ax.plot([0, 1], [0, 1], color="0.6", linewidth=1)
ax.plot(
    sets["expected"], sets["low"], color="0.6", linestyle="--", label="low_agreement"
)
ax.scatter(
    sets["expected"],
    sets["agreement"],
    s=16,
    color="#0072b2",
    alpha=0.5,
    linewidths=0,
    label="a data set",
)
ax.plot(
    means["expected"],
    means["agreement"],
    "o-",
    color="#d55e00",
    label="mean of sets with similar expectations",
)
ax.set(
    xlabel="expected agreement",
    ylabel="agreement reached",
    xlim=(0, 1.02),
    ylim=(-0.02, 1.02),
)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, fontsize="small", loc="upper left")
save(figure, "judge-calibration")
