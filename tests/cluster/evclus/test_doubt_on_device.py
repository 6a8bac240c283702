"""Contours found with torch are those of the compiled loops."""

import numpy as np
import pytest

from dempster.cluster import EVCLUS
from dempster.optimize.blocks import block_map

pytest.importorskip("torch")


@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-9), (np.float32, 2e-3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_masses_are_those_of_the_processor(dtype, atol, weighted):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(3 * k, 1, (120, 2)) for k in range(3)]).astype(dtype)
    weights = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    model = EVCLUS(3, random_state=0).fit(X, sample_weight=weights)._model
    new = np.concatenate([rng.uniform(-6, 14, (300, 2)).astype(dtype), X[:5]])
    here = model._masses_from_device(new, model.references.astype(np.dtype(dtype)))
    with block_map(1) as apply:
        np.testing.assert_allclose(here, model.masses(new, apply), atol=atol)
