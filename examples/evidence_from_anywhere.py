"""Evidence from anywhere: names, votes, memberships; how far to believe it, and how to join it.

    python examples/evidence_from_anywhere.py

Three sources say which of three digits an image shows. The first only names a digit: what it says is discounted, digit
by digit, by how often it was wrong. The second counts the votes of a few trees, and its counts are the parameters of
Dirichlet distributions: many votes are much evidence, few leave ignorance. The third is a mixture of Gaussians that
never saw a label; its memberships become doubt where they are similar. ``&`` joins them.
"""

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
X, X_new, y, y_new = train_test_split(X, digits.target[which], test_size=0.6, random_state=0)
X, X_known, y, y_known = train_test_split(X, y, test_size=0.5, random_state=0)


def report(name, masses):
    """Accuracy of single answers; how often cautious answers, which are sets, hold the truth; how large they are."""
    decided = np.array(DIGITS)[masses.decide()]
    sets = masses.decide("interval_dominance")
    held = sets[np.arange(len(y_new)), np.searchsorted(DIGITS, y_new)]
    print(f"{name:34}{(decided == y_new).mean():9.3f}{held.mean():11.3f}{sets.sum(axis=1).mean():7.2f}")


print(f"{'':34}{'accuracy':>9}{'sets hold':>11}{'size':>7}")

# A source that names a digit, from two attributes. Objects that it has not seen tell how far to believe it.
nearest = KNeighborsClassifier(1).fit(X[:, [0, 2]], y)
named = MassFunctions.from_dict([{digit: 1} for digit in nearest.predict(X_new[:, [0, 2]]).tolist()], frame=DIGITS)
tried = MassFunctions.from_dict([{digit: 1} for digit in nearest.predict(X_known[:, [0, 2]]).tolist()], frame=DIGITS)
trust = ContextualDiscounting().fit(tried, y_known)
first = trust.transform(named)
report("names", named)
report("names, discounted digit by digit", first)

# Votes of eight trees, which see two other attributes, beside a uniform prior.
forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(X[:, [1, 3]], y)
counts = np.stack([tree.predict(X_new[:, [1, 3]]).astype(int) for tree in forest.estimators_])
alpha = 1 + np.stack([(counts == k).sum(axis=0) for k in range(len(DIGITS))], axis=1)
second = MassFunctions.from_dirichlet(alpha, frame=DIGITS)
report("votes", second)

# A clusterer of another library. A few labels name its clusters; it is believed by half.
mixture = GaussianMixture(3, random_state=0).fit(np.vstack([X, X_known, X_new])[:, 1:])
groups = mixture.predict(X[:, 1:])
cluster_of = [np.bincount(groups[y == digit], minlength=3).argmax() for digit in DIGITS]
partition = CredalPartition.from_soft(mixture.predict_proba(X_new[:, 1:])[:, cluster_of], frame=DIGITS)
third = partition.discount(0.5)
report("clusters, believed by half", third)

joined = first & second & third
report("all three, names as they are", (named & second & third).normalize())
report("all three, names discounted", joined.normalize())

rates = ", ".join(f"{digit}: {rate:.2f}" for digit, rate in zip(DIGITS, trust.rates_, strict=True))
print(f"\ndiscount rates of the names: {rates}")
print(f"mean conflict of the three: {joined.empty.mean():.2f}")
print("the three images they contradict each other most about:")
print(joined[np.argsort(-joined.empty)[:3]].to_frame().round(3).to_string(index=False))
