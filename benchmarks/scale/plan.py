"""List of the measurements."""

__all__ = ["LARGEST", "ON_GPU", "PLAN"]

# Kind, method, numbers of objects.
PLAN = [
    ("memory", "ECM", (10**4, 10**5, 10**6, 10**7)),
    ("memory", "EGMM", (10**4, 10**5, 10**6)),
    ("memory", "EVCLUS", (10**4, 10**5, 10**6)),
    ("memory", "MiniBatchKMeans", (10**4, 10**5, 10**6)),
    ("parquet", "ECM", (10**4, 10**5, 10**6, 10**7)),
    ("parquet", "EGMM", (10**6,)),
    ("parquet", "EVCLUS", (10**6,)),
    ("dask", "ECM", (10**5, 10**6, 10**7)),
    ("dask", "Dask-ML KMeans", (10**5, 10**6)),
    ("blocks", "ECM", (10**6, 10**7)),
    ("beside", "ECM", (10**6, 10**7)),
    ("beside", "EGMM", (10**6, 10**7)),
    ("beside", "EVCLUS", (10**6, 10**7)),
    ("gpu", "ECM", (10**6, 10**7, 10**8)),
    ("gpu", "EGMM", (10**6, 10**7)),
    ("gpu", "EVCLUS", (10**6, 10**7)),
    ("tensor", "ECM", (10**6, 10**7, 10**8)),
    ("tensor", "EGMM", (10**6, 10**7)),
    ("tensor", "EVCLUS", (10**6, 10**7, 10**8)),
]
# Kinds that need a machine with a GPU: X in memory, X as tensor on the GPU, or the processors for
# comparison.
ON_GPU = ("beside", "gpu", "tensor")
LARGEST = 10**8  # in blocks, on request
