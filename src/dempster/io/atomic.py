"""Paths of files, failures that name the file, and files that appear whole or not at all.

What is written goes to a hidden temporary file in the same folder, which takes the name of the target only when
everything has reached the disk. Whatever fails before (a full disk, an exception, Ctrl-C) leaves the folder as it was.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dempster._errors import InvalidInputError, InvalidParameterError, MissingExtraError
from dempster._validation import listed, shown

_PREFIX = ".dempster-"
MAX_PATH_CHARACTERS = 32_767  # of any system
_EXTRAS = {".xlsx": ("openpyxl", "excel"), ".rds": ("rdata", "r")}  # packages and extras; others need pyarrow


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write one file whole or not at all.

    Parameters
    ----------
    path : path
        The file to make or to replace. Its folder must exist.

    Yields
    ------
    pathlib.Path
        An empty temporary file in the same folder and with the same extension: write to it. It becomes ``path`` when
        the block ends, and disappears when the block fails.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.io import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "note.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     Path(folder, "note.txt").read_text(), len(list(Path(folder).iterdir()))
    ('whole', 1)
    """
    with atomic_writes([path]) as temporaries:
        yield temporaries[0]


@contextmanager
def atomic_writes(paths: Iterable[str | os.PathLike[str]]) -> Iterator[list[Path]]:
    """Write several files all together or not at all.

    All temporary files are complete before the first takes its final name; should a later one fail to, the files that
    were already replaced get their former content back.

    Parameters
    ----------
    paths : iterable of paths
        Different files, to make or to replace. Their folders must exist.

    Yields
    ------
    list of pathlib.Path
        A temporary file for each path, in the same order.
    """
    if isinstance(paths, str | os.PathLike):
        raise InvalidParameterError("paths", "several paths", paths)
    targets = [_checked_target(path) for path in listed(paths, "paths", "different paths")]
    if len(set(targets)) < len(targets):
        raise InvalidParameterError("paths", "different files", [str(target) for target in targets])
    temporaries: list[Path] = []
    try:
        for target in targets:
            temporaries.append(_beside(target))
            _create(temporaries[-1], like=target)
        yield list(temporaries)
        for temporary in temporaries:
            _flush_to_disk(temporary)
        _rename_all(temporaries, targets)
    finally:
        for temporary in temporaries:
            _remove(temporary)
    for folder in {target.parent for target in targets}:
        with contextlib.suppress(OSError):  # some systems cannot flush a folder; the files are complete all the same
            _flush_to_disk(folder)


def as_path(path: str | os.PathLike[str], name: str = "path") -> Path:
    """Return the path of a file, given as text or as a `Path`; ``name`` is that of the argument."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InvalidParameterError(name, message=f"{name} must be text or a Path, got {type(path).__name__}")
    text = os.fspath(path)
    if len(text) > MAX_PATH_CHARACTERS:
        raise InvalidParameterError(
            name, message=f"{name} must have at most {MAX_PATH_CHARACTERS:,} characters, got {len(text):,}"
        )
    if "\0" in text:
        raise InvalidParameterError(name, "text without zero bytes", text)
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        raise InvalidParameterError(
            name, message=f"{name} must hold characters that the file system can write, got {shown(text)}"
        ) from error
    return Path(path)


def as_file(path: str | os.PathLike[str], name: str = "path") -> Path:
    """Return the path of a file that can be opened; raise the OSError of the system where it cannot.

    Pipes and devices are refused: some never end, and readers look at a file more than once.
    """
    found = as_path(path, name)
    if found.exists() and not found.is_dir() and not found.is_file():
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    with open(found, "rb"):
        pass
    return found


@contextmanager
def reading_file(path: Path) -> Iterator[None]:
    """Turn what readers raise on damaged files into an InvalidInputError of one line that names the file."""
    try:
        yield
    except MissingExtraError:
        raise
    except ImportError as error:
        raise MissingExtraError(path.name, *_EXTRAS.get(path.suffix.lower(), ("pyarrow", "parquet"))) from error
    except UnicodeError as error:
        raise InvalidInputError(f"cannot read {path.name}: this is not UTF-8 text; save it as UTF-8") from error
    except InvalidParameterError as error:
        message = f"cannot read {path.name}: {error}"
        raise InvalidParameterError(error.name, message=message, settings=error.settings) from error
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # the file system failed, not the content
        words = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInputError(f"cannot read {path.name}: {words}") from error


@contextmanager
def writing_file(path: Path) -> Iterator[Path]:
    """Write a file as `atomic_write` does; name it where a package is missing or a name cannot be encoded."""
    with atomic_write(path) as temporary:
        try:
            yield temporary
        except ImportError as error:
            raise MissingExtraError(path.name, "pyarrow", "parquet") from error
        except UnicodeEncodeError as error:
            character = error.object[error.start : error.end].encode("unicode_escape").decode()
            raise InvalidInputError(
                f"cannot write {path.name}: a name holds a character that UTF-8 lacks, {character}"
            ) from error


# ---- how atomic writes work -----------------------------------------------------------------------------------------


def _checked_target(path: str | os.PathLike[str]) -> Path:
    """The file itself when the path is a link, so that the link stays; devices and folders are refused."""
    target = Path(os.path.realpath(as_path(path)))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    return target


def _beside(target: Path) -> Path:
    """A fresh name in the same folder (renaming works within one file system) with the same extension."""
    return target.with_name(_PREFIX + secrets.token_hex(6) + "".join(target.suffixes[-2:])[-20:])


def _create(temporary: Path, like: Path) -> None:
    """Make the file, with the permissions of the one it replaces or the usual ones of the user."""
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        error.filename = str(like)  # the user knows this name, not that of the temporary file
        raise
    if like.exists():
        with contextlib.suppress(OSError):
            shutil.copymode(like, temporary)


def _flush_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() or os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rename_all(temporaries: list[Path], targets: list[Path]) -> None:
    """Rename one after the other; on failure put back what was there before."""
    former: dict[Path, Path] = {}
    tried: list[tuple[Path, Path]] = []
    try:
        if len(targets) > 1:  # a single rename needs no way back
            for target in targets:
                if target.exists():
                    former[target] = _beside(target)
                    _keep(target, former[target])
        for temporary, target in zip(temporaries, targets, strict=True):
            tried.append((temporary, target))
            os.replace(temporary, target)
    except BaseException:
        for temporary, target in tried:
            if temporary.exists():
                continue  # this is the one that failed
            if target in former:
                os.replace(former[target], target)
            else:
                _remove(target)
        raise
    finally:
        for kept in former.values():
            _remove(kept)


def _keep(target: Path, copy: Path) -> None:
    try:
        os.link(target, copy)
    except OSError:  # file systems without hard links
        shutil.copy2(target, copy)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
