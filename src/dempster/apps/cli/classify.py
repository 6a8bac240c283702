"""``dempster classify``: train a classifier on labeled rows and classify other rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from dempster._text import format_count
from dempster.apps.cli.predict import OR, UNDECIDED, print_decisions, write_decisions
from dempster.apps.cli.shared import options as shared
from dempster.apps.cli.shared.errors import UserError, WrongUse
from dempster.apps.cli.shared.loading import read_rows
from dempster.apps.cli.shared.output import Outputs, Screen, default_path
from dempster.apps.cli.shared.param_types import PATH, MethodName, WholeNumber
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


class ClassifyCommand(shared.RecipeCommand):
    """Command that has the parameters of the selected classifier as options."""

    package = "classify"


@click.command(
    cls=ClassifyCommand,
    examples=(
        "dempster classify flowers.csv --target species --new new-flowers.csv --reject 0.2",
        "dempster classify flowers.csv --target species --rule interval_dominance --save-model flowers.dempster",
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
@shared.output_option("File of the decisions. [default: FILE.decisions.csv]")
@shared.save_model_option
@click.option(
    "--method", type=MethodName("classify"), default="eknn", help="Classifier; see below."
)
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
@shared.confidence_option(
    "Select sets of classes that contain the true class with this probability."
)
@click.option(
    "--cv",
    type=WholeNumber(0),
    default=5,
    help="Folds of the cross-validation, at least 2; 0 skips it.",
)
@shared.column_options
@shared.reading_options
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    help="Missing values: raise an error, or drop the rows.",
)
@shared.scale_option
@shared.seed_option
@shared.settings_option
@shared.screen_options
def classify(file: Path, screen: Screen, **options: Any) -> None:
    """Train a classifier on the rows of FILE with a known class, and classify its other rows or another table.

    The decision is a class, several classes (see --rule and --confidence), or "undecided" (see
    --reject). Cross-validation estimates the quality of the decisions. Columns are standardized
    within each fold. With
    --confidence, 30% of the rows are withheld from the classifier for calibration.
    """
    from dempster.apps.recipe import TableModel
    from dempster.apps.recipe.labels import is_file_name
    from dempster.persistence import save

    reject = options["reject"]
    rule = options["rule"]
    new = options["new"]
    if reject is not None and rule in _SET_RULES:
        raise WrongUse(
            f"--reject cannot be used with --rule {rule}, which may select several classes"
        )
    if reject is not None and not reject >= 0:
        raise WrongUse(f"--reject must be a number of at least 0, got {reject}")
    if options["confidence"] is not None and (reject is not None or rule != "pignistic"):
        raise WrongUse("--confidence cannot be used with --reject or --rule")
    if options["cv"] == 1:
        raise WrongUse("--cv must be 0 or at least 2, got 1")
    info = METHODS[options["method"]]
    if info.parameter("random_state"):
        seed = {"random_state": options["seed"]}
    else:
        seed = {}
    parameters = shared.parse_parameters(options, "classify", info.name)
    outputs = Outputs(
        [file, new, Path(options["target"]) if is_file_name(options["target"]) else None]
    )
    decisions_file = options["output"] or default_path(new or file, ".decisions.csv")
    outputs.add("decisions", decisions_file, (".csv", ".tsv", ".parquet"))
    outputs.add_options(options)
    with screen.progress(f"reading {file.name}"):
        estimator = info.load()(**seed, **parameters)
        if options["confidence"] is not None:
            from dempster.classify import ConformalClassifier

            conformal = {"confidence": options["confidence"], "random_state": options["seed"]}
            estimator = ConformalClassifier(estimator, **conformal)
        attributes, y = _read(file, options, screen)
        is_labelled = y.notna().to_numpy()
        classes = y[is_labelled].astype(str).to_numpy()
        _check_classes(classes, options)
        scores = _cross_validate(
            estimator, attributes.table.to_numpy()[is_labelled], classes, options, screen
        )
        estimator.fit(attributes.values[is_labelled], classes)
        rows = attributes.values[~is_labelled]
        if new is not None:
            rows = attributes.preparation.transform(read_rows(new, options), screen.note)
        decisions = np.array(
            [OR.join(names) or UNDECIDED for names in _decide(estimator, rows, options)]
        )
        if not len(decisions):
            del outputs["decisions"]
        outputs.write(
            {
                "decisions": lambda path: write_decisions(
                    estimator.predict_mass(rows), decisions, path
                ),
                "model": lambda path: save(TableModel(estimator, attributes.preparation), path),
            }
        )
    name = type(estimator).__name__
    size = (
        f"{format_count(len(classes), 'row')}, {format_count(len(attributes.columns), 'attribute')}"
    )
    screen.print(f"{name}: trained on {size}, {estimator.classes_.size:,} classes", style="bold")
    if scores:
        texts = [_SCORES[score].format(value) for score, value in scores.items()]
        screen.print(f"in {options['cv']}-fold cross-validation: {', '.join(texts)}")
    counts: dict[str, int] = {}
    if len(decisions):
        screen.print()
        counts = print_decisions(decisions, screen)
    elif not outputs:
        screen.note("every row has a class, so no row was classified; use --new or --save-model")
    screen.finish(
        "classify",
        outputs,
        method=name,
        classes=estimator.classes_,
        n_training=len(classes),
        cross_validation=scores,
        decisions=counts,
    )


def _read(file: Path, options: dict[str, Any], screen: Screen) -> tuple[Attributes, pd.Series]:
    """Return the prepared attributes and the classes of the rows of a table."""
    from dempster.apps.recipe import choose_attributes
    from dempster.apps.recipe.labels import find_labels, is_file_name
    from dempster.apps.recipe.run import describe_reading

    table = read_rows(file, options)
    labels = find_labels("target", options["target"], table)
    if is_file_name(options["target"]):
        target = []
    else:
        target = [options["target"]]
    attributes = choose_attributes(
        table,
        columns=shared.split_names(options["columns"], "columns"),
        exclude=[*shared.split_names(options["exclude"], "exclude"), *target],
        scale=options["scale"],
        missing=options["missing"],
    )
    for text in (*describe_reading(table, header=options["header"]), *attributes.notes):
        screen.note(text)
    return attributes, labels.iloc[attributes.rows]


def _check_classes(classes: np.ndarray, options: dict[str, Any]) -> None:
    """Raise an error if there are fewer than two classes, or if the name of a class also denotes another decision."""
    target = f"--target {options['target']}"
    if len(set(classes)) < 2:
        raise UserError(f"{target} must have at least two classes, got {len(set(classes))}")
    for name in classes:
        may_be_set = options["rule"] in _SET_RULES or options["confidence"] is not None
        may_be_undecided = options["reject"] is not None or options["confidence"] is not None
        if (may_be_undecided and name == UNDECIDED) or (may_be_set and OR in name):
            raise UserError(
                f"{target}: rename the class '{name}', which is also the name of another decision"
            )


def _decide(estimator: Any, rows: Any, options: dict[str, Any]) -> list[np.ndarray]:
    """Return the array of selected classes for each row, which contains one, several or no classes."""
    if not len(rows):
        return []
    rule = options["rule"]
    classes = estimator.classes_
    if options["confidence"] is not None:
        return [classes[selected] for selected in estimator.predict_set(rows)]
    if rule in _SET_RULES:
        return [classes[selected] for selected in estimator.decide(rows, rule)]
    if options["reject"] is None:
        rejection = {}
    else:
        rejection = {"reject": options["reject"], "reject_label": UNDECIDED}
    singles = {name: classes[k : k + 1] for k, name in enumerate(classes)}
    return [singles.get(name, classes[:0]) for name in estimator.decide(rows, rule, **rejection)]


def _cross_validate(
    estimator: Any, values: np.ndarray, classes: np.ndarray, options: dict[str, Any], screen: Screen
) -> dict[str, float]:
    """Return scores of the decisions on held-out rows, or an empty dictionary if a class has too few rows."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold
    from sklearn.preprocessing import StandardScaler

    n_folds = options["cv"]
    if n_folds == 0:
        return {}
    smallest = int(np.unique(classes, return_counts=True)[1].min())
    if smallest < n_folds:
        rows = format_count(smallest, "row")
        screen.note(
            f"no cross-validation: the smallest class has {rows}, fewer than --cv {n_folds}"
        )
        return {}
    sizes = []
    held = []
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=options["seed"]).split(
        values, classes
    ):
        train_rows = values[train]
        test_rows = values[test]
        if options["scale"]:
            scaler = StandardScaler().fit(train_rows)
            train_rows = scaler.transform(train_rows)
            test_rows = scaler.transform(test_rows)
        decisions = _decide(clone(estimator).fit(train_rows, classes[train]), test_rows, options)
        sizes += [len(names) for names in decisions]
        held += [truth in names for names, truth in zip(decisions, classes[test], strict=True)]
    size = np.array(sizes)
    is_held = np.array(held)
    is_single = size == 1
    scores = {"accuracy": float(np.mean(is_held & is_single))}
    if not is_single.all():
        scores["single"] = float(is_single.mean())
        if is_single.any():
            scores["accuracy_of_single"] = float(np.mean(is_held[is_single]))
        else:
            scores["accuracy_of_single"] = float("nan")
        scores["undecided"] = float(np.mean(size == 0))
        scores["held"] = float(np.mean(is_held))
        scores["mean_size"] = float(np.mean(size))
    return scores
