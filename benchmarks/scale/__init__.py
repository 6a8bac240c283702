"""Time, memory and quality against the number of objects: in memory, from Parquet, with Dask workers, on a GPU."""
