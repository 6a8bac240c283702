"""Compile the kernels: every C file of the package goes into one shared library beside this file.

    python src/dempster/_native/build.py                       compile what has changed
    python src/dempster/_native/build.py --sanitize FOLDER     a library that watches its memory, for the tests

The package's build hook does the same when the package is installed. This module imports nothing but the standard
library, so that it can run before there is anything else.

The compiler is the one named by ``CC``, or the machine's, or the one in the wheel ``ziglang``, which is a whole C
compiler for every platform. A wheel for x86-64 holds the library twice: for every processor of the last fifteen years,
and for those with AVX2; the faster one is chosen when it is loaded. In a checkout only the one that this processor runs
is compiled. The results are the same to the last bit: products and sums are never fused or reordered
(``-ffp-contract=off``, no fast-math).
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent
CACHE = PACKAGE.parents[1] / "build" / "kernels"  # compiled files of a developer's checkout

# Errors of the mathematical functions are seen in their results, never in errno or traps: neither changes a bit.
FLAGS = ["-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden"]
WARNINGS = ["-Wall", "-Wextra", "-Wvla"]
SANITIZE = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

# The two kinds of x86-64 (its levels v2 and v3), as gcc and clang of any age call them, and as zig does.
BASELINE = ["-mssse3", "-msse4.1", "-msse4.2", "-mpopcnt", "-mcx16"]
AVX2 = [*BASELINE, "-mavx", "-mavx2", "-mbmi", "-mbmi2", "-mfma", "-mf16c", "-mlzcnt", "-mmovbe"]

_TRIAL = "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\ndouble f(double x) { return exp(x); }\n"


@dataclass(frozen=True)
class Compiler:
    """A command that compiles C, and whether it is zig, which calls processors by other names."""

    command: tuple[str, ...]
    zig: bool = False

    def works(self) -> bool:
        """Whether it makes a library of a few lines: the command may be there without its headers or its linker."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "trial.c")
            source.write_text(_TRIAL)
            command = [*self.command, "-shared", "-fPIC", str(source), "-o", str(Path(folder, "trial.so")), "-lm"]
            try:
                return subprocess.run(command, capture_output=True, timeout=120).returncode == 0
            except (OSError, subprocess.TimeoutExpired):
                return False


@dataclass(frozen=True)
class Target:
    """What is compiled for: this machine, or the one that zig's triple names."""

    system: str  # "linux", "darwin", "win32"
    machine: str  # "x86_64", "arm64", "aarch64", ...
    triple: str | None = None

    @classmethod
    def this_machine(cls) -> Target:
        machine = platform.machine().lower()
        return cls(sys.platform, "x86_64" if machine == "amd64" else machine)

    @property
    def suffix(self) -> str:
        return {"darwin": ".dylib", "win32": ".dll"}.get(self.system, ".so")


MACOS = "11.0"  # the oldest that a library for macOS runs on

# The platforms that wheels are made for, by their tags, and what zig calls them.
TARGETS = {
    "manylinux_2_17_x86_64": Target("linux", "x86_64", "x86_64-linux-gnu.2.17"),
    "manylinux_2_17_aarch64": Target("linux", "aarch64", "aarch64-linux-gnu.2.17"),
    "macosx_11_0_x86_64": Target("darwin", "x86_64", f"x86_64-macos.{MACOS}"),
    "macosx_11_0_arm64": Target("darwin", "arm64", f"aarch64-macos.{MACOS}"),
    "win_amd64": Target("win32", "x86_64", "x86_64-windows-gnu"),
}


def library_names(target: Target) -> list[str]:
    """Names of the libraries of a target, the one for every processor first."""
    kinds = ["kernels", "kernels-avx2"] if target.machine == "x86_64" else ["kernels"]
    return [kind + target.suffix for kind in kinds]


def names_here(compiler: Compiler) -> list[str]:
    """Names of the libraries that this machine needs: of two kinds the faster one, if its processor can run it."""
    target = Target.this_machine()
    names = library_names(target)
    if len(names) == 1:
        return names
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        asked = Path(folder, names[0])
        _run([*_command(compiler, target, asked), "-shared", str(HERE / "library.c"), "-o", str(asked), "-lm"])
        return names[1:] if ctypes.CDLL(str(asked)).library_has_avx2() else names[:1]


def machine_compiler() -> Compiler | None:
    """The compiler that ``CC`` names, else the first of the usual ones that works."""
    if os.environ.get("CC"):
        return Compiler(tuple(shlex.split(os.environ["CC"])))
    found = (Compiler((name,)) for name in ("cc", "gcc", "clang") if shutil.which(name))
    return next((compiler for compiler in found if compiler.works()), None)


def find_compiler(cross: bool = False) -> Compiler:
    """The machine's compiler, or zig's; zig's alone compiles for other machines."""
    compiler = None if cross else machine_compiler()
    if compiler:
        return compiler
    if importlib.util.find_spec("ziglang"):
        return Compiler((sys.executable, "-m", "ziglang", "cc"), zig=True)
    raise RuntimeError("no C compiler: install one (gcc or clang), name it in CC, or `pip install ziglang`")


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.c"))


