"""
Follow a stream with moving clusters
====================================

Update the clusters of a stream with every block, and forget old objects, so that moving clusters are followed.
"""

import matplotlib.pyplot as plt
import numpy as np

from dempster.cluster import ECM

rng = np.random.default_rng(0)
first = np.array([[-4.0, 0.0], [4.0, 0.0], [0.0, 5.0]])
# Drift of each cluster, per block.
drift = np.array([[0.0, -0.06], [0.05, 0.05], [-0.06, 0.0]])


def block(t):
    """Return 200 objects that arrive at time t."""
    group = rng.integers(3, size=200)
    return first[group] + t * drift[group] + rng.normal(size=(200, 2))


# %%
# Call `partial_fit` for every block. With `half_life=800`, the weight of past objects halves after
# 800 new objects.
forgets = ECM(3, random_state=0)
remembers = ECM(3, random_state=0)
paths = {"half-life of 800 objects": [], "no forgetting": []}
for t in range(100):
    X = block(t)
    forgets.partial_fit(X, half_life=800)
    remembers.partial_fit(X)
    paths["half-life of 800 objects"].append(forgets.cluster_centers_)
    paths["no forgetting"].append(remembers.cluster_centers_)

# %%
# With forgetting, the centers stay close to the clusters.
end = first + 99 * drift
print(f"{forgets.n_samples_seen_:,} objects in 100 blocks")
for name, path in paths.items():
    far = np.linalg.norm(end[:, None] - path[-1], axis=2).min(axis=1)
    print(f"{name:25} largest distance of a center from its cluster: {far.max():.1f}")

# %%
# The partition refers to the last block.
print(forgets.credal_partition_.summary())

# %%
# Paths of three cluster centers in two panels. With a half-life of 800 objects they follow the true
# dotted paths to the end; without forgetting they stop about halfway.
figure, axes = plt.subplots(
    1, 2, figsize=(10, 4.6), sharex=True, sharey=True, layout="constrained"
)
for ax, (name, path) in zip(axes, paths.items(), strict=True):
    ax.scatter(*X.T, s=8, color="0.75", label="last block")
    for k in range(3):
        ax.plot(
            *np.array([first[k], end[k]]).T,
            color="0.4",
            linestyle=":",
            label="true path" if k == 0 else None,
        )
        ax.plot(*np.array(path)[:, k].T, color=f"C{k}", linewidth=2)
        ax.plot(*path[-1][k], "o", color=f"C{k}", label="center" if k == 0 else None)
    ax.set_title(name)
    ax.set_aspect("equal")
    ax.grid(alpha=0.3)
axes[0].legend(loc="lower right")
figure.savefig("follow_a_stream.png", dpi=120)
print("wrote follow_a_stream.png")
