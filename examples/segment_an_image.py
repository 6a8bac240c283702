"""
Segment images and mark ambiguous boundaries
============================================

Segment a noisy scan and a photograph by evidential clustering of pixels with their neighbors (SECM).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import ECM, SECM

# %%
# A simulated noisy image of an organ with two lesions, with known truth.
row, column = np.mgrid[-1:1:90j, -1:1:120j]
truth = np.zeros(row.shape, dtype=int)
truth[row**2 / 0.7 + column**2 / 0.8 < 1] = 1
truth[(row + 0.2) ** 2 + (column + 0.3) ** 2 < 0.08] = 2
truth[(row - 0.2) ** 2 + (column - 0.35) ** 2 < 0.1] = 3
scan = truth + np.random.default_rng(0).normal(scale=0.35, size=truth.shape)

# %%
# The gray levels of the regions lie on a line, so single regions and the frame are sufficient as
# focal sets.
settings = {"focal_sets": "simple", "beta": 1.5, "n_init": 3, "random_state": 0}
alone = ECM(4, **settings).fit(scan.reshape(-1, 1))
together = SECM(4, **settings).fit(scan)
print("noisy phantom, agreement with the truth (adjusted Rand index)")
print(
    f"    ECM, pixel by pixel     {adjusted_rand_score(truth.ravel(), alone.labels_):.2f}"
)
print(
    f"    SECM, with neighbors    {adjusted_rand_score(truth.ravel(), together.labels_.ravel()):.2f}"
)

# %%
# A photograph, every fourth pixel: three channels, four regions, and pairs of regions.
photograph = load_sample_image("china.jpg")[::4, ::4] / 255
model = SECM(4, radius=2, n_init=3, random_state=0).fit(photograph)
partition = model.credal_partition_
undecided = np.zeros(len(partition), dtype=bool)
undecided[partition.ambiguous] = True
undecided = undecided.reshape(model.image_shape_)

# %%
# Print the regions, and the share of pixels whose largest mass is on a pair of regions.
print(f"\nphotograph of {' x '.join(map(str, model.image_shape_))} pixels")
for k, color in enumerate(model.cluster_centers_):
    share = np.mean(model.labels_ == k)
    red, green, blue = (255 * color).round().astype(int)
    print(
        f"    region {k}: {share:4.0%} of the pixels, mean color ({red}, {green}, {blue})"
    )
print(f"    between regions: {undecided.mean():.0%}")

# %%
# Six images. Top: a noisy scan; its segmentation by ECM, with many wrong single pixels; its
# segmentation by SECM, with four homogeneous regions. Bottom: a photograph of a Chinese palace; its
# regions; the boundaries between regions in white.
figure, axes = plt.subplots(2, 3, figsize=(11, 6.5), layout="constrained")
for ax, (title, picture) in zip(
    axes.flat,
    [
        ("noisy phantom", scan),
        ("ECM", alone.cluster_centers_[alone.labels_, 0].reshape(truth.shape)),
        ("SECM", together.cluster_centers_[together.labels_, 0]),
        ("photograph", photograph),
        (
            "regions, in their mean color",
            model.cluster_centers_[model.labels_].clip(0, 1),
        ),
        ("white: between regions", np.where(undecided[..., None], 1, 0.6 * photograph)),
    ],
    strict=True,
):
    ax.imshow(picture, cmap="gray")
    ax.set_title(title)
    ax.axis("off")
figure.savefig("segments.png", dpi=120)
print("\nwrote segments.png")
