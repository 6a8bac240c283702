"""
Fuse two sensors, one of them noisy
===================================

Fuse two sensors by Dempster's rule; one of them becomes noisy after training.

Two sources describe the same objects, one by five attributes, the other by three. An evidential
classifier is trained for each, and Dempster's rule combines their mass functions. In operation
noise is added to the first source. Its objects move away from the training data, so that its mass
functions become nearly vacuous, and the second source determines the decision. A single classifier
of all eight attributes, trained on clean data, does not detect the noise.

After the data fusion example of T. Denoeux, Evidential machine learning (lecture, 2021).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from dempster.classify import EKNNClassifier

NOISE = np.array([0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0])


def objects(n, rng):
    """Generate n objects of two classes, with attributes of two sources that are independent given the class."""
    y = rng.integers(0, 2, n)
    side = 2 * y[:, None] - 1
    first = rng.normal(size=(n, 5)) * np.where(side > 0, 1.2, 0.8) + 0.6 * side
    second = rng.normal(size=(n, 3)) + 0.65 * side
    return first, second, y


def errors_of_one_training_set(seed, n_train=60, n_test=1000):
    """Return the test error of each method at each noise level, and the mean ignorance of the first source."""
    rng = np.random.default_rng(seed)
    first, second, y = objects(n_train, rng)
    # The scale of the evidence is the mean distance within a class. Optimizing it (optimize=True)
    # on clean data would give too much weight to distant objects.
    of_first = EKNNClassifier(9, optimize=False).fit(first, y)
    of_second = EKNNClassifier(9, optimize=False).fit(second, y)
    both = np.hstack([first, second])
    joint = {
        "logistic regression of both": LogisticRegression().fit(both, y),
        "quadratic discriminant of both": QuadraticDiscriminantAnalysis().fit(both, y),
    }
    first, second, truth = objects(n_test, rng)
    disturbance = rng.normal(size=first.shape)
    m2 = of_second.predict_mass(second)
    errors = {}
    ignorance = []
    for sigma in NOISE:
        disturbed = first + sigma * disturbance
        m1 = of_first.predict_mass(disturbed)
        decisions = {
            "first source": m1.decide(),
            "second source": m2.decide(),
            "fusion by Dempster's rule": m1.combine(m2).decide(),
            **{
                name: model.predict(np.hstack([disturbed, second]))
                for name, model in joint.items()
            },
        }
        ignorance.append(m1.masses[:, -1].mean())
        for name, decided in decisions.items():
            errors.setdefault(name, []).append((decided != truth).mean())
    return errors, ignorance


# %%
# The errors are means over 20 training sets.
runs = [errors_of_one_training_set(seed) for seed in range(20)]
errors = {name: np.mean([run[0][name] for run in runs], axis=0) for name in runs[0][0]}
ignorance = np.mean([run[1] for run in runs], axis=0)
print("test error as noise is added to the first source")
print(
    f"{'standard deviation of the noise':34}"
    + "".join(f"{sigma:7.1f}" for sigma in NOISE)
)
for name, values in errors.items():
    print(f"{name:34}" + "".join(f"{value:7.3f}" for value in values))
print(
    f"{'mass of ignorance, first source':34}"
    + "".join(f"{value:7.3f}" for value in ignorance)
)

# %%
# With little noise, the logistic regression of both sources is better than the fusion. With a
# standard deviation of 2 or more the fusion is better: its error stays near that of the second
# source, because the first source becomes ignorant.
#
# Test errors against the noise on the first source. The error of the fusion stays low, while the
# errors of the first source alone and of the joint classifiers rise; a dotted line shows how the
# ignorance of the first source increases.
_, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, values in errors.items():
    ax.plot(NOISE, values, ".-", label=name, linewidth=2.5 if "fusion" in name else 1.3)
ax.plot(NOISE, ignorance, ":", color="gray", label="mass of ignorance, first source")
ax.set(
    xlabel="standard deviation of the noise on the first source",
    ylabel="test error",
    ylim=(0, None),
)
ax.legend(fontsize="small", frameon=False)
ax.figure.savefig("sensor_fusion.png", dpi=120)
print("\nwrote sensor_fusion.png")
