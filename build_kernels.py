"""Compile all C files of the package into one shared library in ``src/dempster/_native``.

    python build_kernels.py                       compile changed files
    python build_kernels.py --sanitize FOLDER     compile with sanitizers

The build hook of the package (``hatch_build.py``) calls this module during installation. It imports
only the standard library, because it runs before any dependency is installed.

The compiler is the value of the environment variable ``CC``, the C compiler of the system, or that
of the Python package ``ziglang``, in this order. ``CC`` may compile for another processor. A wheel
for x86-64 contains two libraries, one for SSE4.2 and one for AVX2, and the fastest one that the
processor supports is loaded. In a checkout, only this one is compiled. Both give the same results
to the last bit, because products and sums are never fused or reordered (``-ffp-contract=off``, no
fast-math).
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT / "src" / "dempster"
NATIVE = PACKAGE / "_native"
CACHE = ROOT / "build" / "kernels"  # object files of a checkout

# errno and floating-point traps can be disabled without changing the results, because no code uses
# them.
FLAGS = [
    "-std=c11",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
]
WARNINGS = ["-Wall", "-Wextra", "-Wvla"]
SANITIZE = [
    "-O1",
    "-g",
    "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
]

# Flags for the x86-64 levels v2 and v3. Older compilers do not accept the flags -march=x86-64-v2
# and -v3.
BASELINE = ["-mssse3", "-msse4.1", "-msse4.2", "-mpopcnt", "-mcx16"]
AVX2 = [
    *BASELINE,
    "-mavx",
    "-mavx2",
    "-mbmi",
    "-mbmi2",
    "-mfma",
    "-mf16c",
    "-mlzcnt",
    "-mmovbe",
]

# A side module of Emscripten: memory and functions of the C library come from the main module.
WASM_LINK_FLAGS = [
    "-shared",
    "--experimental-pic",
    "--import-memory",
    "--allow-undefined",
    "--no-entry",
    "--strip-all",
]

_TRIAL = """\
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
double f(double x) { return exp(x); }
"""


def _load_fingerprint() -> Any:
    """Load `dempster._native.fingerprint` without its package."""
    path = NATIVE / "fingerprint.py"
    spec = importlib.util.spec_from_file_location("fingerprint", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_native = _load_fingerprint()


@dataclass(frozen=True)
class Compiler:
    """Command of a C compiler, and whether it is zig, which has different flags."""

    command: tuple[str, ...]
    zig: bool = False

    def works(self) -> bool:
        """Return whether the compiler can build a small library, with headers and the linker."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "trial.c")
            source.write_text(_TRIAL)
            command = [*self.command, "-fPIC"]
            link = [*command, *_link_flags([source], Path(folder, "trial.so"))]
            try:
                return (
                    subprocess.run(link, capture_output=True, timeout=120).returncode
                    == 0
                )
            except (OSError, subprocess.TimeoutExpired):
                return False

    def target(self) -> BuildTarget:
        """Return the platform for which the compiler generates code."""
        here = BuildTarget.this_machine()
        if self.zig:
            return here
        triple = _run([*self.command, "-dumpmachine"]).strip()
        machine = _MACHINES.get(triple.partition("-")[0], here.machine)
        if here.system == "darwin" and machine == "aarch64":
            machine = "arm64"
        return BuildTarget(here.system, machine)


@dataclass(frozen=True)
class BuildTarget:
    """Platform for which the library is compiled.

    ``triple`` is its name in zig (None for this machine).
    """

    system: str  # "linux", "darwin", "win32", "emscripten"
    machine: str  # "x86_64", "arm64", "aarch64", "wasm32", ...
    triple: str | None = None

    @classmethod
    def this_machine(cls) -> BuildTarget:
        machine = platform.machine().lower()
        return cls(sys.platform, "x86_64" if machine == "amd64" else machine)

    @property
    def suffix(self) -> str:
        return {"darwin": ".dylib", "win32": ".dll"}.get(self.system, ".so")


