"""Sample files of released versions, which every later version must load with the same predictions.

``python -m tests.persistence.samples`` writes the files of the present version when it is released.
The folders of earlier versions never change.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dempster import FocalSets, MassFunctions, __version__
from dempster.classify import (
    EKNNClassifier,
    EvidentialNeuralNetworkClassifier,
    EvidentialRBFClassifier,
)
from dempster.cluster import (
    CCM,
    CECM,
    ECM,
    EGMM,
    EVCLUS,
    MECM,
    NNEVCLUS,
    RECM,
    SECM,
    BeliefPeaks,
    BootClus,
    CatECM,
    ECMdd,
    EKNNClus,
    WECMdd,
)
from dempster.constraints import Constraints
from dempster.metric import KPCCA, LFDA, PCCA
from dempster.mixture import ParsimoniousGaussianMixture
from dempster.persistence import save

__all__ = ["FOLDER", "answer", "select_data", "write_samples"]

FOLDER = Path(__file__).parent / "samples"
N = 10

# The data come from formulas, so that they do not depend on any library.
POINTS = np.column_stack(
    [np.arange(N) % 5 * 0.25 + 6.0 * (np.arange(N) >= 5), np.arange(N) * 5 % 7 * 0.25]
)
TABLE = pd.DataFrame(
    POINTS, columns=["length", "width"], index=[f"object {i}" for i in range(N)]
)
MIXED = TABLE.assign(color=["red", "green"] * 5)
CATEGORIES = pd.DataFrame(
    {"size": ["small"] * 5 + ["large"] * 5, "color": ["red", "green"] * 5}
)
IMAGE = np.kron([[0.0, 4.0]], np.ones((3, 3))) + np.arange(18).reshape(3, 6) % 4 * 0.1
CLASSES = np.array(["one", "two"])[(np.arange(N) >= 5).astype(int)]
LINKS = Constraints([(0, 1)], [(0, 9)], n_objects=N)
DATA = {"CatECM": CATEGORIES, "SECM": IMAGE, "EVCLUS of a mixed table": MIXED}


def select_data(name: str) -> Any:
    return DATA.get(name, TABLE)


def answer(obj: Any, name: str) -> np.ndarray:
    """Return the numbers in an object, or its predictions."""
    if isinstance(obj, MassFunctions):
        return obj.masses
    if isinstance(obj, FocalSets):
        return obj.membership
    if isinstance(obj, Constraints):
        return np.vstack([obj.must_link, obj.cannot_link])
    for method in ("predict_mass", "predict_proba", "transform", "predict"):
        if hasattr(obj, method):
            result = getattr(obj, method)(select_data(name))
            if isinstance(result, MassFunctions):
                return result.masses
            return np.asarray(result)
    raise TypeError(f"{name}: {type(obj).__name__} has no predictions")


def _objects() -> dict[str, Any]:
    quick: dict[str, Any] = {"n_init": 1, "random_state": 0}
    plain = [
        kind(2, **quick) for kind in (ECM, CCM, ECMdd, EVCLUS, MECM, RECM, WECMdd, EGMM)
    ]
    models = {type(model).__name__: model.fit(TABLE) for model in plain}
    models |= {
        "BeliefPeaks": BeliefPeaks(2).fit(TABLE),
        "BootClus": BootClus(2, mixture="EII", n_bootstraps=5, random_state=0).fit(
            TABLE
        ),
        "CECM": CECM(2, **quick).fit(TABLE, constraints=LINKS),
        "CatECM": CatECM(2, **quick).fit(CATEGORIES),
        "ECM of pairs, adaptive": ECM(
            3, focal_sets="pairs", metric="adaptive", **quick
        ).fit(TABLE),
        "EKNNClus": EKNNClus(n_neighbors=3, random_state=0).fit(TABLE),
        "EVCLUS of a mixed table": EVCLUS(2, metric="gower", **quick).fit(MIXED),
        "NNEVCLUS": NNEVCLUS(2, network=3, max_iter=5, tol=0.0, random_state=0).fit(
            TABLE
        ),
        "SECM": SECM(2, **quick).fit(IMAGE),
        "EKNNClassifier": EKNNClassifier(3).fit(TABLE, CLASSES),
        "EvidentialNeuralNetworkClassifier": EvidentialNeuralNetworkClassifier(
            2, **quick
        ).fit(TABLE, CLASSES),
        "EvidentialRBFClassifier": EvidentialRBFClassifier(2, **quick).fit(
            TABLE, CLASSES
        ),
        "ParsimoniousGaussianMixture": ParsimoniousGaussianMixture(
            2, model="VII", random_state=0
        ).fit(TABLE),
        **{kind.__name__: kind(1).fit(TABLE, CLASSES) for kind in (PCCA, KPCCA, LFDA)},
    }
    values = {
        "CredalPartition": models["ECM"].credal_partition_,
        "FocalSets": FocalSets.pairs(4),
        "Constraints": LINKS,
    }
    values["MassFunctions"] = MassFunctions.from_dict(
        [{"a": 1}, {"ab": 0.25, "c": 0.75}], frame="abc", index=["x", "y"]
    )
    return {**models, **values}


def write_samples(folder: Path) -> None:
    """Write a file for each object, and their answers, to a new folder."""
    folder.mkdir(parents=True)
    objects = _objects()
    for name, obj in objects.items():
        save(obj, folder / f"{name}.dempster")
    np.savez_compressed(
        folder / "answers.npz",
        **{name: answer(obj, name) for name, obj in objects.items()},
    )


if __name__ == "__main__":
    write_samples(FOLDER / __version__)
