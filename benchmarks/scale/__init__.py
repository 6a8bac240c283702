"""Time, memory and quality against the number of objects: in memory, from Parquet, on workers of Dask, on a GPU."""
