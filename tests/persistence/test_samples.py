"""Files of every released version can be loaded and give the same predictions."""

import numpy as np
import pytest

from dempster import CredalPartition, __version__
from dempster.persistence import describe, load
from tests.persistence.samples import FOLDER, answer, write_samples

pytestmark = pytest.mark.filterwarnings("ignore")
SAMPLES = sorted(FOLDER.glob("*/*.dempster"))


def check_sample(path):
    with np.load(path.parent / "answers.npz") as answers:
        expected = answers[path.stem]
    assert describe(path)["library"] == path.parent.name
    obj = load(path)
    found = answer(obj, path.stem)
    assert found.dtype == expected.dtype
    if isinstance(obj, CredalPartition):
        np.testing.assert_array_equal(found, expected)
    elif expected.dtype.kind == "f":
        # linear algebra libraries differ
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    else:
        np.testing.assert_array_equal(found, expected)
    if hasattr(obj, "credal_partition_"):
        assert obj.credal_partition_.masses.shape[0] == len(np.ravel(obj.labels_))


@pytest.mark.parametrize(
    "path", SAMPLES, ids=lambda path: f"{path.stem} of {path.parent.name}"
)
def test_file_of_a_released_version(path):
    check_sample(path)


def test_samples_of_this_version(tmp_path):
    """`python -m tests.persistence.samples` writes them when a version is released."""
    folder = tmp_path / __version__
    write_samples(folder)
    paths = list(folder.glob("*.dempster"))
    assert len(paths) >= 25
    assert sum(path.stat().st_size for path in folder.iterdir()) < 210_000
    for path in paths:
        check_sample(path)
