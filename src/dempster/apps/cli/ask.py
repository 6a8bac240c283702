"""``dempster ask``: select pairs to label, and cluster again with the answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from dempster._text import format_cell, format_count
from dempster.apps.cli.cluster import describe_result, run_recipe, used_columns
from dempster.apps.cli.compare import list_moved_objects
from dempster.apps.cli.shared import (
    PATH,
    Outputs,
    RecipeCommand,
    Screen,
    UserError,
    WrongUse,
    build_recipe,
    default_path,
    list_input_files,
    output_option,
    partition_document,
    recipe_options,
    screen_options,
)
from dempster.apps.methods import METHODS, methods_that

if TYPE_CHECKING:
    import pandas as pd

    from dempster.apps.recipe import RecipeResult
    from dempster.constraints import Constraints


_KEYS = {"y": "yes", "n": "no", "?": "do not know", "u": "undo", "q": "quit"}
_KEYS_HELP = "y same cluster, n different clusters, ? do not know, u undo, q quit"
MAX_PRINTED_CHANGES = 10


@click.command(
    cls=RecipeCommand,
    examples=(
        "dempster ask flowers.csv -c 3",
        "dempster ask flowers.csv -c 3 --answers flowers.answers.csv",
    ),
)
@recipe_options
@click.option(
    "-n", "--questions", type=click.IntRange(1), default=10, help="Number of questions."
)
@click.option(
    "--answers",
    type=PATH,
    help="Table that this command wrote, with same or different in its third column.",
)
@output_option(
    "File of the questions and answers; an existing file is overwritten. "
    "[default: FILE.answers.csv, unless it contains answers]"
)
@click.option(
    "--partition", type=PATH, help="Write the partition that uses the answers."
)
@screen_options
@click.pass_context
def ask(ctx: click.Context, screen: Screen, **options: Any) -> None:
    """Cluster the rows of FILE, ask which pairs belong together, and cluster with the answers.

    On a terminal, answer each question with a key. Otherwise, or with --json, the questions are
    written to a table. Fill in its third column and pass the table to --answers. Contradictions
    between answers are printed. The methods evclus, cecm and nnevclus can use answers.
    """
    from dempster.io import write_partition
    from dempster.io.partitions import write_table

    recipe = build_recipe(ctx, options, constrained=True)
    if "constraints" not in METHODS[recipe.method].capabilities:
        expected = ", ".join(methods_that("constraints"))
        raise WrongUse(f"--method must be one of {expected}, got {recipe.method}")
    outputs = Outputs(list_input_files(recipe))
    output = options["output"] or _default_output(
        Path(recipe.files[0]), options["answers"]
    )
    outputs.add("answers", output, [".csv"])
    # Outputs added below must not overwrite the answers.
    outputs.protect(options["answers"])
    outputs.add_options(options)
    result = run_recipe(recipe, screen)
    screen.print_partition(
        describe_result(result), result.partition, columns=used_columns(result)
    )
    questions = _Questions(result, options["questions"])
    if options["answers"] is not None:
        questions.read_answers(options["answers"])
        for contradiction in questions.contradictions():
            screen.note(f"contradiction: {contradiction}")
    elif sys.stdin.isatty() and not screen.as_json:
        _ask_by_keys(questions, screen)
    partition = result.partition
    changes = None
    if questions.n_answers:
        partition = _fit_with_answers(result, questions.constraints(), screen)
        changes = list_moved_objects(result.partition, partition)
    table = questions.to_frame()
    outputs.write(
        {
            "answers": lambda path: write_table(table, path),
            "partition": lambda path: write_partition(partition, path),
        },
        recipe,
    )
    if changes is None:
        count = format_count(len(table), "question")
        screen.print(f"\n{count}: are these two in the same cluster?", bold=True)
        for row in table.itertuples():
            screen.print(f"  {row.object} and {row.other}")
    else:
        answers = format_count(questions.n_answers, "answer")
        moved = format_count(len(changes), "object")
        screen.print(f"\nwith {answers}: {moved} moved\n", bold=True)
        screen.print(str(partition.summary()))
        if len(changes):
            screen.print(
                "\n" + changes.head(MAX_PRINTED_CHANGES).to_string(index=False)
            )
    screen.finish(
        outputs,
        recipe=recipe.to_dict(),
        questions=table.to_dict("records"),
        contradictions=questions.contradictions(),
        changed=None if changes is None else changes.to_dict("records"),
        partition=partition_document(partition),
    )


def _default_output(file: Path, answers: Path | None) -> Path:
    """Return the default path of the answers, unless existing answers would be lost."""
    from dempster.io.tables import read_quietly

    output = default_path(file, ".answers.csv")
    if answers is not None or not output.is_file():
        return output
    if read_quietly(output).iloc[:, 2:].notna().any(axis=None):
        raise UserError(
            f"{output} contains answers that would be lost; use them with --answers, "
            "or choose another --output"
        )
    return output


class _Questions:
    """Questions whether two objects belong to the same cluster, and their answers.

    Row q of ``pairs`` contains the positions of the two objects of question q. Its answer is
    "same", "different", or None if there is no answer.
    """

    def __init__(self, result: RecipeResult, n_questions: int):
        from dempster.constraints import Constraints, suggest_pairs

        self._result = result
        partition = result.partition
        self._names = (
            range(len(partition)) if partition.index is None else partition.index
        )
        self._former = result.prepared.constraints or Constraints(
            n_objects=len(partition)
        )
        self.pairs = suggest_pairs(partition, n_questions, constraints=self._former)
        self.answers: list[str | None] = [None] * len(self.pairs)

    @property
    def n_answers(self) -> int:
        return len(self.answers) - self.answers.count(None)

    def constraints(self) -> Constraints:
        """Return the constraints from the recipe and from the answers."""
        from dempster.constraints import Constraints

        same = self.pairs[[answer == "same" for answer in self.answers]]
        different = self.pairs[[answer == "different" for answer in self.answers]]
        return self._former | Constraints(same, different, n_objects=len(self._names))

    def contradictions(self) -> list[str]:
        """Describe the contradictions of the constraints from the recipe and the answers."""
        found = self.constraints().contradictions()
        return [contradiction.describe(self._names) for contradiction in found]

    def read_answers(self, path: Path) -> None:
        """Read a table whose columns are two objects and an answer, which may be empty."""
        from dempster.constraints.files import find_positions
        from dempster.io.atomic import as_file
        from dempster.io.tables import read_names, read_quietly

        table = read_quietly(as_file(path))
        if table.shape[1] < 3:
            raise UserError(
                f"{path.name} must have three columns, two objects and an answer, "
                f"got {table.shape[1]}"
            )
        columns = read_names(path, table, (0, 1))
        positions = [find_positions(names, self._names, path.name) for names in columns]
        self.pairs = np.column_stack(positions)
        self.answers = [_parse_answer(cell, path) for cell in table.iloc[:, 2]]

    def describe_object(self, position: int) -> str:
        """Return the name of an object and its values."""
        name = str(self._names[position])
        attributes = self._result.attributes
        if attributes is None:
            return name
        row = attributes.table.iloc[position]
        cells = [f"{column} {format_cell(value)}" for column, value in row.items()]
        return f"{name}: {', '.join(cells)}"

    def to_frame(self) -> pd.DataFrame:
        """Return the questions as a table with the columns ``object``, ``other`` and ``answer``."""
        import pandas as pd

        first, second = (
            [str(self._names[k]) for k in positions] for positions in self.pairs.T
        )
        answers = pd.Series(self.answers, dtype=object)
        return pd.DataFrame({"object": first, "other": second, "answer": answers})


def _parse_answer(cell: Any, path: Path) -> str | None:
    from dempster.constraints.files import DIFFERENT, SAME

    text = str(cell).strip().lower()
    if cell is None or cell != cell or text in ("", "?"):
        return None
    if text not in SAME | DIFFERENT:
        raise UserError(
            f"{path.name}: an answer must be same, different or empty, got '{cell}'"
        )
    if text in SAME:
        return "same"
    return "different"


def _ask_by_keys(questions: _Questions, screen: Screen) -> None:
    """Ask the questions on the terminal, and print contradictions before the next question."""
    n_questions = len(questions.pairs)
    screen.print(f"\n{format_count(n_questions, 'question')}: {_KEYS_HELP}", bold=True)
    number = 0
    while number < n_questions:
        first, second = map(questions.describe_object, questions.pairs[number])
        question = (
            f"{number + 1}/{n_questions}  {first}\n     {second}\n     same cluster? "
        )
        click.echo(question, nl=False)
        try:
            key = click.getchar().lower() or "q"
        except EOFError:  # Ctrl-D
            key = "q"
        click.echo(_KEYS.get(key, key))
        if key == "q":
            return
        if key == "u":
            number = max(number - 1, 0)
            questions.answers[number] = None
        elif key in _KEYS:
            questions.answers[number] = {"y": "same", "n": "different"}.get(key)
            for contradiction in questions.contradictions():
                click.echo(
                    f"  contradiction: {contradiction}; press u to undo", err=True
                )
            number += 1
        else:
            click.echo(f"     {_KEYS_HELP}")


def _fit_with_answers(
    result: RecipeResult, constraints: Constraints, screen: Screen
) -> Any:
    """Return the partition of the same estimator, fitted with the constraints from the answers."""
    from sklearn.base import clone

    prepared = result.prepared
    params = prepared.fit_params | {"constraints": constraints}
    with screen.progress("clustering with the answers"):
        return clone(result.estimator).fit(prepared.X, **params).credal_partition_
