"""
Describe a partition by a few rules
===================================

Describe a partition by a few rules, each of which predicts a cluster or a set of clusters.
"""

from dempster.cluster import EVCLUS
from dempster.datasets import load_iris
from dempster.explain import CautiousTree

flowers = load_iris(as_frame=True).data
partition = EVCLUS(3, random_state=0).fit(flowers).credal_partition_

tree = CautiousTree().fit(flowers, partition)
print(tree.export_text())

# %%
# The scores measure the agreement of the rules with the partition. Fidelity accepts partial
# agreement; the other scores are strict.
print(
    f"\nfidelity {tree.fidelity_:.2f},",
    ", ".join(f"{name} {value:.2f}" for name, value in tree.scores_.items()),
)
print("mean error with 1, 2, ... leaves:", tree.mistakes_by_leaves_.round(3))

# %%
# With a larger `caution`, more rules predict sets of clusters.
for caution in (0.0, 0.5, 0.9):
    answers = (
        CautiousTree(3, caution=caution).fit(flowers, partition).to_frame()["answer"]
    )
    print(f"caution {caution:.1f}:", "; ".join(answers))

# %%
# The rules predict mass functions of new flowers. The mass function of a leaf is the mean of those
# of its objects.
new = flowers.iloc[[0, 70, 140]]
print("\n", tree.predict_mass(new).to_frame().round(2).to_string(), sep="")

# %%
# A tree of rules on petal and sepal measurements. Each leaf shows a cluster or a set of clusters,
# and the number of its flowers.
tree.plot(title="irises in five rules").figure_.savefig(
    "rules.png", dpi=120, bbox_inches="tight"
)
print("\nwrote rules.png")
