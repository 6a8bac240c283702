"""``dempster explain``: why an object, what a cluster is, what tells two clusters apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dempster.apps.cli.shared.errors import Command, UserError, WrongUse
from dempster.apps.cli.shared.inputs import Subject, find_object, find_rows, read_rows, read_subject
from dempster.apps.cli.shared.options import plot_option, reading_options, screen_options
from dempster.apps.cli.shared.output import Screen, check_extension, check_outputs, draw_display, write_files
from dempster.apps.cli.shared.param_types import PATH

if TYPE_CHECKING:
    import pandas as pd


@click.command(cls=Command, short_help="Why an object, a cluster or a pair of clusters.")
@click.argument("subject", type=PATH)
@click.argument("table", type=PATH)
@click.option("--object", "name", metavar="NAME", help="Why this object (name or number of the row) is where it is.")
@click.option("--cluster", metavar="K", help="What this cluster is.")
@click.option("--pair", metavar="K,L", help="What tells two clusters apart.")
@plot_option()
@reading_options
@screen_options
def explain(subject: Path, table: Path, screen: Screen, **options: Any) -> None:
    """Explain a partition, or the model that made it, by the columns of its TABLE.

    SUBJECT is a partition or, better, a model of "dempster cluster --save-model": then reasons are those of the
    method. Without --object, --cluster or --pair all clusters are described in a few words.

    \b
    dempster explain flowers.dempster flowers.csv --object 70
    dempster explain flowers.partition.csv flowers.csv --cluster 2
    dempster explain flowers.partition.csv flowers.csv --pair 0,2
    """
    asked = [name for name in ("name", "cluster", "pair") if options[name] is not None]
    if len(asked) > 1:
        raise WrongUse("give one of --object, --cluster and --pair")
    check_extension("--plot", options["plot"])
    outputs = [options["plot"]] if options["plot"] is not None else []
    check_outputs(outputs, [subject, table])
    found = read_subject(subject)
    if found.partition is None:
        raise UserError(f"{subject} holds a classifier; dempster explain is for clusters")
    with screen.working(f"reading {table.name}"):
        rows = find_rows(read_rows(table, options, found.recipe), found.partition, table)
        explained = _Explained(found, rows)
        text, document, draw = getattr(explained, {"name": "object"}.get(asked[0], asked[0]) if asked else "all")(
            options[asked[0]] if asked else ""
        )
        write_files({path: lambda path: draw_display(draw, path, (7.5, 4.5)) for path in outputs})
    screen.result(text)
    screen.wrote(outputs)
    screen.document("explain", **document, files=[str(path) for path in outputs])


class _Explained:
    """The three things that can be explained; each gives words, a document and a picture."""

    def __init__(self, subject: Subject, rows: pd.DataFrame):
        assert subject.partition is not None
        self.partition, self.model, self.rows = subject.partition, subject.model, rows

    def object(self, name: str) -> tuple[str, dict[str, Any], Any]:
        from dempster.apps.recipe import choose_attributes
        from dempster.apps.recipe.model import Units
        from dempster.explain import explain_object

        place = find_object(self.partition, name)
        if self.model is not None and self.model.preparation is not None:
            values: Any = self.model.prepared(self.rows)
            found = explain_object(self.model.estimator, values, place)
            found = Units.of(self.model.preparation).of_explanation(found)
        else:
            values = choose_attributes(self.rows, missing="partial").table
            found = explain_object(self.partition, values, place)
        text = found.to_text()
        mass = self.partition[place : place + 1]
        said = {name: float(value) for name, value in zip(_set_names(mass), mass.masses[0], strict=True) if value > 0}
        document: dict[str, Any] = {"object": name, "text": text, "masses": said}
        document["contributions"] = found.to_frame().reset_index().to_dict("records")
        return text, document, lambda ax: found.plot(ax=ax)

    def cluster(self, name: str) -> tuple[str, dict[str, Any], Any]:
        found = self._profile()
        cluster = self._cluster_named(name)
        part = f"cluster {cluster}"
        text = _part_of(found.to_text(), part)
        frame = found.to_frame()
        row = frame.loc[part].to_dict() if part in frame.index else {}
        return text, {"cluster": cluster, "text": text, "profile": row}, lambda ax: found.plot(axes=ax)

    def pair(self, names: str) -> tuple[str, dict[str, Any], Any]:
        parts = [part.strip() for part in names.split(",")]
        if len(parts) != 2:
            raise WrongUse(f"--pair must name two clusters, as 0,2, got '{names}'")
        first, second = map(self._cluster_named, parts)
        found = self._profile()
        apart = found.discriminating_features(first, second)
        lines = [f"  {row.rule} ({_how_well(row.separation)})" for row in apart.itertuples()]
        text = "\n".join([f"What tells cluster {first} from cluster {second}, the best first:", *lines])
        document = {"pair": [first, second], "discriminating_features": apart.to_dict("records")}
        return text, document, lambda ax: found.plot(axes=ax)

    def all(self, _: str) -> tuple[str, dict[str, Any], Any]:
        found = self._profile()
        document = {"text": found.to_text(), "profile": found.to_frame().reset_index().to_dict("records")}
        return found.to_text(), document, lambda ax: found.plot(axes=ax)

    def _profile(self) -> Any:
        from dempster.explain import profile

        clustered = None
        if self.model is not None and self.model.preparation is not None:
            clustered = self.model.preparation.columns
            self.model.preparation.check_columns(self.rows)
        return profile(self.partition, self.rows, clustered=clustered)

    def _cluster_named(self, name: str) -> Any:
        for cluster in self.partition.frame:
            if str(cluster) == name:
                return cluster
        raise UserError(f"there is no cluster '{name}'; there are {', '.join(map(str, self.partition.frame))}")


def _how_well(separation: float) -> str:
    """How far a rule separates two clusters, in words."""
    return "separates them" if separation > 0.995 else f"separates {separation:.0%} of them"


def _set_names(partition: Any) -> list[str]:
    return partition.focal_sets.names(partition.frame)


def _part_of(text: str, head: str) -> str:
    """The paragraph, or the lines, of a text that are about one group."""
    paragraphs = [part for part in text.split("\n\n") if part.startswith(head)]
    lines = [line for line in text.splitlines() if line.startswith(head)]
    return "\n\n".join(paragraphs or lines) or text
