"""Draw time and memory against the number of clusters and of objects from benchmarks/OTHER.md."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
from _drawing import save

REPORT = Path(__file__).resolve().parents[2] / "benchmarks" / "OTHER.md"
STYLES = {
    "ECM": {"color": "#d55e00", "marker": "o"},
    "EVCLUS": {"color": "#0072b2", "marker": "s"},
    "MiniBatchKMeans": {"color": "0.45", "linestyle": "--", "marker": "."},
    "HDBSCAN": {"color": "#009e73", "linestyle": ":", "marker": "^"},
}
ROW = r"\| ([\d,]+) objects, ([\d,]+) clusters, (\w+) \| ([\d.]+) s \| (\d+) MB \|"

rows = [
    (int(n.replace(",", "")), int(c.replace(",", "")), method, float(s), float(mb))
    for n, c, method, s, mb in re.findall(ROW, REPORT.read_text(encoding="utf-8"))
]
figure, axes = plt.subplots(
    2, 2, figsize=(9, 6), layout="constrained", sharex="col", sharey="row"
)
for method, style in STYLES.items():
    by_clusters = sorted(
        row[1:2] + row[3:] for row in rows if row[2] == method and row[0] == 100_000
    )
    by_objects = sorted(
        row[:1] + row[3:] for row in rows if row[2] == method and row[1] == 200
    )
    for column, points in zip(axes.T, (by_clusters, by_objects), strict=True):
        for ax, values in zip(column, (1, 2), strict=True):
            x = [point[0] for point in points]
            ax.loglog(x, [point[values] for point in points], label=method, **style)
axes[0, 0].set(title="100,000 objects", ylabel="processor time (s)")
axes[0, 1].set(title="200 clusters")
axes[1, 0].set(xlabel="clusters", ylabel="memory (MB)")
axes[1, 1].set(xlabel="objects")
for ax in axes.flat:
    ax.spines[["top", "right"]].set_visible(False)
figure.legend(
    *axes[0, 1].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=4,
    frameon=False,
)
save(figure, "scale-clusters")
