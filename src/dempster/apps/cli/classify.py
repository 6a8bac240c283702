"""``dempster classify``: train a classifier on labeled rows and classify other rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from dempster._text import format_count
from dempster.apps.cli.predict import OR, UNDECIDED, print_decisions, write_decisions
from dempster.apps.cli.shared import (
    PATH,
    Outputs,
    RecipeCommand,
    Screen,
    UserError,
    WrongUse,
    column_options,
    confidence_option,
    default_path,
    method_option,
    output_option,
    parse_parameters,
    read_rows,
    reading_options,
    save_model_option,
    scale_option,
    screen_options,
    seed_option,
)
from dempster.apps.methods import METHODS

if TYPE_CHECKING:
    import pandas as pd

    from dempster.apps.recipe import Attributes


_SET_RULES = ("interval_dominance", "maximality", "partial_assignment")
_RULES = ("pignistic", "maximax", "maximin", "hurwicz", *_SET_RULES)
_SCORES = {
    "accuracy": "correct in {:.1%} of the rows",
    "single": "a single class in {:.1%}",
    "accuracy_of_single": "of which {:.1%} are correct",
    "undecided": "undecided in {:.1%}",
    "held": "the answer contains the class in {:.1%}",
    "mean_size": "{:.2f} classes on average",
}


class ClassifyCommand(RecipeCommand):
    """Command that has the parameters of the selected classifier as options."""

    package = "classify"


@click.command(
    cls=ClassifyCommand,
    examples=(
        "dempster classify flowers.csv --target species --new new-flowers.csv --reject 0.2",
        "dempster classify flowers.csv --target species --rule maximality --save-model m.dempster",
        "dempster classify flowers.csv --target species --new new-flowers.csv --confidence 0.95",
    ),
)
@click.argument("file", type=PATH)
@click.option(
    "--target",
    required=True,
    metavar="COLUMN|PATH",
    help="Classes; rows without a class are classified.",
)
@click.option("--new", type=PATH, help="Table of rows to classify instead.")
@output_option("File of the decisions. [default: FILE.decisions.csv]")
@save_model_option
@method_option("classify", "eknn")
@click.option(
    "--rule",
    type=click.Choice(_RULES),
    default="pignistic",
    help="Decision rule; the last three may select several classes.",
)
@click.option(
    "--reject",
    type=float,
    metavar="LOSS",
    help="Loss of no decision, relative to that of a wrong class.",
)
@confidence_option(
    "Select sets of classes that contain the true class with this probability."
)
@click.option(
    "--cv",
    type=click.IntRange(0),
    default=5,
    help="Folds of the cross-validation, at least 2; 0 skips it.",
)
@column_options
@reading_options
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    help="Missing values: raise an error, or drop the rows.",
)
@scale_option
@seed_option
@screen_options
def classify(file: Path, screen: Screen, **options: Any) -> None:
    """Train a classifier on the labeled rows of FILE, and classify its other rows or another table.

    The decision is a class, several classes (see --rule and --confidence), or "undecided" (see
    --reject). Cross-validation estimates the quality of the decisions. Columns are standardized
    within each fold. With
    --confidence, 30% of the rows are withheld from the classifier for calibration.
    """
    from dempster.apps.recipe import TableModel
    from dempster.apps.recipe.labels import is_file_name
    from dempster.persistence import save

    _check_options(options)
    new = options["new"]
    info = METHODS[options["method"]]
    parameters = parse_parameters(options, info.name)
    if info.parameter("random_state"):
        parameters["random_state"] = options["seed"]
    outputs = Outputs([file, new])
    if is_file_name(options["target"]):
        outputs.protect(Path(options["target"]))
    decisions_file = options["output"] or default_path(new or file, ".decisions.csv")
    outputs.add("decisions", decisions_file)
    outputs.add_options(options)
    with screen.progress(f"reading {file.name}"):
        estimator = info.load()(**parameters)
        if options["confidence"] is not None:
            from dempster.classify import ConformalClassifier

            estimator = ConformalClassifier(
                estimator,
                confidence=options["confidence"],
                random_state=options["seed"],
            )
        attributes, y = _read(file, options, screen)
        is_labelled = y.notna().to_numpy()
        classes = y[is_labelled].astype(str).to_numpy()
        _check_classes(set(classes), options)
        scores = _cross_validate(
            estimator,
            attributes.table.to_numpy()[is_labelled],
            classes,
            options,
            screen,
        )
        estimator.fit(attributes.values[is_labelled], classes)
        rows = attributes.values[~is_labelled]
        if new is not None:
            rows = attributes.preparation.transform(
                read_rows(new, options), screen.note
            )
        answers = _decide(estimator, rows, options)
        decisions = np.array([OR.join(names) or UNDECIDED for names in answers])
        if not len(decisions):
            del outputs["decisions"]

        def write(path: Path) -> None:
            write_decisions(estimator.predict_mass(rows), decisions, path)

        model = TableModel(estimator, attributes.preparation)
        outputs.write({"decisions": write, "model": lambda path: save(model, path)})
    name = type(estimator).__name__
    n_rows = format_count(len(classes), "row")
    n_columns = format_count(len(attributes.columns), "attribute")
    head = (
        f"{name}: trained on {n_rows}, {n_columns}, {estimator.classes_.size:,} classes"
    )
    screen.print(head, bold=True)
    screen.print_columns(attributes.columns)
    if scores:
        texts = [_SCORES[score].format(value) for score, value in scores.items()]
        screen.print(f"in {options['cv']}-fold cross-validation: {', '.join(texts)}")
    counts: dict[str, int] = {}
    if len(decisions):
        screen.print()
        counts = print_decisions(decisions, screen)
    elif not outputs:
        screen.note(
            "every row has a class, so no row was classified; use --new or --save-model"
        )
    screen.finish(
        outputs,
        method=name,
        classes=estimator.classes_,
        n_training=len(classes),
        cross_validation=scores,
        decisions=counts,
    )


def _check_options(options: dict[str, Any]) -> None:
    reject = options["reject"]
    rule = options["rule"]
    if reject is not None and rule in _SET_RULES:
        reason = "which may select several classes"
        raise WrongUse(f"--reject cannot be used with --rule {rule}, {reason}")
    if options["confidence"] is not None and (
        reject is not None or rule != "pignistic"
    ):
        raise WrongUse("--confidence cannot be used with --reject or --rule")
    if options["cv"] == 1:
        raise WrongUse("--cv must be 0 or at least 2, got 1")


def _read(
    file: Path, options: dict[str, Any], screen: Screen
) -> tuple[Attributes, pd.Series]:
    """Return the prepared attributes and the classes of the rows of a table."""
    from dempster.apps.recipe import choose_attributes
    from dempster.apps.recipe.labels import (
        check_repeated,
        find_labels,
        is_file_name,
    )
    from dempster.io.tables import check_columns_exist

    table = read_rows(file, options)
    exclude = options["exclude"]
    if not is_file_name(options["target"]):
        check_columns_exist(table, "target", [options["target"]])
        exclude = [*exclude, options["target"]]
    attributes = choose_attributes(
        table,
        columns=options["columns"],
        exclude=exclude,
        scale=options["scale"],
        missing=options["missing"],
        index_col=False if options["no_index"] else None,
    )
    labels = find_labels("target", options["target"], attributes.source)
    check_repeated("target", labels)
    for text in (*table.attrs.get("notes", ()), *attributes.notes):
        screen.note(text)
    return attributes, labels.iloc[attributes.rows]


def _check_classes(classes: set[str], options: dict[str, Any]) -> None:
    """Raise an error if there are fewer than two classes, or if a class has a reserved name."""
    target = f"--target {options['target']}"
    if len(classes) < 2:
        raise UserError(f"{target} must have at least two classes, got {len(classes)}")
    has_confidence = options["confidence"] is not None
    may_be_set = has_confidence or options["rule"] in _SET_RULES
    may_be_undecided = has_confidence or options["reject"] is not None
    for name in sorted(classes):
        if (may_be_undecided and name == UNDECIDED) or (may_be_set and OR in name):
            raise UserError(
                f"{target}: rename the class '{name}', which is also the name of another decision"
            )


def _decide(estimator: Any, rows: Any, options: dict[str, Any]) -> list[np.ndarray]:
    """Return the array of one, several or no selected classes for each row."""
    if not len(rows):
        return []
    rule = options["rule"]
    classes = estimator.classes_
    if options["confidence"] is not None:
        return [classes[selected] for selected in estimator.predict_set(rows)]
    if rule in _SET_RULES:
        return [classes[selected] for selected in estimator.decide(rows, rule)]
    rejection = {}
    if options["reject"] is not None:
        rejection = {"reject": options["reject"], "reject_label": UNDECIDED}
    singles = {name: classes[k : k + 1] for k, name in enumerate(classes)}
    return [
        singles.get(name, classes[:0])
        for name in estimator.decide(rows, rule, **rejection)
    ]


def _cross_validate(
    estimator: Any,
    values: np.ndarray,
    classes: np.ndarray,
    options: dict[str, Any],
    screen: Screen,
) -> dict[str, float]:
    """Return scores of the decisions on held-out rows; empty if a class has too few rows."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold
    from sklearn.preprocessing import StandardScaler

    n_folds = options["cv"]
    if n_folds == 0:
        return {}
    smallest = int(np.unique(classes, return_counts=True)[1].min())
    if smallest < n_folds:
        reason = (
            f"the smallest class has {format_count(smallest, 'row')}, "
            f"fewer than --cv {n_folds}"
        )
        screen.note(f"no cross-validation: {reason}")
        return {}
    sizes = []
    held = []
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=options["seed"])
    for train, test in folds.split(values, classes):
        rows = values
        if options["scale"]:
            rows = StandardScaler().fit(values[train]).transform(values)
        fitted = clone(estimator).fit(rows[train], classes[train])
        decisions = _decide(fitted, rows[test], options)
        sizes += [len(names) for names in decisions]
        held += [
            truth in names
            for names, truth in zip(decisions, classes[test], strict=True)
        ]
    size = np.array(sizes)
    is_held = np.array(held)
    is_single = size == 1
    scores = {"accuracy": float(np.mean(is_held & is_single))}
    if not is_single.all():
        scores["single"] = float(is_single.mean())
        n_single = np.count_nonzero(is_single)
        correct = np.count_nonzero(is_held & is_single)
        scores["accuracy_of_single"] = correct / n_single if n_single else float("nan")
        scores["undecided"] = float(np.mean(size == 0))
        scores["held"] = float(np.mean(is_held))
        scores["mean_size"] = float(np.mean(size))
    return scores
