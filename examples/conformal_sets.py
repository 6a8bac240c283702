"""
Sets of classes with guaranteed coverage
========================================

Predict sets of classes with a guaranteed coverage, combine two sources, and detect objects of a new kind.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster.belief import benjamini_hochberg, merge_p_values
from dempster.classify import ConformalClassifier
from dempster.cluster import ConformalNoveltyDetector
from dempster.plot import CoverageDisplay

# %%
# Two attributes of cell nuclei in 569 biopsies, which are benign or malignant.
data = load_breast_cancer(as_frame=True)
X = data.data[["mean texture", "mean smoothness"]]
y = data.target_names[data.target]
known, new, y_known, y_new = train_test_split(X, y, test_size=0.4, random_state=0)
classifier = make_pipeline(StandardScaler(), LogisticRegression())

# %%
# On average over many samples, the sets of new patients contain the true class at least as often as
# the confidence says, in each class. In a single sample the share varies: for malignant cells it is
# lower here.
print("confidence  covered  benign  malignant  mean size")
for confidence in (0.8, 0.9, 0.95):
    model = ConformalClassifier(
        classifier, confidence=confidence, by_class=True, random_state=0
    ).fit(known, y_known)
    sets = model.predict_set(new)
    covered = sets[np.arange(len(new)), np.searchsorted(model.classes_, y_new)]
    parts = [covered[y_new == name].mean() for name in model.classes_]
    print(
        f"{confidence:10.2f}{covered.mean():9.2f}{parts[0]:8.2f}{parts[1]:11.2f}{sets.sum(axis=1).mean():11.2f}"
    )

# %%
# The same model returns mass functions. The plausibility of the true class is at most 0.05 in at most
# 5% of cases, on average over many samples.
print("\nmass functions of three patients:")
print(model.predict_mass(new[:3]).to_frame().round(2).to_string())

# %%
# Two sources, one for each attribute. Twice the mean p-value is valid, the product (Dempster's
# rule) is not.
p = []
for name in X.columns:
    source = ConformalClassifier(classifier, random_state=0).fit(known[[name]], y_known)
    p.append(source.p_values(new[[name]]))
truth = np.searchsorted(source.classes_, y_new)
print("\ncoverage of two sources at confidence 0.9:")
for title, contour in (("twice the mean", merge_p_values(p)), ("product", p[0] * p[1])):
    print(f"  {title}: {np.mean(contour[np.arange(len(new)), truth] > 0.1):.2f}")

# %%
# Novelty: a detector that knows benign cells only. Malignant cells are of a new kind.
columns = ["mean radius", "mean concavity", "mean concave points"]
benign = data.data.loc[y == "benign", columns]
detector = ConformalNoveltyDetector(
    IsolationForest(random_state=0), false_alarm_rate=0.05, random_state=0
)
detector.fit(benign[:250].to_numpy())
batch = np.append(np.zeros(len(benign) - 250, dtype=bool), np.ones(40, dtype=bool))
rows = np.vstack([benign[250:], data.data.loc[y == "malignant", columns][:40]])
is_selected = benjamini_hochberg(detector.p_values(rows), level=0.1)
print(
    f"\nnew kind: {is_selected[batch].sum()} of 40 malignant cells selected, {is_selected[~batch].sum()} false"
)

# %%
# Left, the share of sets that contain the true class against the confidence, for all, benign and
# malignant cells: the curves follow the diagonal. Right, the mean number of classes in a set
# increases with the confidence.
CoverageDisplay.from_estimator(model, new, y_new, by_class=True).figure_.savefig(
    "coverage.png", dpi=120
)
print("wrote coverage.png")
