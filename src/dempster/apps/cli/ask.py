"""``dempster ask``: questions to an expert, answers, contradictions, and what they change."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from dempster._errors import InvalidInputError
from dempster.apps.cli.cluster import headline_of, run_recipe
from dempster.apps.cli.compare import moved_objects
from dempster.apps.cli.shared.errors import UserError, WrongUse, readable_warnings, user_errors
from dempster.apps.cli.shared.kinds import PATH, WholeNumber
from dempster.apps.cli.shared.options import RecipeCommand, common, recipe_from, recipe_options
from dempster.apps.cli.shared.output import (
    ANSWERS,
    Screen,
    all_or_none,
    beside,
    check_extensions,
    check_outputs,
    check_partition_kind,
    further_outputs,
    keep_files_of_others,
    partition_document,
    write_table,
)
from dempster.apps.cli.shared.subjects import files_read
from dempster.apps.recipe.words import counted

if TYPE_CHECKING:
    from dempster.apps.recipe import Outcome
    from dempster.constraints import Constraints
    from dempster.partition import CredalPartition

__all__ = ["ask"]

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
@click.option(
    "-o",
    "--output",
    type=PATH,
    metavar="PATH",
    help="Where to keep questions and answers. A file that is there is replaced. [default: FILE.answers.csv, unless it "
    "holds answers]",
)
@click.option("--partition", type=PATH, metavar="PATH", help="Also write the partition that follows the answers.")
@common
@click.pass_context
def ask(ctx: click.Context, **options: Any) -> None:
    """Cluster the rows of FILE, ask which pairs belong together, and cluster again with the answers.

    On a terminal each question is answered by a key. Otherwise, or with --json, the questions are written to a table;
    fill its third column and give it back by --answers. Answers that contradict each other are shown with the chain of
    answers they contradict. Methods that learn from answers are evclus, cecm and nnevclus.

    \b
    dempster ask flowers.csv -c 3 --index name
    dempster ask flowers.csv -c 3 --answers flowers.answers.csv --partition taught.csv
    """
    screen = Screen(quiet=options["quiet"], as_json=options["as_json"])
    recipe = recipe_from(ctx, options)
    file = Path(recipe.files[0])
    output = options["output"] or beside(file, ".answers.csv")
    if output.suffix.lower() != ".csv":
        raise WrongUse(f"--output: the extension must be .csv, got {output.suffix or 'none'}")
    with user_errors(wrong_use=True):
        _check_learns(recipe)
    if options["output"] is None:
        _keep_answers(output, options["answers"])
    targets = [path for path in (output, options["partition"], options["save_config"]) if path is not None]
    if options["partition"] is not None:
        check_partition_kind(options["partition"], "--partition")
    check_extensions(further_outputs(options))
    check_outputs(targets, files_read(recipe))
    if options["answers"] is not None:  # which may be those that are kept
        check_outputs([path for path in targets if path is not output], [options["answers"]])
    interactive = sys.stdin.isatty() and not options["as_json"] and options["answers"] is None
    with readable_warnings():
        outcome = run_recipe(recipe, screen)
        screen.partition(headline_of(outcome), outcome.partition)
        expert = _Expert(outcome, options["questions"], screen)
        if options["answers"] is not None:
            expert.read(options["answers"])
        elif interactive:
            expert.ask()
        changed = expert.taught()
        with user_errors():
            _write(targets, output, options, expert)
    if not expert.has_answers:
        expert.show_questions()
    screen.wrote(targets)
    screen.document(
        "ask",
        recipe=recipe.to_dict(),
        questions=expert.questions_document(),
        contradictions=[str(one) for one in expert.contradictions],
        changed=None if changed is None else changed.to_dict("records"),
        partition=partition_document(expert.partition),
        files=[str(path) for path in targets],
    )


def _keep_answers(output: Path, given: Path | None) -> None:
    """Where answers are kept unless the user says it: those that are there would be lost if none are given."""
    keep_files_of_others(output, ANSWERS)
    if given is not None or not output.is_file():
        return
    if any(not line.endswith(",") for line in output.read_text(encoding="utf-8", errors="replace").splitlines()[1:]):
        raise UserError(f"{output} holds answers, which would be lost: give them by --answers, or choose --output")


def _check_learns(recipe: Any) -> None:
    from dempster.apps.recipe.methods import method_takes, methods_with

    if not method_takes(recipe.method, "constraints"):
        others = ", ".join(methods_with("constraints"))
        raise InvalidInputError(f"method {recipe.method} does not learn from answers; take --method {others}")


class _Expert:
    """Questions, what was answered, and the partition that follows.

    Attributes
    ----------
    pairs : (q, 2) int array
        The questions, by positions of objects.
    answers : list of True (same), False (different) or None (not known)
    """

    def __init__(self, outcome: Outcome, n_questions: int, screen: Screen):
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
        """What an object is called."""
        index = self.partition.index
        return str(place) if index is None else str(index[place])

    def constraints(self) -> Constraints:
        """What is known, with the answers."""
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
        """Answers from a table of two objects and a word; lines without a word are questions still open."""
        from dempster.constraints.files import positions_of
        from dempster.io.atomic import as_file
        from dempster.io.tables import cells_as_names, read_quietly

        index = range(len(self.partition)) if self.partition.index is None else self.partition.index
        with user_errors():
            table = read_quietly(as_file(path))
            if table.shape[1] < 3:
                raise InvalidInputError(f"{path.name} must have three columns: two objects and an answer")
            both = [positions_of(names, index, path.name) for names in cells_as_names(path, table, (0, 1))]
        self.pairs = np.column_stack(both)
        self.answers = [self._meant(word, path) for word in table.iloc[:, 2]]
        with user_errors():
            self.contradictions = self.constraints().contradictions()
        for one in self.contradictions:
            self.screen.note(f"contradiction: {self._in_words(one)}")

    @staticmethod
    def _meant(word: Any, path: Path) -> bool | None:
        from dempster.constraints.files import DIFFERENT, SAME

        text = "" if word is None or word != word else str(word).strip().lower()
        if text in ("", "?"):
            return None
        if text not in SAME | DIFFERENT:
            raise UserError(f"{path.name}: an answer must be same, different or empty, got '{word}'")
        return text in SAME

    def ask(self) -> None:
        """Answers by keys; a contradiction is told at once and can be undone."""
        self.screen.result()
        self.screen.result(f"{counted(len(self.pairs), 'question')}: {_KEYS}", style="bold")
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
                click.echo(f"  this contradicts what you said: {self._in_words(one)}; u takes it back", err=True)
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
        """An object by its name and its values, as they were read."""
        attributes = self.outcome.attributes
        if attributes is None:
            return self.name(place)
        row = attributes.table.iloc[place]
        told = ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items()
        )
        return f"{self.name(place)}: {told}"

    def _in_words(self, contradiction: Any) -> str:
        first, second = map(self.name, contradiction.cannot_link)
        chain = " - ".join(map(self.name, contradiction.chain))
        return f"{first} and {second} are different, but {chain} are the same"

    # ---- what follows -----------------------------------------------------------------------------------------------

    def taught(self) -> Any:
        """Cluster again with the answers, and tell who moved; None if there is nothing to learn."""
        if not self.has_answers:
            return None
        from sklearn.base import clone

        before, estimator = self.partition, clone(self.outcome.estimator)
        prepared = self.outcome.prepared
        learned = {"y": prepared.y} if prepared.y is not None and self.outcome.recipe.learns_labels else {}
        with self.screen.working("learning from the answers"), user_errors():
            estimator.fit(prepared.X, **learned, constraints=self.constraints())
        self.partition = estimator.credal_partition_
        changed = moved_objects(before, self.partition)
        given = sum(answer is not None for answer in self.answers)
        self.screen.result()
        self.screen.result(f"with {counted(given, 'answer')}: {counted(len(changed), 'object')} moved", style="bold")
        self.screen.result()
        self.screen.result(str(self.partition.summary()))
        if len(changed):
            self.screen.result()
            self.screen.table(changed.head(10), index=False)
        return changed

    def show_questions(self) -> None:
        """The questions, where nobody is there to answer them."""
        self.screen.result()
        self.screen.result(f"{counted(len(self.pairs), 'question')}: are these two in the same cluster?", style="bold")
        for first, second in self.pairs:
            self.screen.result(f"  {self.name(first)} and {self.name(second)}")

    def questions_document(self) -> list[dict[str, Any]]:
        """Questions with their answers."""
        words = {True: "same", False: "different", None: None}
        return [
            {"object": self.name(first), "other": self.name(second), "answer": words[answer]}
            for (first, second), answer in zip(self.pairs, self.answers, strict=True)
        ]


def _write(targets: list[Path], output: Path, options: dict[str, Any], expert: _Expert) -> None:
    import pandas as pd

    from dempster.io import write_partition

    with all_or_none(targets) as temporaries:
        for target, path in zip(targets, temporaries, strict=True):
            if target is output:
                columns = ["object", "other", "answer"]
                write_table(pd.DataFrame(expert.questions_document(), columns=columns), path)
            elif target is options["partition"]:
                write_partition(expert.partition, path)
            else:
                path.write_text(expert.outcome.recipe.to_toml(), encoding="utf-8")
