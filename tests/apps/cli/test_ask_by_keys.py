"""``dempster ask`` on a terminal, with simulated keys."""

import os
import select
import subprocess
import sys
import time

import pandas as pd
import pytest

from tests.apps.recipe.data import flowers

pty = pytest.importorskip("pty", reason="needs pseudo-terminals")
termios = pytest.importorskip("termios")

TIMEOUT = 300.0  # seconds
COMMAND = "from dempster.apps.cli import main; main()"
OPTIONS = (
    "ask",
    "flowers.csv",
    "-c",
    "3",
    "--method",
    "evclus",
    "--n-init",
    "2",
    "--index",
    "name",
    "-n",
    "4",
)


class Terminal:
    """The program in a pseudo-terminal."""

    def __init__(self, folder, *arguments):
        self.screen, child = pty.openpty()
        self.seen = ""
        self.program = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *arguments],
            stdin=child,
            stdout=child,
            stderr=child,
            cwd=folder,
            env={**os.environ, "COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"},
            start_new_session=True,
        )
        os.close(child)

    def press(self, key, then):
        """Press a key when the program waits for one, and wait for the text that follows."""
        self._wait(
            lambda: not termios.tcgetattr(self.screen)[3] & termios.ICANON,
            "waits for a key",
        )
        before = len(self.seen)
        os.write(self.screen, key.encode())
        self._wait(lambda: then in self.seen[before:], f"answers {then!r} to {key!r}")

    def wait(self):
        """Return the exit code."""
        self._wait(lambda: self.program.poll() is not None, "ends")
        while self._read(0.05):
            pass
        os.close(self.screen)
        return self.program.returncode

    def _wait(self, condition, what):
        end = time.monotonic() + TIMEOUT
        while not condition():
            self._read(0.02)
            if time.monotonic() > end:
                self.program.kill()
                raise AssertionError(
                    f"the program never {what}; the screen shows:\n{self.seen}"
                )

    def _read(self, seconds):
        try:
            if select.select([self.screen], [], [], seconds)[0]:
                new = os.read(self.screen, 4096)
            else:
                new = b""
        except OSError:
            new = b""
        self.seen += new.decode(errors="replace")
        return new


@pytest.fixture
def folder(tmp_path):
    flowers(60).to_csv(tmp_path / "flowers.csv", index=False)
    return tmp_path


def test_answers_by_keys(folder):
    terminal = Terminal(folder, *OPTIONS, "--partition", "new.csv")
    terminal.press("y", "yes")
    # not a valid key: the program prints the keys
    terminal.press("x", "y same cluster, n different clusters")
    terminal.press("n", "no")
    terminal.press("u", "undo")
    terminal.press("?", "do not know")
    terminal.press("Y", "yes")
    terminal.press("n", "no")
    assert terminal.wait() == 0, terminal.seen
    assert "4 questions: y same cluster" in terminal.seen
    assert "1/4" in terminal.seen
    assert "with 3 answers" in terminal.seen
    answers = pd.read_csv(folder / "flowers.answers.csv")["answer"]
    assert answers.fillna("").tolist() == ["same", "", "same", "different"]
    assert (folder / "new.csv").exists()


@pytest.mark.long
@pytest.mark.parametrize("key", ["q", "\x04"], ids=["q", "end of input"])
def test_quit(folder, key):
    terminal = Terminal(folder, *OPTIONS)
    terminal.press("n", "no")
    terminal.press(key, "quit")
    assert terminal.wait() == 0, terminal.seen
    assert pd.read_csv(folder / "flowers.answers.csv")["answer"].fillna(
        ""
    ).tolist() == [
        "different",
        "",
        "",
        "",
    ]


def test_interrupted(folder):
    terminal = Terminal(folder, *OPTIONS)
    terminal.press("y", "yes")
    terminal.press("\x03", "dempster: interrupted")
    assert terminal.wait() == 130, terminal.seen
    assert [path.name for path in folder.iterdir()] == ["flowers.csv"]
