"""Example table: names of rows, three groups in three numeric columns, and a category."""

import numpy as np
import pandas as pd

__all__ = ["flowers"]


def flowers(n=60, seed=0):
    rng = np.random.default_rng(seed)
    centers = np.array([[0, 0, 0], [8, 0, 0], [0, 8, 0]])
    values = centers[np.arange(n) % 3] + rng.normal(size=(n, 3))
    table = pd.DataFrame(
        values * [1, 100, 1], columns=["length, cm", "width", "depth"]
    ).round(6)
    table["color"] = np.array(["red", "blue", "white"])[np.arange(n) % 3]
    table.insert(0, "name", [f"f{i:03}" for i in range(n)])
    return table
