"""Draw quality against the number of questions from the report of ``make questions``."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
from _drawing import save

REPORT = Path(__file__).resolve().parents[2] / "benchmarks" / "QUESTIONS.md"
STYLES = {
    "suggest_pairs": {"color": "#d55e00", "linewidth": 2.5, "marker": "o"},
    "random pairs": {"color": "0.45", "linestyle": ":", "marker": "."},
    "scikit-query NPU": {"color": "#0072b2", "marker": "s"},
    "scikit-query FFQS": {"color": "#009e73", "linestyle": "--", "marker": "^"},
    "scikit-query MinMax": {"color": "#cc79a7", "linestyle": "--", "marker": "v"},
    "scikit-query AIPC": {"color": "#e69f00", "linestyle": "-.", "marker": "d"},
}

tables = {}
for part in re.split(r"^## ", REPORT.read_text(encoding="utf-8"), flags=re.MULTILINE)[
    1:
]:
    title, *lines = part.splitlines()
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|")
    ]
    tables[title] = (
        [int(n) for n in head[1:]],
        {name: [float(v) for v in values] for name, *values in rows},
    )

figure, axes = plt.subplots(
    2, -(-len(tables) // 2), figsize=(10.5, 5.6), layout="constrained", squeeze=False
)
for ax, (title, (answers, rows)) in zip(axes.flat, tables.items(), strict=False):
    for name, values in rows.items():
        ax.plot(answers, values, label=name, markersize=4, **STYLES[name])
    ax.set(
        title=title, xlabel="answers", ylabel="adjusted Rand index", ylim=(None, 1.02)
    )
    ax.spines[["top", "right"]].set_visible(False)
for ax in axes.flat[len(tables) :]:
    ax.axis("off")
figure.legend(
    *axes[0, 0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=3,
    frameon=False,
)
save(figure, "questions-curves")
