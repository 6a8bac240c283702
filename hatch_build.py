"""Compile the kernels and describe the package when it is built or installed (hooks of hatchling)."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

sys.path.insert(0, str(Path(__file__).parent))
import build_kernels as build


class Kernels(BuildHookInterface):
    """Build one wheel for all Python versions of a platform; the library does not depend on Python.

    ``DEMPSTER_TARGET`` names another platform of `build.TARGETS` to compile for (`make wheels`).
    """

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return the build requirements: a compiler if the machine has none."""
        if not self._other and build.machine_compiler():
            return []
        return ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernels next to the sources (editable installation) or directly into the wheel."""
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{self._other or _platform()}"
        if version == "editable":
            if not build.is_current():
                build.build_here()
            return
        self._folder = Path(tempfile.mkdtemp())
        if self._other:
            target = build.TARGETS[self._other]
        else:
            target = None
        for library in build.build(self._folder, target=target):
            build_data["force_include"][str(library)] = (
                f"dempster/_native/{library.name}"
            )

    def finalize(
        self, version: str, build_data: dict[str, Any], artifact_path: str
    ) -> None:
        if version != "editable":
            shutil.rmtree(self._folder)

    @property
    def _other(self) -> str:
        return os.environ.get("DEMPSTER_TARGET", "")


class Readme(MetadataHookInterface):
    """Describe the package by the README, with absolute links, which a package index needs."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute_links(text, metadata["urls"]["Repository"]),
        }


def absolute_links(text: str, repository: str) -> str:
    """Replace links to files of a clone by links to the same files in the repository."""
    image = re.compile(r"(!\[[^]]*\]\()(?!https:|#)")
    link = re.compile(r"(?<!!)(\[[^]]*\]\()(?!https:|#)")
    text = image.sub(rf"\1{repository}/raw/main/", text)
    return link.sub(rf"\1{repository}/blob/main/", text)


def _platform() -> str:
    """Return the tag of the platform for which the compiler generates code."""
    machine = platform.machine()
    compiler = build.machine_compiler()
    if compiler:
        machine = compiler.target().machine
    # The library is for one processor even if Python is a universal build.
    if sys.platform == "darwin":
        return f"macosx_{build.MACOS.replace('.', '_')}_{machine}"
    name = sysconfig.get_platform().replace(platform.machine(), machine)
    return name.replace("-", "_").replace(".", "_")
