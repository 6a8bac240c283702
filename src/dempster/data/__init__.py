"""Access to training rows in memory, on a device, or in blocks from files, iterators and Dask."""
