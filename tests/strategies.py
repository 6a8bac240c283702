"""Random mass functions and partitions for property tests."""

import numpy as np
from hypothesis import strategies as st

from dempster import CredalPartition, FocalSets, MassFunctions


def random_masses(rng, n, f):
    """Return rows on the simplex, many with zeros and some certain."""
    weights = rng.exponential(size=(n, f)) * (
        rng.random((n, f)) < rng.choice([0.3, 0.7, 1.0])
    )
    weights[np.arange(n), rng.integers(0, f, n)] += rng.random(n)
    return weights / weights.sum(axis=1, keepdims=True)


@st.composite
def families(draw, max_clusters=5, empty=None):
    c = draw(st.integers(2, max_clusters))
    kind = draw(st.sampled_from(["simple", "pairs", "full"]))
    with_empty = draw(st.booleans() if empty is None else empty)
    omega = draw(st.booleans())
    return getattr(FocalSets, kind)(c, empty=with_empty, omega=omega)


@st.composite
def mass_functions(draw, n=4, family=None, cls=MassFunctions, **keywords):
    if family is None:
        chosen = draw(families(**keywords))
    else:
        chosen = family
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return cls(random_masses(rng, n, len(chosen)), chosen)


def partitions(n=12, **keywords):
    return mass_functions(n=n, cls=CredalPartition, **keywords)
