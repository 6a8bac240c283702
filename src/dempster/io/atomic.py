"""Validate paths, raise errors that name the file, and write files atomically.

An atomic write creates a hidden temporary file in the same folder, and renames it when its content
is on the disk. If anything fails before the rename (a full disk, an exception, Ctrl-C), the folder
is unchanged.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dempster._errors import InvalidInputError, InvalidParameterError, MissingExtraError
from dempster._types import FilePath

_PREFIX = ".dempster-"
# required package and extra by extension; other formats need pyarrow
_EXTRAS = {".xlsx": ("openpyxl", "excel")}


@contextmanager
def atomic_write(path: FilePath) -> Iterator[Path]:
    """Write one file completely or not at all (see `atomic_writes`)."""
    with atomic_writes([path]) as temporaries:
        yield temporaries[0]


@contextmanager
def atomic_writes(paths: Iterable[FilePath]) -> Iterator[list[Path]]:
    """Write either all of several different files or none of them.

    Yield an empty temporary file for each path.

    The temporary files have the same extensions as the paths, whose folders must exist. They are
    renamed when the ``with`` block ends, and removed if it raises an exception. If a rename fails,
    the former files are restored.
    """
    targets = [_validate_target(path) for path in paths]
    temporaries: list[Path] = []
    backups: dict[Path, Path] = {}
    try:
        for target in targets:
            # A rename needs the same file system, and so the same folder.
            suffix = "".join(target.suffixes[-2:])[-20:]
            temporary = target.with_name(_PREFIX + secrets.token_hex(6) + suffix)
            temporaries.append(temporary)
            _create(temporary, like=target)
        yield list(temporaries)
        for temporary in temporaries:
            _flush_to_disk(temporary)
        pairs = list(zip(temporaries, targets, strict=True))
        for temporary, target in pairs:
            if len(pairs) > 1 and target.exists():
                backups[target] = Path(f"{temporary}~")
                shutil.copy2(target, backups[target])
        try:
            for pair in pairs:
                os.replace(*pair)
        except BaseException:
            for temporary, target in pairs:
                if target in backups:
                    os.replace(backups[target], target)
                elif not temporary.exists():
                    target.unlink()
            raise
    finally:
        for file in (*temporaries, *backups.values()):
            with contextlib.suppress(OSError):
                file.unlink()
    for folder in {target.parent for target in targets}:
        with contextlib.suppress(OSError):  # Some systems cannot flush a folder.
            _flush_to_disk(folder)


def as_path(path: FilePath, name: str = "path") -> Path:
    """Return a path given as text or `Path`.

    Raise InvalidParameterError for the argument ``name`` if it is invalid.
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InvalidParameterError(
            name, must=f"be text or a Path, got {type(path).__name__}"
        )
    if path == "":
        raise InvalidParameterError(name, must="not be an empty name")
    return Path(path)


def as_file(path: FilePath, name: str = "path") -> Path:
    """Return the path of a file to read, which for "-" is a copy of the standard input.

    Raise an OSError for pipes, devices and files that cannot be opened.
    """
    file = as_path(path, name)
    if str(file) == "-":
        folder = Path(tempfile.mkdtemp(prefix="dempster-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        file = folder / "stdin.csv"  # Readers need a regular file.
        with file.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        return file
    if file.exists() and not file.is_dir() and not file.is_file():
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    with open(file, "rb"):
        pass
    return file


def compute_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def wrap_read_errors(path: Path) -> Iterator[None]:
    """Convert exceptions of readers to an InvalidInputError of one line that names the file."""
    try:
        yield
    except MissingExtraError:
        raise
    except ImportError as error:
        raise MissingExtraError(
            path.name, *_EXTRAS.get(path.suffix.lower(), ("pyarrow", "parquet"))
        ) from error
    except UnicodeError as error:
        raise InvalidInputError(
            f"cannot read {path.name}: the file is not UTF-8 text; save it as UTF-8"
        ) from error
    except InvalidParameterError as error:
        message = f"cannot read {path.name}: {error}"
        raise InvalidParameterError(error.name, message=message) from error
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # The error comes from the file system, not from the content of the file.
        message = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInputError(f"cannot read {path.name}: {message}") from error


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Write a file like `atomic_write`.

    Errors for missing packages and unencodable names contain the file name.
    """
    with atomic_write(path) as temporary:
        try:
            yield temporary
        except ImportError as error:
            raise MissingExtraError(path.name, "pyarrow", "parquet") from error
        except UnicodeEncodeError as error:
            raise InvalidInputError(f"cannot write {path.name}: {error}") from error


# ---- steps of an atomic write --------------------------------------------------------------------


def _validate_target(path: FilePath) -> Path:
    """Return the file to write with links resolved, so that links are not replaced.

    Reject devices and folders.
    """
    target = Path(os.path.realpath(as_path(path)))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    return target


def _create(temporary: Path, like: Path) -> None:
    """Create an empty file with the permissions of the file ``like``, if that exists."""
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:
        # The user does not know the name of the temporary file.
        error.filename = str(like)
        raise
    if like.exists():
        with contextlib.suppress(OSError):
            shutil.copymode(like, temporary)


def _flush_to_disk(path: Path) -> None:
    # Windows flushes only files that are open for writing, and no folders.
    flags = os.O_RDWR if os.name == "nt" else os.O_RDONLY
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
