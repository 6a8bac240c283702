"""
Combine labels, votes and memberships
=====================================

Combine three sources that classify images: labels of a classifier, votes of trees, and clusters.

Three sources classify images of three digits. The first one returns a label, which is discounted by
its error rate for each digit. The second one returns the votes of a few trees, which are the
parameters of Dirichlet distributions: few votes leave ignorance. The third one is a Gaussian
mixture without labels; similar memberships become mass on several digits. The operator ``&``
combines them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from dempster import CredalPartition, MassFunctions
from dempster.classify import ContextualDiscounting

DIGITS = [3, 5, 8]

digits = load_digits()
which = np.isin(digits.target, DIGITS)
X = PCA(7, random_state=0).fit_transform(digits.data[which])
X, X_new, y, y_new = train_test_split(
    X, digits.target[which], test_size=0.6, random_state=0
)
X, X_known, y, y_known = train_test_split(X, y, test_size=0.5, random_state=0)

scores = {}


def report(name, masses):
    """Print the accuracy, the coverage of set-valued decisions, and their mean size."""
    decided = np.array(DIGITS)[masses.decide()]
    sets = masses.decide("interval_dominance")
    covered = sets[np.arange(len(y_new)), np.searchsorted(DIGITS, y_new)]
    scores[name] = (decided == y_new).mean()
    print(
        f"{name:34}{scores[name]:9.3f}{covered.mean():11.3f}{sets.sum(axis=1).mean():7.2f}"
    )


print(f"{'':34}{'accuracy':>9}{'coverage':>11}{'size':>7}")

# %%
# The first source returns a label, from two attributes. Its reliability is estimated on other
# objects.
nearest = KNeighborsClassifier(1).fit(X[:, [0, 2]], y)
named = MassFunctions.from_dict(
    [{digit: 1} for digit in nearest.predict(X_new[:, [0, 2]]).tolist()], frame=DIGITS
)
tried = MassFunctions.from_dict(
    [{digit: 1} for digit in nearest.predict(X_known[:, [0, 2]]).tolist()], frame=DIGITS
)
trust = ContextualDiscounting().fit(tried, y_known)
first = trust.transform(named)
report("labels", named)
report("labels, discounted by digit", first)

# %%
# The second source returns the votes of eight trees on two other attributes. The prior is uniform.
forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(X[:, [1, 3]], y)
counts = np.stack(
    [tree.predict(X_new[:, [1, 3]]).astype(int) for tree in forest.estimators_]
)
alpha = 1 + np.stack([(counts == k).sum(axis=0) for k in range(len(DIGITS))], axis=1)
second = MassFunctions.from_dirichlet(alpha, frame=DIGITS)
report("votes", second)

# %%
# The third source is a clusterer of another library. Labels identify its clusters; its discount
# rate is 0.5.
mixture = GaussianMixture(3, random_state=0).fit(np.vstack([X, X_known, X_new])[:, 1:])
groups = mixture.predict(X[:, 1:])
cluster_of = [np.bincount(groups[y == digit], minlength=3).argmax() for digit in DIGITS]
partition = CredalPartition.from_soft(
    mixture.predict_proba(X_new[:, 1:])[:, cluster_of], frame=DIGITS
)
third = partition.discount(0.5)
report("clusters, discounted by half", third)

# %%
# The operator `&` combines the sources.
combined = first & second & third
report("all three, labels not discounted", (named & second & third).normalize())
report("all three, labels discounted", combined.normalize())

# %%
# The mass on the empty set is the conflict between the sources.
rates = ", ".join(
    f"{digit}: {rate:.2f}" for digit, rate in zip(DIGITS, trust.rates_, strict=True)
)
print(f"\ndiscount rates of the labels: {rates}")
print(f"mean conflict: {combined.empty.mean():.2f}")
print("the three images with the largest conflict:")
print(
    combined[np.argsort(-combined.empty)[:3]].to_frame().round(3).to_string(index=False)
)

# %%
# Bars of the accuracy of each source alone and of two combinations. The combination with discounted
# labels is the best; without discounting, the labels determine the result.
_, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
ax.barh(list(scores), list(scores.values()), color=["0.7"] * 4 + ["tab:blue"] * 2)
ax.invert_yaxis()
ax.set(xlim=(0.5, 1), xlabel="accuracy")
ax.figure.savefig("combine_evidence.png", dpi=120)
print("wrote combine_evidence.png")
