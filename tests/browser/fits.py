"""Print a hash of the masses of fits of the estimators, as JSON.

The script runs with the installed package and in Pyodide; both must print the same. Masses are
rounded to nine decimals, because functions such as exp differ in the last bit. Two methods make
few iterations, because their optimization enlarges this difference. That of BootClus enlarges it to
1e-5, and NNEVCLUS needs torch; these two are omitted.
"""

import hashlib
import json
import warnings

import numpy as np

from dempster import classify, cluster
from dempster.constraints import Constraints
from dempster.datasets import make_fourclass


def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:12]


X, y = make_fourclass(120, random_state=0)
image = np.add.outer(np.arange(8.0), np.arange(8.0) > 3)[..., None]
codes = np.array([[i % 3, i % 3, (i // 40) % 2] for i in range(90)])
PAIRS = Constraints([(0, 1)], [(0, 2)], n_objects=len(X))
FITS = {
    "BeliefPeaks": lambda: cluster.BeliefPeaks().fit(X),
    "BPEC": lambda: cluster.BPEC(random_state=0).fit(X),
    "CatECM": lambda: cluster.CatECM(3, random_state=0).fit(codes),
    "CCM": lambda: cluster.CCM(4, random_state=0).fit(X),
    "CECM": lambda: cluster.CECM(4, random_state=0).fit(X, constraints=PAIRS),
    "ConformalClustering": lambda: cluster.ConformalClustering(
        cluster.ECM(4, random_state=0), random_state=0
    ).fit(X),
    "CredalClustering": lambda: cluster.CredalClustering(random_state=0).fit(X),
    "ECM": lambda: cluster.ECM(4, random_state=0).fit(X),
    "ECMdd": lambda: cluster.ECMdd(4, random_state=0).fit(X),
    "EGMM": lambda: cluster.EGMM(4, random_state=0).fit(X),
    "EKNNClus": lambda: cluster.EKNNClus(random_state=0).fit(X),
    "EVCLUS": lambda: cluster.EVCLUS(4, random_state=0).fit(X),
    "FuzzyCMeans": lambda: cluster.FuzzyCMeans(4, random_state=0).fit(X),
    "MECM": lambda: cluster.MECM(4, random_state=0).fit(X),
    "NoiseClustering": lambda: cluster.NoiseClustering(4, random_state=0).fit(X),
    "PossibilisticCMeans": lambda: cluster.PossibilisticCMeans(4, random_state=0).fit(
        X
    ),
    "RECM": lambda: cluster.RECM(4, random_state=0).fit(X),
    "RoughKMeans": lambda: cluster.RoughKMeans(4, random_state=0).fit(X),
    "SECM": lambda: cluster.SECM(2, random_state=0).fit(image),
    "WECMdd": lambda: cluster.WECMdd(4, random_state=0).fit(X),
    "WMVEC": lambda: cluster.WMVEC(4, views=[0, 1], random_state=0).fit(X),
    "EKNNClassifier": lambda: classify.EKNNClassifier().fit(X, y),
    "EvidenceFromClassifier": lambda: classify.EvidenceFromClassifier().fit(X, y),
    "EvidentialNeuralNetworkClassifier": lambda: (
        classify.EvidentialNeuralNetworkClassifier(max_iter=5, random_state=0).fit(X, y)
    ),
    "EvidentialRBFClassifier": lambda: classify.EvidentialRBFClassifier(
        max_iter=5, random_state=0
    ).fit(X, y),
    "SoftLabelClassifier": lambda: classify.SoftLabelClassifier().fit(X, y),
    "ConformalClassifier": lambda: classify.ConformalClassifier(random_state=0).fit(
        X, y
    ),
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = {}
    for name, fit in FITS.items():
        model = fit()
        if hasattr(model, "credal_partition_"):
            masses = model.credal_partition_.masses
        elif hasattr(model, "predict_mass"):
            masses = model.predict_mass(X).masses
        else:
            masses = model.belief_
        masses = np.asarray(masses, float)
        found[name] = digest(np.round(masses, 9) + 0.0)
    print(json.dumps(found))
