"""The number of BLAS threads belongs to the whole process: fits borrow it and give it back."""

from threading import Barrier, Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from dempster import _blas


class Libraries:
    """In place of what threadpoolctl finds: a number of threads, and how often it was changed."""

    def __init__(self):
        self.threads, self.changes = 8, 0

    def limit(self, limits, user_api):
        assert user_api == "blas"
        return Limit(self, limits)


class Limit:
    def __init__(self, libraries, threads):
        self.libraries, self.before = libraries, libraries.threads
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


def test_inside_there_is_one_and_afterwards_as_many_as_before(libraries):
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


def test_fits_that_overlap_leave_what_the_first_has_found(libraries):
    both, one, seen = Barrier(2, timeout=60), Barrier(2, timeout=60), []

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


def test_the_libraries_of_this_process_are_found():
    np.linalg.inv(np.eye(3))

    def threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    before = threads()
    with _blas.one_blas_thread():
        assert threads() == {1}
    assert threads() == before