# Names of processors in Python, by their names in compilers. Others are those of this machine.
_MACHINES = {
    "x86_64": "x86_64",
    "aarch64": "aarch64",
    "arm64": "arm64",
    "powerpc64le": "ppc64le",
}

MACOS = "11.0"  # oldest supported version of macOS

# Platforms of the wheels, by platform tag.
TARGETS = {
    "manylinux_2_17_x86_64": BuildTarget("linux", "x86_64", "x86_64-linux-gnu.2.17"),
    "manylinux_2_17_aarch64": BuildTarget("linux", "aarch64", "aarch64-linux-gnu.2.17"),
    "macosx_11_0_x86_64": BuildTarget("darwin", "x86_64", f"x86_64-macos.{MACOS}"),
    "macosx_11_0_arm64": BuildTarget("darwin", "arm64", f"aarch64-macos.{MACOS}"),
    "win_amd64": BuildTarget("win32", "x86_64", "x86_64-windows-gnu"),
    # Pyodide. zig has the headers of WASI's C library, whose functions Emscripten has too.
    "pyemscripten_2025_0_wasm32": BuildTarget("emscripten", "wasm32", "wasm32-wasi"),
    "pyemscripten_2026_0_wasm32": BuildTarget("emscripten", "wasm32", "wasm32-wasi"),
}


def library_names(target: BuildTarget) -> list[str]:
    """Return the file names of the libraries for a target.

    The first one supports all processors.
    """
    kinds = ["kernels"]
    if target.machine == "x86_64":
        kinds.append("kernels-avx2")
    return [kind + target.suffix for kind in kinds]


def names_here(compiler: Compiler) -> list[str]:
    """Return a list with the file name of the fastest library that this processor supports."""
    target = BuildTarget.this_machine()
    names = library_names(target)
    if len(names) == 1:
        return names
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        probe = Path(folder, names[0])
        command = _command(compiler, target, probe)
        _run([*command, *_link_flags([NATIVE / "library.c"], probe)])
        if ctypes.CDLL(str(probe)).library_has_avx2():
            return names[1:]
        return names[:1]


def machine_compiler() -> Compiler | None:
    """Return the compiler ``CC``, or the first of cc, gcc and clang that works."""
    if os.environ.get("CC"):
        return Compiler(tuple(shlex.split(os.environ["CC"])))
    found = (Compiler((name,)) for name in ("cc", "gcc", "clang") if shutil.which(name))
    return next((compiler for compiler in found if compiler.works()), None)


def find_compiler(cross: bool = False) -> Compiler:
    """Return the system's C compiler, or zig if there is none or to compile for other platforms."""
    compiler = None if cross else machine_compiler()
    if compiler:
        return compiler
    if importlib.util.find_spec("ziglang"):
        return Compiler((sys.executable, "-m", "ziglang", "cc"), zig=True)
    raise RuntimeError(
        "no C compiler found: install gcc or clang, set CC, or run `pip install ziglang`"
    )


def is_current() -> bool:
    """Return whether the libraries in this folder were compiled from the current C sources."""
    libraries = [NATIVE / name for name in library_names(BuildTarget.this_machine())]
    there = [library.read_bytes() for library in libraries if library.exists()]
    return bool(there) and all(
        str(_native.fingerprint()).encode() in library for library in there
    )


def build_here(cache: Path | None = None) -> None:
    """Compile the library for this machine into this folder, and delete those for other ones."""
    compiler = find_compiler()
    kept = build(compiler=compiler, names=names_here(compiler), cache=cache)
    for name in library_names(BuildTarget.this_machine()):
        if NATIVE / name not in kept:
            (NATIVE / name).unlink(missing_ok=True)


