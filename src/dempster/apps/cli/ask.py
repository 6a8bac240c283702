"""``dempster ask``: questions to an expert, answers, contradictions, and what they change."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from dempster._text import format_count
from dempster.apps.cli.cluster import describe_outcome, run_recipe
from dempster.apps.cli.compare import moved_objects
from dempster.apps.cli.shared.errors import UserError, WrongUse
from dempster.apps.cli.shared.inputs import list_input_files
from dempster.apps.cli.shared.options import (
    RecipeCommand,
    output_option,
    recipe_from,
    recipe_options,
    screen_options,
)
from dempster.apps.cli.shared.output import (
    ANSWERS,
    Screen,
    beside,
    check_extension,
    check_outputs,
    check_own_file,
    check_partition_kind,
    further_outputs,
    partition_document,
    write_files,
    write_table,
    write_text,
)
from dempster.apps.cli.shared.param_types import PATH, WholeNumber
from dempster.registry import find_method, methods_that

if TYPE_CHECKING:
    from dempster.apps.recipe import RecipeResult
    from dempster.constraints import Constraints
    from dempster.partition import CredalPartition


_KEYS = "y same cluster, n different clusters, ? do not know, u undo, q enough"


@click.command(cls=RecipeCommand, short_help="Questions to an expert that teach most.")
@recipe_options
@click.option("-n", "--questions", type=WholeNumber(1), default=10, show_default=True, metavar="N", help="How many.")
@click.option(
    "--answers",
    type=PATH,
    metavar="PATH",
    help="Answers given already: the table that this command writes, its third column filled with same or different.",
)
@output_option(
    "Where to keep questions and answers. A file that is there is replaced. [default: FILE.answers.csv, unless it "
    "holds answers]"
)
@click.option("--partition", type=PATH, metavar="PATH", help="Also write the partition that follows the answers.")
@screen_options
@click.pass_context
def ask(ctx: click.Context, screen: Screen, **options: Any) -> None:
    """Cluster the rows of FILE, ask which pairs belong together, and cluster again with the answers.

    On a terminal each question is answered by a key. Otherwise, or with --json, the questions are written to a table;
    fill its third column and give it back by --answers. Answers that contradict each other are shown with the chain of
    answers they contradict. Methods that learn from answers are evclus, cecm and nnevclus.

    \b
    dempster ask flowers.csv -c 3 --index name
    dempster ask flowers.csv -c 3 --answers flowers.answers.csv --partition taught.csv
    """
    recipe = recipe_from(ctx, options)
    if "constraints" not in find_method(recipe.method).capabilities:
        others = ", ".join(methods_that("constraints"))
        raise WrongUse(f"method {recipe.method} does not learn from answers; take --method {others}")
    output = options["output"] or _default_output(Path(recipe.files[0]), options["answers"])
    check_extension("--output", output, [".csv"])
    check_partition_kind(options["partition"], "--partition")
    targets = {"answers": output, "partition": options["partition"], **further_outputs(options)}
    outputs = {name: path for name, path in targets.items() if path is not None}
    check_outputs(list(outputs.values()), list_input_files(recipe))
    if options["answers"] is not None:  # may be the file that is written again
        check_outputs([path for path in outputs.values() if path is not output], [options["answers"]])
    outcome = run_recipe(recipe, screen)
    screen.partition(describe_outcome(outcome), outcome.partition)
    expert = _Expert(outcome, options["questions"], screen)
    if options["answers"] is not None:
        expert.read(options["answers"])
    elif sys.stdin.isatty() and not screen.as_json:
        expert.ask()
    changed = expert.learn()
    writers = {"answers": expert.write_questions, "partition": expert.write_partition}
    write_files({path: writers.get(name) or write_text(recipe.to_toml()) for name, path in outputs.items()})
    if not expert.has_answers:
        expert.show_questions()
    screen.wrote(list(outputs.values()))
    screen.document(
        "ask",
        recipe=recipe.to_dict(),
        questions=expert.questions_document(),
        contradictions=[str(one) for one in expert.contradictions],
        changed=None if changed is None else changed.to_dict("records"),
        partition=partition_document(expert.partition),
        files=[str(path) for path in outputs.values()],
    )


def _default_output(file: Path, given: Path | None) -> Path:
    """Return the default file of answers, unless answers that it holds would be lost."""
    output = check_own_file(beside(file, ".answers.csv"), ANSWERS)
    if given is None and output.is_file():
        lines = output.read_text(encoding="utf-8", errors="replace").splitlines()[1:]
        if any(not line.endswith(",") for line in lines):
            raise UserError(f"{output} holds answers, which would be lost: give them by --answers, or choose --output")
    return output


class _Expert:
    """Questions, what was answered, and the partition that follows.

    Attributes
    ----------
    pairs : (q, 2) int array
        The questions, by positions of objects.
    answers : list of True (same), False (different) or None (not known)
    """

    def __init__(self, outcome: RecipeResult, n_questions: int, screen: Screen):
        from dempster.constraints import Constraints, suggest_pairs

        self.outcome, self.screen = outcome, screen
        self.partition: CredalPartition = outcome.partition
        self.known: Constraints = outcome.prepared.constraints or Constraints(n_objects=len(self.partition))
        self.pairs = suggest_pairs(self.partition, n_questions, constraints=self.known)
        self.answers: list[bool | None] = [None] * len(self.pairs)
        self.contradictions: list[Any] = []

    @property
    def has_answers(self) -> bool:
        """Whether anything was answered."""
        return any(answer is not None for answer in self.answers)

    def name(self, place: int) -> str:
        """Return the name of an object."""
        index = self.partition.index
        return str(place) if index is None else str(index[place])

    def constraints(self) -> Constraints:
        """Return what was known, with the answers."""
        from dempster.constraints import Constraints

        same = [pair for pair, answer in zip(self.pairs, self.answers, strict=True) if answer is True]
        different = [pair for pair, answer in zip(self.pairs, self.answers, strict=True) if answer is False]
        shape = (-1, 2)
        new = Constraints(
            np.reshape(np.array(same, dtype=np.int64), shape),
            np.reshape(np.array(different, dtype=np.int64), shape),
            n_objects=len(self.partition),
        )
        return self.known | new

    # ---- answers ----------------------------------------------------------------------------------------------------

    def read(self, path: Path) -> None:
        """Read answers from a table of two objects and a word; lines without a word are open questions."""
        from dempster.constraints.files import positions_of
        from dempster.io.atomic import as_file
        from dempster.io.tables import read_names, read_quietly

        index = range(len(self.partition)) if self.partition.index is None else self.partition.index
        table = read_quietly(as_file(path))
        if table.shape[1] < 3:
            raise UserError(f"{path.name} must have three columns: two objects and an answer")
        both = [positions_of(names, index, path.name) for names in read_names(path, table, (0, 1))]
        self.pairs = np.column_stack(both)
        self.answers = [_parse_answer(word, path) for word in table.iloc[:, 2]]
        self.contradictions = self.constraints().contradictions()
        for one in self.contradictions:
            self.screen.note(f"contradiction: {self._explain(one)}")

    def ask(self) -> None:
        """Ask for answers by keys; a contradiction is shown at once and can be undone."""
        self.screen.result()
        self.screen.result(f"{format_count(len(self.pairs), 'question')}: {_KEYS}", style="bold")
        place = 0
        while place < len(self.pairs):
            key = self._key(place)
            if key == "q":
                return
            if key == "u":
                place = max(place - 1, 0)
                self.answers[place] = None
                continue
            self.answers[place] = {"y": True, "n": False}.get(key)
            self.contradictions = self.constraints().contradictions()
            for one in self.contradictions:
                click.echo(f"  this contradicts what you said: {self._explain(one)}; u takes it back", err=True)
            place += 1

    def _key(self, place: int) -> str:
        first, second = (self.describe(one) for one in self.pairs[place])
        while True:
            click.echo(f"{place + 1}/{len(self.pairs)}  {first}\n     {second}\n     same cluster? ", nl=False)
            try:
                key = click.getchar().lower() or "q"
            except EOFError:  # Ctrl-D
                key = "q"
            click.echo({"y": "yes", "n": "no", "?": "do not know", "u": "undo", "q": "enough"}.get(key, key))
            if key in ("y", "n", "?", "u", "q"):
                return key
            click.echo(f"     {_KEYS}")

    def describe(self, place: int) -> str:
        """Return the name and the values of an object."""
        attributes = self.outcome.attributes
        if attributes is None:
            return self.name(place)
        row = attributes.table.iloc[place]
        cells = (
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items()
        )
        return f"{self.name(place)}: {', '.join(cells)}"

    def _explain(self, contradiction: Any) -> str:
        first, second = map(self.name, contradiction.cannot_link)
        chain = " - ".join(map(self.name, contradiction.chain))
        return f"{first} and {second} are different, but {chain} are the same"

    # ---- what follows -----------------------------------------------------------------------------------------------

    def learn(self) -> Any:
        """Cluster again with the answers and show the objects that moved; None if there is nothing to learn."""
        if not self.has_answers:
            return None
        from sklearn.base import clone

        before, estimator = self.partition, clone(self.outcome.estimator)
        prepared = self.outcome.prepared
        learned = {"y": prepared.y} if prepared.y is not None and self.outcome.recipe.learns_labels else {}
        with self.screen.working("learning from the answers"):
            estimator.fit(prepared.X, **learned, constraints=self.constraints())
        self.partition = estimator.credal_partition_
        changed = moved_objects(before, self.partition)
        given = sum(answer is not None for answer in self.answers)
        self.screen.result()
        self.screen.result(
            f"with {format_count(given, 'answer')}: {format_count(len(changed), 'object')} moved", style="bold"
        )
        self.screen.result()
        self.screen.result(str(self.partition.summary()))
        if len(changed):
            self.screen.result()
            self.screen.table(changed.head(10), index=False)
        return changed

    def show_questions(self) -> None:
        """Show the questions that nobody has answered."""
        self.screen.result()
        self.screen.result(
            f"{format_count(len(self.pairs), 'question')}: are these two in the same cluster?", style="bold"
        )
        for first, second in self.pairs:
            self.screen.result(f"  {self.name(first)} and {self.name(second)}")

    def write_questions(self, path: Path) -> None:
        """Write the questions with their answers as a table."""
        import pandas as pd

        write_table(pd.DataFrame(self.questions_document(), columns=["object", "other", "answer"]), path)

    def write_partition(self, path: Path) -> None:
        """Write the partition that follows the answers."""
        from dempster.io import write_partition

        write_partition(self.partition, path)

    def questions_document(self) -> list[dict[str, Any]]:
        """List the questions with their answers."""
        words = {True: "same", False: "different", None: None}
        return [
            {"object": self.name(first), "other": self.name(second), "answer": words[answer]}
            for (first, second), answer in zip(self.pairs, self.answers, strict=True)
        ]


def _parse_answer(word: Any, path: Path) -> bool | None:
    from dempster.constraints.files import DIFFERENT, SAME

    text = "" if word is None or word != word else str(word).strip().lower()
    if text in ("", "?"):
        return None
    if text not in SAME | DIFFERENT:
        raise UserError(f"{path.name}: an answer must be same, different or empty, got '{word}'")
    return text in SAME
