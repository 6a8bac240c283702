"""Build of the kernels: compiler, flags and the library that is loaded."""

import os
import subprocess
import sys
from pathlib import Path

import build_kernels as build
import pytest
from build_kernels import BuildTarget, Compiler

from dempster._native import binding

X86 = BuildTarget("linux", "x86_64")
ARM = BuildTarget("linux", "aarch64")


@pytest.fixture
def no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)


def ziglang(monkeypatch, there):
    monkeypatch.setattr(
        build.importlib.util, "find_spec", lambda name: object() if there else None
    )


def test_zig_without_a_compiler(no_compiler, monkeypatch):
    ziglang(monkeypatch, True)
    assert build.machine_compiler() is None
    assert build.find_compiler() == Compiler(
        (sys.executable, "-m", "ziglang", "cc"), zig=True
    )


def test_error_without_any_compiler(no_compiler, monkeypatch):
    ziglang(monkeypatch, False)
    with pytest.raises(
        RuntimeError, match="no C compiler found: .* `pip install ziglang`"
    ):
        build.find_compiler()


def test_broken_compiler_is_ignored(no_compiler, monkeypatch, tmp_path):
    """The `cc` of macOS may only offer to install a compiler.

    Other systems may lack the headers.
    """
    pretended = tmp_path / "cc"
    pretended.write_text("#!/bin/sh\nexit 1\n")
    pretended.chmod(0o755)
    assert build.machine_compiler() is None
    assert not Compiler((str(tmp_path / "nowhere"),)).works()


def test_compiler_of_the_environment(monkeypatch):
    monkeypatch.setenv("CC", "ccache clang-17")
    assert build.find_compiler() == Compiler(("ccache", "clang-17"))


@pytest.mark.parametrize(
    ("triple", "machine"),
    [
        ("x86_64-linux-gnu", "x86_64"),
        ("aarch64-conda-linux-gnu", "aarch64"),
        ("powerpc64le-conda-linux-gnu", "ppc64le"),
        ("arm-linux-gnueabihf", "armv7l"),
    ],
)
def test_compiler_for_another_processor(monkeypatch, tmp_path, triple, machine):
    """The name of the wheel and the flags are those of the processor of the compiler."""
    pytest.importorskip("hatchling")
    import hatch_build

    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/sh\necho {triple}\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    here = "armv7l" if machine == "armv7l" else "x86_64"
    monkeypatch.setattr(hatch_build.platform, "machine", lambda: here)
    monkeypatch.setattr(hatch_build.sys, "platform", "linux")
    monkeypatch.setattr(hatch_build.sysconfig, "get_platform", lambda: f"linux-{here}")
    assert hatch_build._platform() == f"linux_{machine}"
    target = build.find_compiler().target()
    assert ("kernels-avx2.so" in build.library_names(target)) == (machine == "x86_64")
    command = build._command(build.find_compiler(), target, Path("kernels.so"))
    assert ("-msse4.2" in command) == (machine == "x86_64")


def test_other_platforms_need_zig(monkeypatch):
    ziglang(monkeypatch, True)
    assert build.find_compiler(cross=True).zig


def test_hook_requires_zig_without_a_compiler(no_compiler, monkeypatch):
    pytest.importorskip("hatchling")
    from hatch_build import Kernels

    hook = Kernels.__new__(Kernels)
    assert hook.dependencies() == ["ziglang"]
    monkeypatch.setenv("CC", "gcc")
    assert hook.dependencies() == []


def test_libraries_of_a_platform():
    assert build.library_names(X86) == ["kernels.so", "kernels-avx2.so"]
    assert build.library_names(ARM) == ["kernels.so"]
    assert build.library_names(BuildTarget("darwin", "arm64")) == ["kernels.dylib"]
    assert build.library_names(build.TARGETS["win_amd64"]) == [
        "kernels.dll",
        "kernels-avx2.dll",
    ]


@pytest.mark.parametrize(
    "compiler", [Compiler(("gcc",)), Compiler(("zig", "cc"), zig=True)]
)
def test_flags(compiler):
    """Results are identical everywhere: no fused or reordered operations, no code for the local processor."""
    for target in (X86, ARM, *build.TARGETS.values()):
        for name in build.library_names(target):
            command = build._command(compiler, target, Path(name))
            assert "-ffp-contract=off" in command
            assert not any("fast" in flag or "native" in flag for flag in command)
            if compiler.zig:
                assert sum(flag.startswith("-mcpu=") for flag in command) == 1
            elif target.machine == "x86_64":
                assert ("-mavx2" in command) == ("avx2" in name)


def test_error_of_a_failed_compilation(tmp_path):
    with pytest.raises(
        RuntimeError, match="compiling the kernels failed: .*no-such-flag"
    ):
        build.build(tmp_path, compiler=Compiler(("cc",)), extra=["--no-such-flag"])
    assert not list(tmp_path.iterdir())


def imported(**environment):
    command = [sys.executable, "-c", "import dempster.cluster"]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_missing_library(tmp_path):
    done = imported(DEMPSTER_KERNELS=str(tmp_path / "kernels.so"))
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(
        "ImportError: the compiled kernels of dempster cannot be loaded"
    )
    assert "pip install ." in last
    assert "make kernels" in last


def test_library_of_other_sources(monkeypatch):
    # An installed wheel has no sources to compare with.
    monkeypatch.setattr(binding, "fingerprint", lambda: None)
    binding._check_age(binding.library())
    monkeypatch.setattr(binding, "fingerprint", lambda: "0" * 16)
    with pytest.raises(
        ImportError, match="C sources of dempster have changed .* `make kernels`"
    ):
        binding._check_age(binding.library())


def test_library_contains_the_digest_of_its_sources():
    if os.environ.get("DEMPSTER_KERNELS"):
        pytest.skip("another library is chosen")
    assert build.is_current()


class Loaded:
    """Replace a library, on a processor with or without AVX2."""

    def __init__(self, path, faster):
        self.name = Path(path).name
        self.faster = faster

    def library_has_avx2(self):
        return self.faster


@pytest.mark.parametrize(
    ("there", "faster", "chosen"),
    [
        (["kernels.so", "kernels-avx2.so"], True, "kernels-avx2.so"),
        (["kernels.so", "kernels-avx2.so"], False, "kernels.so"),
        (["kernels-avx2.so"], True, "kernels-avx2.so"),
        (["kernels.so"], True, "kernels.so"),
    ],
)
def test_fastest_supported_library(monkeypatch, tmp_path, there, faster, chosen):
    assert _chosen(monkeypatch, tmp_path, there, faster).name == chosen


def test_library_for_another_processor(monkeypatch, tmp_path):
    with pytest.raises(ImportError, match="another processor.*`make kernels`"):
        _chosen(monkeypatch, tmp_path, ["kernels-avx2.so"], False)


def _chosen(monkeypatch, folder, there, faster):
    monkeypatch.delenv("DEMPSTER_KERNELS", raising=False)
    monkeypatch.setattr(binding, "FOLDER", folder)
    monkeypatch.setattr(binding, "_SUFFIX", ".so")
    monkeypatch.setattr(binding, "_load", lambda path: Loaded(path, faster))
    monkeypatch.setattr(binding, "_check_age", lambda kernels: None)
    for name in there:
        (folder / name).touch()
    return binding.library.__wrapped__()


def test_checkout_compiles_one_library():
    names = build.names_here(build.find_compiler())
    assert len(names) == 1
    assert names[0] in build.library_names(BuildTarget.this_machine())
