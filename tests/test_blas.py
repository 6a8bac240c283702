"""The number of BLAS threads belongs to the whole process: fits borrow it and give it back."""

from threading import Barrier, Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from evidentia._blas import one_blas_thread


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads():
    np.linalg.inv(np.eye(3))
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has one thread only")
        yield


def test_inside_there_is_one_and_afterwards_as_many_as_before():
    with one_blas_thread():
        assert blas_threads() == {1}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}
    with pytest.raises(ValueError, match="inside"), one_blas_thread():
        raise ValueError("inside")
    assert blas_threads() == {2}


def test_fits_that_overlap_leave_what_the_first_has_found():
    began, ended = Barrier(2, timeout=60), Barrier(2, timeout=60)

    def first():
        with one_blas_thread():
            began.wait()
        ended.wait()  # the second is still inside

    def second():
        with one_blas_thread():
            began.wait()
            ended.wait()
            assert blas_threads() == {1}

    fits = [Thread(target=work) for work in (first, second)]
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join()
    assert blas_threads() == {2}
