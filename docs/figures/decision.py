"""Draw the decision tree from data and requirements to a method."""

import matplotlib.pyplot as plt
from _drawing import save

QUESTIONS = {
    "a table of numbers": {
        "no prior information": "CredalClustering",
        "round clusters, fast result": "ECM",
        "elongated, or more than 15 attributes": "EGMM",
        "calibrated confidence, e.g. 90 %": "BootClus",
        "many predictions for new objects": "NNEVCLUS",
        "rings, spirals": 'CredalClustering, EVCLUS(shape="connected")',
    },
    "dissimilarities": {
        "any": 'EVCLUS(metric="precomputed")',
        "squared Euclidean distances": "RECM",
        "representative objects needed": "ECMdd, WECMdd, MECM",
    },
    "other data": {
        "categories": "CatECM",
        "numbers and categories": 'EVCLUS(metric="gower")',
        "an image": "SECM",
        "several tables of the same objects": "WMVEC",
    },
    "prior information": {
        "must-link and cannot-link pairs": "EVCLUS, CECM with constraints",
        "classes of some objects": "EKNNClassifier and its neighbors",
        "unknown number of clusters": "CredalClustering, BPEC, EKNNClus",
    },
}

rows = sum(len(answers) for answers in QUESTIONS.values()) + 0.6 * (len(QUESTIONS) - 1)
figure, ax = plt.subplots(figsize=(9.6, 0.42 * rows), layout="constrained")
box = {"boxstyle": "round,pad=0.35", "linewidth": 1}
y = 0.0
for have, answers in QUESTIONS.items():
    middle = y + (len(answers) - 1) / 2
    ax.text(0, middle, have, weight="bold", bbox={**box, "facecolor": "#dcebf5", "edgecolor": "#0072b2"}, va="center")
    for want, take in answers.items():
        ax.plot([2.05, 2.5], [middle, y], color="0.6", linewidth=1)
        ax.text(2.6, y, want, va="center")
        ax.annotate("", (6.5, y), (6.05, y), arrowprops={"arrowstyle": "->", "color": "0.4"})
        ax.text(6.7, y, take, va="center", bbox={**box, "facecolor": "#fbeedd", "edgecolor": "#d55e00"})
        y += 1
    y += 0.6
ax.set(xlim=(-0.2, 10.4), ylim=(y - 0.8, -0.7))
ax.axis("off")
save(figure, "decision-tree")
