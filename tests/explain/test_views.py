"""Explanations, profiles and measures of several tables."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.spatial.distance import cdist
from sklearn.pipeline import make_pipeline

from dempster import CredalPartition
from dempster._errors import InvalidInputError
from dempster.cluster import ECM, EVCLUS, WMVEC
from dempster.explain import (
    CautiousTree,
    credal_silhouette,
    explain_object,
    profile,
    quality,
    stability,
)

rng = np.random.default_rng(0)
KIND = np.arange(60) % 3
SHAPE = 4.0 * np.column_stack([KIND == 0, KIND == 1]) + rng.normal(size=(60, 2))
COLOR = 1000 + 300 * (2.0 * np.outer(KIND, [1, -1, 0.5]) + rng.normal(size=(60, 3)))
LIST = [SHAPE, COLOR]
DICT = {"shape": SHAPE, "color": COLOR}
WHOLE = np.hstack(LIST)
OBJECTS = [f"object {i}" for i in range(60)]
FRAMES = {
    "shape": pd.DataFrame(SHAPE, columns=["length", "width"], index=OBJECTS),
    # in another order
    "color": pd.DataFrame(COLOR, columns=["red", "green", "blue"], index=OBJECTS).iloc[
        ::-1
    ],
}
NAMES = (
    "shape: attribute 1",
    "shape: attribute 2",
    *(f"color: attribute {d}" for d in range(1, 4)),
)


def make(**settings):
    return WMVEC(3, n_init=2, random_state=0, **settings)


@pytest.fixture(scope="module")
def model():
    return make().fit(DICT)


def loop_squares(model, X, i, cluster):
    """Return the weighted squared distance to a center by attribute."""
    out = np.zeros(X.shape[1])
    for d, v in enumerate(model.view_of_feature_):
        own = X[:, model.view_of_feature_ == v]
        dispersion = sum(((row - own.mean(axis=0)) ** 2).sum() for row in own) / len(
            own
        )
        gap = X[i, d] - model.cluster_centers_[cluster, d]
        out[d] = model.view_weights_[v] * gap**2 / dispersion
    return out


# ---- explain_object ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "views"),
    [
        (LIST, None),
        (DICT, None),
        (WHOLE, None),
        (WHOLE, "attributes"),
        (WHOLE, ["a", "b", "a", "b", "b"]),
    ],
    ids=["list", "dict", "table", "attributes", "columns"],
)
def test_squared_distances_agree_with_loops(X, views):
    fitted = make(views=views).fit(X)
    why = explain_object(fitted, X, 7, clusters=[0, 1, 2], changes=False)
    assert why.by == "attributes"
    for k, cluster in enumerate(why.clusters):
        squares = loop_squares(fitted, WHOLE, 7, cluster)
        np.testing.assert_allclose(why.parts[:, k], -squares)
        assert why.evidence[k] == pytest.approx(-squares.sum())
    np.testing.assert_allclose(why.base, 0, atol=1e-12)
    np.testing.assert_array_equal(
        why.masses.masses, fitted.credal_partition_.masses[[7]]
    )


def test_attribute_names(model):
    assert explain_object(model, DICT, 3, changes=False).attributes == NAMES
    turned = {"color": COLOR, "shape": SHAPE}
    np.testing.assert_array_equal(
        explain_object(model, turned, 3, changes=False).parts,
        explain_object(model, DICT, 3, changes=False).parts,
    )
    assert explain_object(model, turned, 3, changes=False).attributes == NAMES
    plain = make().fit(LIST)
    assert (
        explain_object(plain, LIST, 3, changes=False).attributes[0]
        == "view 0: attribute 1"
    )
    tables = [
        pl.DataFrame(SHAPE, schema=["length", "width"]),
        FRAMES["color"][::-1].reset_index(drop=True),
    ]
    named = explain_object(make().fit(tables), tables, 3, changes=False)
    assert named.attributes == ("length", "width", "red", "green", "blue")
    own = explain_object(model, DICT, 3, feature_names=list("abcde"), changes=False)
    assert own.attributes == tuple("abcde")


def test_objects_by_name(model):
    fitted = make().fit(FRAMES)
    why, plain = (
        explain_object(m, X, i)
        for m, X, i in ((fitted, FRAMES, "object 7"), (model, DICT, 7))
    )
    assert why.name == "object 7"
    assert why.attributes[-1] == "color: blue"
    np.testing.assert_allclose(why.contributions, plain.contributions)
    assert why.values == pytest.approx(plain.values)
    assert [e.position for e in why.exemplars] == [e.position for e in plain.exemplars]


def test_exemplars_are_nearest_by_the_metric_of_the_method(model):
    why = explain_object(model, DICT, 7, clusters=[0, 1, 2], changes=False)
    unit = [
        np.sqrt(((table - table.mean(axis=0)) ** 2).sum(axis=1).mean())
        for table in LIST
    ]
    for near in why.exemplars:
        apart = [
            w * ((T[7] - T[near.position]) ** 2).sum() / u**2
            for w, T, u in zip(model.view_weights_, LIST, unit, strict=True)
        ]
        assert near.distance == pytest.approx(np.sqrt(sum(apart)))
        certain = [j for j in model.credal_partition_.lower(near.cluster) if j != 7]
        every = [
            sum(
                w * ((T[7] - T[j]) ** 2).sum() / u**2
                for w, T, u in zip(model.view_weights_, LIST, unit, strict=True)
            )
            for j in certain
        ]
        assert certain[int(np.argmin(every))] == near.position


@pytest.mark.parametrize(
    "new",
    [
        WHOLE[7],
        dict(zip(NAMES, WHOLE[7], strict=True)),
    ],
    ids=["one row", "by attribute"],
)
def test_new_objects(model, new):
    why = explain_object(model, DICT, new, changes=False)
    plain = explain_object(model, DICT, 7, changes=False)
    assert why.name is None
    np.testing.assert_allclose(why.contributions, plain.contributions)
    np.testing.assert_allclose(why.masses.masses, plain.masses.masses)


@pytest.mark.parametrize("X", [LIST, FRAMES], ids=["arrays", "frames"])
def test_changes_make_the_object_certain(X):
    fitted = make().fit(X)
    if len(fitted.credal_partition_.ambiguous):
        i = int(fitted.credal_partition_.ambiguous[0])
    else:
        i = 0
    why = explain_object(fitted, X, OBJECTS[i] if X is FRAMES else i)
    assert why.changes
    for change in why.changes:
        row = WHOLE[i].copy()
        for name, after in zip(change.attributes, change.after, strict=True):
            row[why.attributes.index(name)] = after
        again = explain_object(fitted, X, row, changes=False).masses
        assert again.lower(change.cluster).tolist() == [0]


def test_partition(model):
    partition = model.credal_partition_
    why = explain_object(partition, DICT, 7)
    assert why.attributes == NAMES
    np.testing.assert_allclose(why.parts, explain_object(partition, WHOLE, 7).parts)


# ---- joined views --------------------------------------------------------------------------------


@pytest.mark.parametrize("X", [LIST, DICT, FRAMES], ids=["list", "dict", "frames"])
def test_profiles_and_trees_of_views(X):
    fitted = make().fit(X)
    views = profile(fitted, X)
    assert len(views.features) == 5
    assert views.attributes["clustered"].all()
    plain = profile(
        CredalPartition(fitted.credal_partition_.masses, fitted.focal_sets_), WHOLE
    )
    for name, values in plain.statistics.items():
        np.testing.assert_allclose(views.statistics[name], values)
    tree = CautiousTree(max_leaves=3).fit(X, fitted)
    again = CautiousTree(max_leaves=3).fit(
        WHOLE, CredalPartition(fitted.credal_partition_.masses, fitted.focal_sets_)
    )
    assert tree.fidelity_ == again.fidelity_
    np.testing.assert_array_equal(tree.predict(X), again.predict(WHOLE))
    np.testing.assert_allclose(
        tree.predict_mass(X).masses, again.predict_mass(WHOLE).masses
    )


@pytest.mark.parametrize(
    "X",
    [LIST, DICT, FRAMES, [SHAPE.tolist(), COLOR.tolist()]],
    ids=["list", "dict", "frames", "lists"],
)
def test_silhouettes_and_quality_of_views(model, X):
    partition = model.credal_partition_
    whole = credal_silhouette(partition, WHOLE)
    np.testing.assert_allclose(credal_silhouette(partition, X).values, whole.values)
    views = quality(partition, X, KIND, random_state=0)
    plain = quality(partition, WHOLE, KIND, random_state=0)
    assert views.to_frame().equals(plain.to_frame())


def test_stability_samples_every_view():
    plain = stability(make(), LIST, 4, random_state=0)
    assert plain.clusters.min() > 0.8
    for X in (DICT, FRAMES):
        np.testing.assert_array_equal(
            stability(make(), X, 4, random_state=0).jaccard, plain.jaccard
        )
    assert (
        stability(make(), FRAMES, 2, random_state=0).partition.index.tolist() == OBJECTS
    )
    inside = stability(make_pipeline(make()), LIST, 4, random_state=0)
    np.testing.assert_array_equal(inside.jaccard, plain.jaccard)


# ---- errors --------------------------------------------------------------------------------------


def test_dissimilarities_instead_of_attributes():
    D = cdist(SHAPE, SHAPE)
    fitted = EVCLUS(3, metric="precomputed", random_state=0).fit(D)
    with pytest.raises(InvalidInputError, match="^X must"):
        profile(fitted, D)
    with pytest.raises(InvalidInputError, match="^X must"):
        CautiousTree().fit(D, fitted)
    assert len(profile(fitted, LIST).features) == 5


@pytest.mark.parametrize(
    "X",
    [
        [SHAPE, COLOR[:50]],
        {"a": SHAPE, "b": COLOR[:, 0]},
        {"a": SHAPE, "b": COLOR[:, :0]},
        [SHAPE, [[1.0, 2.0], [3.0]]],
        {},
        [FRAMES["shape"], FRAMES["color"].rename(index={"object 3": "unknown"})],
    ],
    ids=[
        "lengths",
        "vector",
        "no columns",
        "ragged",
        "empty",
        "other objects",
    ],
)
def test_invalid_views(model, X):
    partition = model.credal_partition_
    for call in (
        lambda: profile(partition, X),
        lambda: CautiousTree().fit(X, partition),
        lambda: credal_silhouette(partition, X),
        lambda: quality(partition, X),
        lambda: explain_object(partition, X, 3),
        lambda: explain_object(model, X, 3),
        lambda: stability(make(), X, 2),
    ):
        with pytest.raises(InvalidInputError, match=r"\bX\b"):
            call()


def test_invalid_objects_and_matrices(model):
    for X in (WHOLE, np.stack([SHAPE, SHAPE], axis=1)):
        with pytest.raises(InvalidInputError, match="^X must"):
            explain_object(model, X, 3)
    matrices = [cdist(table, table) for table in LIST]
    partition = model.credal_partition_
    for X in (matrices, dict(enumerate(matrices))):
        with pytest.raises(InvalidInputError, match="^X "):
            credal_silhouette(partition, X, metric="precomputed")
        with pytest.raises(InvalidInputError, match="^X "):
            explain_object(partition, X, 3, metric="precomputed")


def test_missing_values():
    holes = COLOR.copy()
    holes[3, 1] = np.nan
    partition = ECM(3, random_state=0).fit(SHAPE).credal_partition_
    assert profile(partition, [SHAPE, holes]).attributes["missing"].tolist() == [
        0,
        0,
        0,
        1,
        0,
    ]
    assert explain_object(partition, [SHAPE, holes], 3).parts[3].tolist() == [0, 0]
    with pytest.raises(ValueError, match="NaN"):
        credal_silhouette(partition, [SHAPE, holes])
    mixed = pd.DataFrame(
        {"hue": np.array(["red", "green", "blue"])[KIND], "size": SHAPE[:, 0]}
    )
    text = explain_object(partition, {"shape": SHAPE, "seen": mixed}, 3)
    assert text.attributes[2:] == ("seen: hue", "seen: size")
    assert (
        credal_silhouette(
            partition, {"shape": SHAPE, "seen": mixed}, metric="gower"
        ).mean
        > 0.5
    )
