"""The page for users of R lists every function of the three packages once, and only existing names of ours."""

import importlib
import re
from pathlib import Path

import pytest

import dempster

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming_from_r.md"
IBELIEF = """ConflictTable DST LCPrincple PCR6 RandomMass beltob beltom beltopl beltoq btobel btom btopl btoq btov
    decisionDST discounting mtob mtobel mtobetp mtocontour mtonm mtopl mtoq mtov mtow pltob pltobel pltom pltoq qtom
    qtow vtob vtom wtom wtoq"""
EVCLASS = """EkNNinit EkNNfit EkNNval proDSinit proDSfit proDSval RBFinit RBFfit RBFval calcAB calcm decision glass
    ionosphere vehicles"""
EVCLUST = """bananas bootclus bpec butterfly cecm createD createPairs create_fuzzy_credpart create_hard_credpart
    create_MLCL credal_RI delta_Bel ecm EkNNclus expandlink extractMass fourclass harris kcevclus kevclus knn_dist kpcca
    makeF nnevclus nnevclus_mb nonspecificity normalize.credpart pairwise_mass pcca plot.credpart predict.credpart
    protein recm s2 summary.credpart"""


def rows():
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            yield re.findall(r"`([^`]+)`", cells[0]), re.findall(r"`([^`]+)`", cells[1])


def test_every_function_of_r_is_listed_once():
    found = [name for theirs, _ in rows() for name in theirs]
    assert sorted(found) == sorted(
        [*EVCLUST.split(), *EVCLASS.split(), *IBELIEF.split()]
    )


@pytest.mark.parametrize("name", sorted({name for _, ours in rows() for name in ours}))
def test_listed_names_exist(name):
    first, *rest = name.split(".")
    if first[0].isupper():
        thing = getattr(dempster, first)
    else:
        thing = importlib.import_module(f"dempster.{first}")
    for part in rest:
        if not hasattr(thing, part):
            thing = importlib.import_module(f"{thing.__name__}.{part}")
        else:
            thing = getattr(thing, part)
    assert thing is not None