def build(
    folder: Path = NATIVE,
    compiler: Compiler | None = None,
    target: BuildTarget | None = None,
    extra: Sequence[str] = (),
    cache: Path | None = None,
    names: Sequence[str] | None = None,
) -> list[Path]:
    """Compile the libraries of a target, and replace them atomically, even if they are in use."""
    compiler = compiler or find_compiler(cross=target is not None)
    target = target or compiler.target()
    folder.mkdir(parents=True, exist_ok=True)
    libraries = [folder / name for name in names or library_names(target)]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor() as pool:
        objects = cache or Path(scratch)
        objects.mkdir(parents=True, exist_ok=True)
        commands = [
            [*_command(compiler, target, library), *extra] for library in libraries
        ]
        compiled = [
            pool.map(lambda s, c=command: _object(c, s, objects), _native.sources())
            for command in commands
        ]
        for library, command, parts in zip(libraries, commands, compiled, strict=True):
            linked = Path(scratch, library.name)
            if target.system == "emscripten":
                command = [*compiler.command[:-1], "wasm-ld", *WASM_LINK_FLAGS]
                _run([*command, *map(str, parts), "-o", str(linked)])
            else:
                _run([*command, *_link_flags(parts, linked)])
            _replace(linked, library)
    return libraries


def _link_flags(parts: Iterable[Path], library: Path) -> list[str]:
    return ["-shared", *map(str, parts), "-o", str(library), "-lm"]


def _command(compiler: Compiler, target: BuildTarget, library: Path) -> list[str]:
    command = [*compiler.command, *FLAGS, *WARNINGS, f"-I{PACKAGE}"]
    if target.system != "win32":
        command.append("-fPIC")
    if target.triple:
        command += ["-target", target.triple]
    elif target.system == "darwin":
        command.append(f"-mmacosx-version-min={MACOS}")
    faster = library.stem.endswith("avx2")
    if compiler.zig:  # Without -mcpu, zig compiles for the processor on which it runs.
        kind = "baseline"
        if target.machine == "x86_64":
            kind = "x86_64_v3" if faster else "x86_64_v2"
        elif target.machine == "wasm32":
            kind = "generic+simd128"  # All browsers have these vectors since 2023.
        command += [f"-mcpu={kind}", "-fno-sanitize=all"]
    elif target.machine == "x86_64":
        command += AVX2 if faster else BASELINE
    return command


def _object(command: list[str], source: Path, folder: Path) -> Path:
    """Return the object file of a source file, compiled if the sources or flags have changed."""
    flags = list(command)
    if source.parent == NATIVE:
        flags.append(f'-DFINGERPRINT="{_native.fingerprint()}"')
    files = [source, *_native.headers()]
    key = _native.hash_parts(
        "\0".join(flags).encode(), *(file.read_bytes() for file in files)
    )
    compiled = folder / f"{source.stem}-{key}.o"
    if not compiled.exists():
        partial = folder / f"{compiled.stem}-{os.getpid()}.o"
        _run([*flags, "-c", str(source), "-o", str(partial)])
        partial.replace(compiled)
    return compiled


def _replace(new: Path, old: Path) -> None:
    """Replace a library by renaming a copy, so that other processes can still use the old one."""
    beside = old.with_name(f".{old.name}.{os.getpid()}")
    shutil.copy2(new, beside)
    beside.replace(old)


def _run(command: list[str]) -> str:
    """Return the output of a command, and show its warnings."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(
            f"compiling the kernels failed: {shlex.join(command)}\n{done.stdout}{done.stderr}"
        )
    sys.stderr.write(done.stderr)
    return done.stdout


def main() -> None:
    """Compile the kernels, or list the platforms of the wheels."""
    parser = argparse.ArgumentParser(description="Compile the kernels of dempster.")
    parser.add_argument(
        "--sanitize",
        metavar="FOLDER",
        type=Path,
        help="compile into FOLDER with sanitizers",
    )
    parser.add_argument(
        "--targets",
        action="store_true",
        help="list the platforms of the wheels and exit",
    )
    options = parser.parse_args()
    if options.targets:
        print(*TARGETS, sep="\n")
        return
    folder = options.sanitize
    try:
        if folder:
            names = library_names(BuildTarget.this_machine())[:1]
            build(folder, extra=SANITIZE, cache=CACHE, names=names)
        elif not is_current():
            build_here(CACHE)
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