def headers() -> list[Path]:
    return sorted(PACKAGE.rglob("*.h"))


def fingerprint() -> str | None:
    """Of all C text of the package; None where there is none, as in an installed wheel."""
    files = [*sources(), *headers()]
    return _hash(*(file.read_bytes() for file in files)) if files else None


def is_current() -> bool:
    """Whether what lies beside this file is compiled from the present C text, whose fingerprint it holds."""
    libraries = [HERE / name for name in library_names(Target.this_machine())]
    there = [library.read_bytes() for library in libraries if library.exists()]
    return bool(there) and all(str(fingerprint()).encode() in library for library in there)


def build_here(cache: Path | None = None) -> None:
    """Compile beside this file what this machine needs, and nothing else stays there."""
    compiler = find_compiler()
    kept = build(compiler=compiler, names=names_here(compiler), cache=cache)
    for name in library_names(Target.this_machine()):
        if HERE / name not in kept:
            (HERE / name).unlink(missing_ok=True)


def build(
    folder: Path = HERE,
    compiler: Compiler | None = None,
    target: Target | None = None,
    extra: Sequence[str] = (),
    cache: Path | None = None,
    names: Sequence[str] | None = None,
) -> list[Path]:
    """Compile the libraries of a target into a folder.

    Parameters
    ----------
    folder : where the libraries go; each replaces an older one at once, also while that is in use
    compiler, target : by default what this machine has and is
    extra : further flags
    cache : folder that keeps compiled files from one build to the next
    names : of `library_names`, those to compile, all by default
    """
    target = target or Target.this_machine()
    compiler = compiler or find_compiler(cross=target.triple is not None)
    folder.mkdir(parents=True, exist_ok=True)
    libraries = [folder / name for name in names or library_names(target)]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor() as pool:
        objects = cache or Path(scratch)
        objects.mkdir(parents=True, exist_ok=True)
        commands = [[*_command(compiler, target, library), *extra] for library in libraries]
        compiled = [pool.map(lambda s, c=command: _object(c, s, objects), sources()) for command in commands]
        for library, command, parts in zip(libraries, commands, compiled, strict=True):
            linked = Path(scratch, library.name)
            _run([*command, "-shared", *map(str, parts), "-o", str(linked), "-lm"])
            _replace(linked, library)
    return libraries


def _command(compiler: Compiler, target: Target, library: Path) -> list[str]:
    """The compiler with the flags of one library."""
    command = [*compiler.command, *FLAGS, *WARNINGS, f"-I{PACKAGE}"]
    if target.system != "win32":
        command.append("-fPIC")
    if target.triple:
        command += ["-target", target.triple]
    elif target.system == "darwin":
        command.append(f"-mmacosx-version-min={MACOS}")
    faster = library.stem.endswith("avx2")
    if compiler.zig:  # which would otherwise compile for the very processor it runs on
        kind = ("x86_64_v3" if faster else "x86_64_v2") if target.machine == "x86_64" else "baseline"
        command += [f"-mcpu={kind}", "-fno-sanitize=all"]
    elif target.machine == "x86_64":
        command += AVX2 if faster else BASELINE
    return command


def _object(command: list[str], source: Path, folder: Path) -> Path:
    """The compiled file of one source, kept under the hash of all that goes into it."""
    flags = [*command, f'-DFINGERPRINT="{fingerprint()}"'] if source.parent == HERE else command
    key = _hash("\0".join(flags).encode(), source.read_bytes(), *(h.read_bytes() for h in headers()))
    compiled = folder / f"{source.stem}-{key}.o"
    if not compiled.exists():
        partial = folder / f"{compiled.stem}-{os.getpid()}.o"
        _run([*flags, "-c", str(source), "-o", str(partial)])
        partial.replace(compiled)
    return compiled


def _hash(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


def _replace(new: Path, old: Path) -> None:
    """Put a library in the place of another: by renaming, so that a process that uses the old one keeps it."""
    beside = old.with_name(f".{old.name}.{os.getpid()}")
    shutil.copy2(new, beside)
    beside.replace(old)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"compiling the kernels failed: {shlex.join(command)}\n{done.stdout}{done.stderr}")
    sys.stderr.write(done.stderr)  # warnings


def main() -> None:
    parser = argparse.ArgumentParser(description="Compile the kernels of dempster.")
    parser.add_argument("--sanitize", metavar="FOLDER", type=Path, help="compile into FOLDER, watching the memory")
    parser.add_argument("--targets", action="store_true", help="only list the platforms that wheels are made for")
    options = parser.parse_args()
    if options.targets:
        print(*TARGETS, sep="\n")
        return
    folder = options.sanitize
    try:
        if folder:
            build(folder, extra=SANITIZE, cache=CACHE, names=library_names(Target.this_machine())[:1])
        elif not is_current():
            build_here(CACHE)
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
