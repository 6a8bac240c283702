"""``dempster classify``: learn classes from labelled rows, decide on others with care."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from dempster._text import format_count
from dempster.apps.cli.predict import count_decisions, write_decisions
from dempster.apps.cli.shared.errors import UserError, WrongUse
from dempster.apps.cli.shared.inputs import read_rows
from dempster.apps.cli.shared.options import (
    RecipeCommand,
    column_options,
    output_option,
    parameters_from,
    reading_options,
    save_model_option,
    scale_option,
    screen_options,
    seed_option,
    settings_option,
    split_names,
)
from dempster.apps.cli.shared.output import (
    DECISIONS,
    Screen,
    beside,
    check_extension,
    check_outputs,
    check_own_file,
    further_outputs,
    write_files,
)
from dempster.apps.cli.shared.param_types import PATH, MethodName, WholeNumber
from dempster.registry import find_method

if TYPE_CHECKING:
    import pandas as pd


UNDECIDED = "undecided"
_OR = " or "
_SETS = ("interval_dominance", "maximality", "partial_assignment")
_RULES = ("pignistic", "maximax", "maximin", "hurwicz", *_SETS)


class ClassifyCommand(RecipeCommand):
    """A command with the parameters of the chosen classifier as options."""

    package = "classify"


@click.command(cls=ClassifyCommand, short_help="Learn classes from labelled rows; decide on others.")
@click.argument("file", type=PATH)
@click.option("--target", required=True, metavar="COLUMN|PATH", help="The classes; rows without one are decided on.")
@click.option("--new", type=PATH, metavar="PATH", help="Another table, whose rows are decided on.")
@output_option("[default: FILE.decisions.csv]")
@save_model_option
@click.option("--method", type=MethodName("classify"), default="eknn", show_default=True, help="See below.")
@click.option(
    "--rule",
    type=click.Choice(_RULES),
    default="pignistic",
    show_default=True,
    help="How to decide; the last three answer with several classes where the evidence cannot tell.",
)
@click.option("--reject", type=float, metavar="LOSS", help="Loss of not deciding, where a wrong class loses 1.")
@click.option(
    "--cv",
    type=WholeNumber(0),
    default=5,
    show_default=True,
    metavar="N",
    help="Folds of the test, two at least; 0: none.",
)
@column_options
@reading_options
@click.option("--missing", type=click.Choice(["refuse", "drop"]), default="refuse", show_default=True)
@scale_option
@seed_option
@settings_option
@screen_options
def classify(file: Path, screen: Screen, **options: Any) -> None:
    """Learn from the rows of FILE whose class is known, and decide on the others, or on those of another table.

    An answer may be a class, several classes between which the evidence cannot tell (--rule), or "undecided"
    (--reject). Cross-validation tells how good such answers are; standardisation is learned in each fold.

    \b
    dempster classify flowers.csv --target species --new new-flowers.csv --reject 0.2
    dempster classify flowers.csv --target species --rule interval_dominance --save-model flowers.dempster
    """
    if options["reject"] is not None and options["rule"] in _SETS:
        raise WrongUse(f"--reject is not for --rule {options['rule']}, which answers with sets instead")
    if options["reject"] is not None and not options["reject"] >= 0:
        raise WrongUse(f"--reject must be a number of at least 0, got {options['reject']}")
    if options["cv"] == 1:
        raise WrongUse("--cv must be 0 or at least 2, got 1")
    method = options["method"]
    parameters = parameters_from(options, "classify", method)
    outputs = _outputs(file, options)
    check_outputs(list(outputs.values()), _inputs(file, options))
    with screen.working(f"reading {file.name}"):
        attributes, y = _read(file, options, screen)
        info = find_method(method, "classify")
        seed = {"random_state": options["seed"]} if info.parameter("random_state") else {}
        estimator = info.load()(**seed, **parameters)
        known = y.notna().to_numpy()
        if known.sum() < 2 or y[known].nunique() < 2:
            raise UserError(f"--target {options['target']}: rows of two classes at least are needed to learn from")
        classes = y[known].astype(str).to_numpy()
        _check_class_names(classes, options)
        tested = _cross_validate(estimator, attributes.table.to_numpy()[known], classes, options, screen)
        estimator.fit(attributes.values[known], classes)
        rows = _rows_to_decide(attributes, known, options, screen)
        decisions = None if rows is None else _decide(estimator, rows, options)
        if decisions is None:
            outputs.pop("decisions")
        _write(outputs, estimator, attributes, rows, decisions)
    name = type(estimator).__name__
    screen.result(
        f"{name}: learned {estimator.classes_.size:,} classes from "
        f"{format_count(int(known.sum()), 'row')}, {format_count(len(attributes.columns), 'attribute')}",
        style="bold",
    )
    if tested:
        screen.result(f"in {options['cv']}-fold cross-validation: " + ", ".join(_describe_scores(tested)))
    found: dict[str, int] = {}
    if decisions is not None:
        screen.result()
        found = count_decisions(decisions, screen)
    elif not outputs:
        screen.note("every row has a class, so that none is to be decided; name others by --new, or use --save-model")
    screen.wrote(list(outputs.values()))
    screen.document(
        "classify",
        method=name,
        classes=estimator.classes_,
        n_training=int(known.sum()),
        cross_validation=tested,
        decisions=found,
        files={key: str(path) for key, path in outputs.items()},
    )


def _inputs(file: Path, options: dict[str, Any]) -> list[Path]:
    """List the files that are read, none of which may be overwritten."""
    from dempster.apps.recipe.labels import is_file_name

    new, target = options["new"], options["target"]
    return [file, *([] if new is None else [new]), *([Path(target)] if is_file_name(target) else [])]


def _outputs(file: Path, options: dict[str, Any]) -> dict[str, Path]:
    shown = options["new"] or file
    found = {"decisions": options["output"] or check_own_file(beside(shown, ".decisions.csv"), DECISIONS)}
    check_extension("--output", found["decisions"], (".csv", ".tsv", ".parquet"))
    return found | further_outputs(options)


def _read(file: Path, options: dict[str, Any], screen: Screen) -> tuple[Any, pd.Series]:
    from dempster.apps.recipe import choose_attributes
    from dempster.apps.recipe.labels import find_labels, is_file_name
    from dempster.apps.recipe.run import notes_of_reading

    table = read_rows(file, options)
    labels = find_labels("target", options["target"], table)
    target = [] if is_file_name(options["target"]) else [options["target"]]
    attributes = choose_attributes(
        table,
        columns=split_names(options["columns"], "columns"),
        exclude=[*split_names(options["exclude"], "exclude"), *target],
        scale=options["scale"],
        missing=options["missing"],
    )
    for text in (*notes_of_reading(table, header=options["header"]), *attributes.notes):
        screen.note(text)
    return attributes, labels.iloc[attributes.rows]


def _check_class_names(classes: np.ndarray, options: dict[str, Any]) -> None:
    """Refuse names of classes that would read as an answer which is not that class."""
    if options["reject"] is not None:
        odd = [name for name in classes if name == UNDECIDED]
    else:
        odd = [name for name in classes if _OR in name] if options["rule"] in _SETS else []
    if odd:
        raise UserError(
            f"--target {options['target']}: the class '{odd[0]}' reads as another answer, give it another name"
        )


def _answers(estimator: Any, rows: Any, options: dict[str, Any]) -> list[np.ndarray]:
    """Return the classes that each answer names: one, several, or none."""
    rule, classes = options["rule"], estimator.classes_
    if rule in _SETS:
        return [classes[kept] for kept in estimator.decide(rows, rule)]
    rejection = {} if options["reject"] is None else {"reject": options["reject"], "reject_label": UNDECIDED}
    alone = {name: classes[k : k + 1] for k, name in enumerate(classes)}
    return [alone.get(one, classes[:0]) for one in estimator.decide(rows, rule, **rejection)]


def _decide(estimator: Any, rows: Any, options: dict[str, Any]) -> np.ndarray:
    """Return decisions in words: a class, ``a or b``, or undecided."""
    return np.array([_OR.join(named) or UNDECIDED for named in _answers(estimator, rows, options)])


def _cross_validate(
    estimator: Any, values: np.ndarray, classes: np.ndarray, options: dict[str, Any], screen: Screen
) -> dict[str, float]:
    """Score decisions on rows that were not learned from; nothing if there are too few rows."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    folds = options["cv"]
    smallest = int(np.unique(classes, return_counts=True)[1].min())
    if folds < 2:
        return {}
    if smallest < folds:
        screen.note(
            f"no cross-validation: the smallest class has {format_count(smallest, 'row')}, fewer than --cv {folds}"
        )
        return {}
    right, held, decided, size = [], [], [], []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=options["seed"]).split(values, classes):
        center = values[train].mean(axis=0) if options["scale"] else 0.0
        spread = values[train].std(axis=0) if options["scale"] else 1.0
        spread = np.where(spread == 0, 1, spread)
        model = clone(estimator).fit((values[train] - center) / spread, classes[train])
        answers = _answers(model, (values[test] - center) / spread, options)
        for named, truth in zip(answers, classes[test], strict=True):
            right.append(list(named) == [truth])
            held.append(truth in named)
            decided.append(len(named) > 0)
            size.append(len(named))
    single = np.array(size) == 1
    found = {"accuracy": float(np.mean(right))}
    if not single.all():
        found["single"] = float(single.mean())
        found["accuracy_of_single"] = float(np.mean(np.array(right)[single])) if single.any() else float("nan")
        found["undecided"] = 1 - float(np.mean(decided))
        found["held"] = float(np.mean(held))
        found["mean_size"] = float(np.mean(size))
    return found


def _describe_scores(tested: dict[str, float]) -> list[str]:
    words = {
        "accuracy": "right in {:.1%} of the rows",
        "single": "a single class in {:.1%}",
        "accuracy_of_single": "of which {:.1%} are right",
        "undecided": "undecided in {:.1%}",
        "held": "the answer holds the class in {:.1%}",
        "mean_size": "{:.2f} classes on average",
    }
    return [words[name].format(value) for name, value in tested.items()]


def _rows_to_decide(attributes: Any, known: np.ndarray, options: dict[str, Any], screen: Screen) -> Any:
    """Return the rows of the other table, or those without a class; None if there are none."""
    if options["new"] is not None:
        return attributes.preparation.transform(read_rows(options["new"], options), screen.note)
    return None if known.all() else attributes.values[~known]


def _write(outputs: dict[str, Path], estimator: Any, attributes: Any, rows: Any, decisions: Any) -> None:
    from dempster.apps.recipe import TableModel
    from dempster.persistence import save

    writers = {
        "decisions": lambda path: write_decisions(estimator.predict_mass(rows), decisions, path),
        "model": lambda path: save(TableModel(estimator, attributes.preparation), path),
    }
    write_files({path: writers[name] for name, path in outputs.items()})
