"""
Cluster several views of the same objects
=========================================

Cluster objects measured by three instruments, one of which is defective.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import ECM, WMVEC
from dempster.explain import CautiousTree, doubt_scores, explain_object
from dempster.plot import CredalPartitionDisplay

# %%
# Four kinds of objects. One instrument separates the first two from the last two, another one
# separates odd from even kinds, in other units, and the third one measures only noise.
rng = np.random.default_rng(0)
kind = np.arange(400) % 4
views = {
    "length and width": np.column_stack([4.0 * (kind // 2), 2.0 * (kind // 2)])
    + rng.normal(size=(400, 2)),
    "spectrum": 1000
    + 300 * (np.outer(kind % 2, [2, -2, 1.5, 1]) + rng.normal(size=(400, 4))),
    "broken": rng.normal(size=(400, 3)),
}
model = WMVEC(4, random_state=0).fit(views)
partition = model.credal_partition_
print(partition.summary())

# %%
# The weight of each view depends on its dispersion within clusters, compared with that of data
# without clusters.
print("\nview              weight  dispersion within    without clusters")
for name, weight, left, shapeless in zip(
    model.view_names_,
    model.view_weights_,
    model.view_dispersion_,
    model.shapeless_dispersion_,
    strict=True,
):
    print(f"{name:16s}  {weight:6.2f}  {left:20.2f}  {shapeless:18.2f}")

# %%
# No single view separates the four kinds. In one table the view with the largest units dominates.
print(
    f"\nagreement with the kinds: {adjusted_rand_score(kind, model.labels_):.2f} with all views"
)
tables = {**views, "all in one table": np.hstack(list(views.values()))}
for name, table in tables.items():
    found = ECM(4, random_state=0).fit(table).labels_
    print(f"{adjusted_rand_score(kind, found):26.2f} of ECM with {name}")

# %%
# New objects have the same views; one of the two is far from the training data.
new = {name: table[:2].copy() for name, table in views.items()}
new["spectrum"][1] += 9000
print(
    "\noutliers among a typical object and a distant one:",
    model.predict_mass(new).outliers,
)

# %%
# Explanations and rules accept the same views.
doubtful = int(
    np.where(doubt_scores(partition) > 1, -1, doubt_scores(partition)).argmax()
)
print(f"\n{explain_object(model, views, doubtful).to_text()}")
rules = CautiousTree(max_leaves=4).fit(views, model)
print(f"\n{rules.export_text()}")

# %%
# The plane shows one attribute of each informative view.
#
# Left, four groups of objects with hulls in the plane of one attribute of each of two views. Right,
# bars of the weights of the three views; that of the broken instrument is the smallest.
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), width_ratios=[3, 2])
shown = pd.DataFrame(
    {
        "length": views["length and width"][:, 0],
        "first line of the spectrum": views["spectrum"][:, 0],
    }
)
CredalPartitionDisplay.from_partition(partition, shown, ax=left)
right.barh(model.view_names_, model.view_weights_, height=0.5, color="0.6")
right.invert_yaxis()
right.spines[["top", "right"]].set_visible(False)
right.set_xlabel("weight")
right.set_title("how much each view counts")
figure.tight_layout()
figure.savefig("several_views.png", dpi=120, bbox_inches="tight")
print("\nwrote several_views.png")
