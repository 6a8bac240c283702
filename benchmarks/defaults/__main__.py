"""``python -m benchmarks.defaults``: fit everything, and write the page."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import track

from benchmarks.defaults.data import DataSet, chosen_half, generated_sets, protein, public_sets

_SEEDS = 6
_PROCESSES = 2
_HERE = Path(__file__).resolve().parents[1]


@click.command()
@click.option("--page", type=click.Path(path_type=Path), default=_HERE / "DEFAULTS.md", show_default="DEFAULTS.md")
@click.option("--records", type=click.Path(path_type=Path), help="Also write all measures to this file, as JSON.")
@click.option("--from-records", type=click.Path(path_type=Path, exists=True), help="Write the page from such a file.")
@click.option("--only", multiple=True, metavar="METHOD", help="Methods to fit; repeatable. All by default.")
def main(page: Path, records: Path | None, from_records: Path | None, only: tuple[str, ...]) -> None:
    """Every method's defaults on public and generated data, beside k-means, Gaussian mixtures and HDBSCAN."""
    from benchmarks.defaults.page import write_page

    found = json.loads(from_records.read_text()) if from_records else _measured(only)
    if records is not None:
        records.parent.mkdir(parents=True, exist_ok=True)
        records.write_text(json.dumps(found) + "\n")
    write_page(found, page)
    Console(stderr=True).print(f"{page} written; fitting took {found['minutes']:.1f} minutes")


def _measured(only: tuple[str, ...]) -> dict[str, Any]:
    """Measures of every method on every set it takes, the long fits first so that no process waits at the end."""
    from benchmarks.defaults.methods import FINDERS, GIVEN_NUMBER

    sets = public_sets() + generated_sets(_SEEDS)
    methods = {name: method for name, method in (GIVEN_NUMBER | FINDERS).items() if not only or name in only}
    jobs = [(name, data) for data in sets for name, method in methods.items() if method.takes(data)]
    jobs.sort(key=lambda job: -len(job[1].X) * job[1].n_classes * (job[0] in FINDERS or 0.5))
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # read by the processes when they start
        os.environ[variable] = "1"
    began = time.perf_counter()
    with ProcessPoolExecutor(_PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        results = pool.map(_one, jobs)
        rows = list(track(results, total=len(jobs), console=Console(stderr=True), description="fitting"))
    half = chosen_half(sets)
    return {
        "minutes": (time.perf_counter() - began) / 60,
        "sets": {
            data.name: {
                "family": data.family,
                "shape": data.X.shape,
                "n_classes": data.n_classes,
                "chosen": data.name in half,
            }
            for data in sets
        },
        "protein": _protein(),
        "rows": rows,
    }


def _one(job: tuple[str, DataSet]) -> dict[str, Any]:
    from benchmarks.defaults.methods import FINDERS, GIVEN_NUMBER, run

    name, data = job
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence: what a stranger gets is measured as it is
        return {"method": name, "set": data.name, **run((GIVEN_NUMBER | FINDERS)[name], data)}


def _protein() -> float | None:
    """Adjusted Rand index of EVCLUS on the proteins, which have dissimilarities alone."""
    from sklearn.metrics import adjusted_rand_score

    from evidentia.cluster import EVCLUS

    data = protein()
    if data is None:
        return None
    model = EVCLUS(4, metric="precomputed", random_state=0).fit(data[0])
    return float(adjusted_rand_score(data[1], model.labels_))


if __name__ == "__main__":
    main()
