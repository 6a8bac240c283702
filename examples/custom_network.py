"""
Cluster images with a custom network
====================================

Cluster images of handwritten digits, without labels, by a convolutional network of your own.

Needs torch (the extra `nn`).
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from torch import nn

from dempster import FocalSets
from dempster.cluster import NNEVCLUS

images, digit = load_digits(return_X_y=True)
chosen = np.flatnonzero(np.isin(digit, (0, 4, 6)))[:240]
images = images[chosen].reshape(-1, 1, 8, 8).astype(np.float32)
digit = digit[chosen]

# %%
# A torch module maps an image to masses. It must have one output per focal set: here the empty set,
# {0}, {1}, {2}, the three pairs and the frame.
family = FocalSets.pairs(3)
torch.manual_seed(0)
torch.set_num_threads(1)  # A small network does not benefit from more threads.
network = nn.Sequential(
    nn.Conv2d(1, 8, kernel_size=3, stride=2),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(8 * 3 * 3, len(family)),
)

# %%
# With `d0_quantile=0.99`, only the most different images are certainly in different clusters; with
# the default of 0.9 more images would be outliers. The large tolerance makes this example fast.
model = NNEVCLUS(
    3,
    focal_sets=family,
    network=network,
    d0_quantile=0.99,
    max_iter=100,
    tol=1e-2,
    random_state=0,
)
partition = model.fit(images).credal_partition_

print(partition.summary())
print(
    f"\nagreement with the digits (ARI): {adjusted_rand_score(digit, partition.labels):.2f}"
)
print(
    f"loss {model.loss_:.4f}; loss of EVCLUS, without a network: {model.evclus_.loss_:.4f}"
)

# %%
# Name each cluster by its most frequent digit.
names = [int(np.bincount(digit[partition.labels == k]).argmax()) for k in range(3)]
several = np.flatnonzero(family.cardinality > 1)
between = partition.masses[:, several].sum(axis=1)
print(
    "\nmost ambiguous images: digit, mass on several clusters, the set with the largest mass"
)
for i in np.argsort(-between)[:5]:
    heaviest = several[partition.masses[i, several].argmax()]
    print(f"{digit[i]:7d}{between[i]:8.2f}   {family.names(names)[heaviest]}")

# %%
# Rows of small images of handwritten digits: typical images of 0, 4 and 6, ambiguous images, and
# outliers, each with its mass.
rows = {f"typical {names[k]}": partition.singleton_belief[:, k] for k in range(3)}
rows |= {"ambiguous": between, "outliers": partition.empty}
figure, axes = plt.subplots(len(rows), 10, figsize=(9, 5.2), layout="constrained")
for line, (name, mass) in zip(axes, rows.items(), strict=True):
    for ax, i in zip(line, np.argsort(-mass), strict=False):
        ax.imshow(images[i, 0], cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel(f"{mass[i]:.2f}", fontsize="small")
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
figure.suptitle(
    "largest masses on each cluster, on several clusters, and on the empty set",
    fontsize="medium",
)
figure.savefig("digits.png", dpi=120)
print("\nwrote digits.png")
