"""
Classify with rejection and soft labels
=======================================

Classify with mass functions: cautious decisions, rejection, and soft labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from dempster import FocalSets, MassFunctions
from dempster.classify import EKNNClassifier, EvidenceFromClassifier
from dempster.plot import MassContourDisplay, RejectionCurveDisplay

iris = load_iris(as_frame=True)
X = iris.data[["petal length (cm)", "petal width (cm)"]]
y = iris.target_names[iris.target]
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, random_state=0, stratify=y
)

# %%
# In the evidential K-nearest neighbor rule, each neighbor is a piece of evidence that decreases
# with distance; leave-one-out selects the number of neighbors. Each attribute of a logistic
# regression is a piece of evidence as well.
eknn = EKNNClassifier(range(5, 16)).fit(X_train, y_train)
logistic = EvidenceFromClassifier(LogisticRegression()).fit(X_train, y_train)
for model in (eknn, logistic):
    print(f"{type(model).__name__:24} test error {1 - model.score(X_test, y_test):.3f}")
print(f"EK-NN uses {eknn.n_neighbors_} neighbors")

# %%
# Three flowers: a typical one, one between two species, and one that is far from the training data.
# For the last one the neighbors give hardly any evidence: the mass is on the set of all species.
# The logistic regression, which extrapolates, is sure of its species.
flowers = X.iloc[:3].copy()
flowers[:] = [[1.4, 0.2], [4.9, 1.65], [9.0, 0.1]]
flowers.index = ["typical", "between", "strange"]
print("\nmasses of the evidential K-nearest neighbor rule")
print(eknn.predict_mass(flowers).to_frame().round(3).to_string())
print("\nmasses of the logistic regression")
print(logistic.predict_mass(flowers).to_frame().round(3).to_string())

# %%
# A decision may be one class, a rejection if the expected error is too large, or a set of classes.
print("\nbest class       ", eknn.decide(flowers).tolist())
print(
    "with rejection   ",
    eknn.decide(flowers, "maximin", reject=0.2, reject_label="?").tolist(),
)
kept = eknn.decide(flowers, "partial_assignment", tolerance=0.8)
print("set of classes   ", [" or ".join(eknn.classes_[row]) for row in kept])

# %%
# Labels may be soft. Here the annotator does not know whether some flowers are versicolor or
# virginica.
rng = np.random.default_rng(0)
names = list(iris.target_names)
# Columns: setosa, versicolor, virginica, one of the last two, any.
masses = np.zeros((len(X_train), 5))
masses[np.arange(len(X_train)), [names.index(name) for name in y_train]] = 1
unsure = (y_train != "setosa") & (rng.random(len(X_train)) < 0.5)
masses[unsure] = [0, 0, 0, 0.9, 0.1]
family = FocalSets.from_sets(3, [(0,), (1,), (2,), (1, 2), (0, 1, 2)])
soft = EKNNClassifier(range(5, 16)).fit(
    X_train, MassFunctions(masses, family, frame=names)
)
print(
    f"\nwith {unsure.sum()} of {len(X_train)} labels unsure: test error {1 - soft.score(X_test, y_test):.3f}"
)

# %%
# Four panels with contour lines of the masses on setosa, versicolor, virginica and on the set of
# all species (ignorance), in the plane of petal length and petal width.
display = MassContourDisplay.from_estimator(eknn, X, grid_resolution=100)
display.figure_.savefig("evidential_classification.png", dpi=120)

# %%
# A rejection curve shows the error of the flowers that are kept when the most doubtful ones are
# rejected. Here the logistic regression gives the better order: without the most doubtful flowers,
# about 4 %, it makes no error, while EK-NN must reject more than a third of them. All test flowers
# resemble training flowers, and each classifier makes only three errors in 75. The advantage of
# EK-NN is the flower far from the training data in the table above, about which it is ignorant,
# while the logistic regression assigns it to virginica.
#
# Two curves of the error against the share of rejected flowers. That of the logistic regression
# reaches zero at about 4 %, that of EK-NN at more than a third.
_, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
rejection = RejectionCurveDisplay.from_estimator(
    {"EK-NN": eknn, "logistic regression": logistic},
    X_test,
    y_test,
    ax=ax,
    title="iris, two attributes",
)
rejection.figure_.savefig("rejection.png", dpi=120)
print(
    "mean error over all rejection rates:",
    {name: round(area, 4) for name, area in rejection.areas.items()},
)
print("\nwrote evidential_classification.png and rejection.png")
