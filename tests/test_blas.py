"""The number of BLAS threads is global to the process: fits change it and restore it."""

from threading import Barrier, Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from dempster import _blas


class Libraries:
    """Replacement for the libraries that threadpoolctl finds: a number of threads and a count of its changes."""

    def __init__(self):
        self.threads = 8
        self.changes = 0

    def limit(self, limits, user_api):
        assert user_api == "blas"
        return Limit(self, limits)


class Limit:
    def __init__(self, libraries, threads):
        self.libraries = libraries
        self.before = libraries.threads
        self._set(threads)

    def _set(self, threads):
        self.libraries.threads = threads
        self.libraries.changes += 1

    def restore_original_limits(self):
        self._set(self.before)


@pytest.fixture
def libraries(monkeypatch):
    found = Libraries()
    monkeypatch.setattr(_blas, "_libraries", lambda n_modules: found)
    return found


def test_number_of_threads_is_restored(libraries):
    with _blas.one_blas_thread():
        assert libraries.threads == 1
        with _blas.one_blas_thread():
            assert libraries.threads == 1
        assert libraries.threads == 1
    assert libraries.threads == 8
    assert libraries.changes == 2
    with pytest.raises(ValueError, match="inside"), _blas.one_blas_thread():
        raise ValueError("inside")
    assert libraries.threads == 8


def test_overlapping_fits_restore_the_first_number(libraries):
    both = Barrier(2, timeout=60)
    one = Barrier(2, timeout=60)
    seen = []

    def first():
        with _blas.one_blas_thread():
            both.wait()
        one.wait()

    def second():
        with _blas.one_blas_thread():
            both.wait()
            one.wait()
            seen.append(libraries.threads)

    fits = [Thread(target=work) for work in (first, second)]
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join()
    assert seen == [1]
    assert libraries.threads == 8


def test_libraries_of_this_process():
    np.linalg.inv(np.eye(3))

    def threads():
        return {
            library["num_threads"]
            for library in threadpool_info()
            if library["user_api"] == "blas"
        }

    before = threads()
    with _blas.one_blas_thread():
        assert threads() == {1}
    assert threads() == before
