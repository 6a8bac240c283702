"""Displays of masses as lines, of matrices of pairs, and of constraints."""

import numpy as np
import pytest

from dempster import CredalPartition, FocalSets
from dempster.constraints import Constraints
from dempster.plot import ConstraintsDisplay, MassesDisplay, PairMatrixDisplay, pairs

FAMILY = FocalSets.full(2)
PARTITION = CredalPartition(
    [
        [0, 0.2, 0.5, 0.3],
        [0, 0.9, 0, 0.1],
        [1, 0, 0, 0],
        [0, 0, 0.7, 0.3],
        [0, 0.6, 0.4, 0],
    ],
    FAMILY,
    frame=["a", "b"],
)
X = np.array([[0.0, 0], [1, 0], [5, 5], [0, 1], [1, 1]])


def test_lines_are_the_masses():
    display = MassesDisplay.from_partition(PARTITION)
    assert display.set_names == ["∅", "{a}", "{b}", "Ω"]
    np.testing.assert_array_equal(
        [line.get_ydata() for line in display.lines_], PARTITION.masses.T
    )
    assert [line.get_linestyle() for line in display.lines_] == [":", "-", "-", "--"]
    assert [
        text.get_text() for text in display.ax_.get_legend().get_texts()
    ] == display.set_names


def test_relational_representation_is_sorted_by_cluster():
    display = PairMatrixDisplay.from_partition(PARTITION)
    # By cluster and decreasing belief; object 2 is an outlier.
    assert display.objects.tolist() == [1, 4, 3, 0, 2]
    assert display.labels == ["a", "a", "b", "b", "outliers"]
    for i, j in [(0, 1), (0, 3), (2, 4)]:
        pair = PARTITION.relational([(display.objects[i], display.objects[j])]).masses[
            0
        ]
        found = [
            display.matrices[name][i, j]
            for name in ("same", "different", "unknown", "plausibility of same")
        ]
        np.testing.assert_allclose(found, [*pair[1:], pair[1] + pair[3]])
    assert [text.get_text() for text in display.axes_[0].get_xticklabels()] == [
        "a",
        "b",
        "outliers",
    ]
    assert display.axes_[0].get_xticks().tolist() == [0.5, 2.5, 4]


def test_dissimilarities_are_sorted_by_cluster():
    D = np.abs(np.subtract.outer([3.0, 1, 4, 2], [3.0, 1, 4, 2]))
    display = PairMatrixDisplay.from_dissimilarities(
        D, ["x", "y", "x", "y"], title="distances"
    )
    np.testing.assert_array_equal(
        display.images_[0].get_array(), D[np.ix_([0, 2, 1, 3], [0, 2, 1, 3])]
    )
    assert display.images_[0].get_clim() == (0, 3)
    assert display.axes_[0].get_title() == "distances"
    with pytest.raises(ValueError, match=r"^dissimilarities must .* \(4, 4\)"):
        PairMatrixDisplay.from_dissimilarities(D[:3], ["x", "y", "x", "y"])


def test_a_part_of_many_objects(monkeypatch):
    monkeypatch.setattr(pairs, "MAX_OBJECTS", 10)
    display = PairMatrixDisplay.from_partition(np.repeat([0, 1, 2], [10, 10, 5]))
    assert display.matrices["same"].shape == (9, 9)
    assert display.labels == ["0"] * 4 + ["1"] * 3 + ["2"] * 2


def test_constraints_are_segments():
    links = Constraints([(0, 1)], [(0, 2), (3, 4)])
    display = ConstraintsDisplay.from_constraints(
        links, X, labels=["u", -1, "v", -1, -1]
    )
    np.testing.assert_array_equal(
        display.must_link_artist_.get_segments(), X[links.must_link]
    )
    np.testing.assert_array_equal(
        display.cannot_link_artist_.get_segments(), X[links.cannot_link]
    )
    assert [len(artist.get_offsets()) for artist in display.point_artists_] == [3, 1, 1]
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == [
        "must-link (1)",
        "cannot-link (2)",
    ]
    only_labels = ConstraintsDisplay.from_constraints(
        Constraints(), X, labels=[0, 1, -1, -1, 0]
    )
    assert only_labels.ax_.get_legend() is None
    with pytest.raises(ValueError, match=r"\b4\b"):
        ConstraintsDisplay.from_constraints(links, X[:4])
