"""Copy a built site into the folder of its version, and list all versions for the menu of the pages.

    python tools/publish_docs.py docs/_build/html SITE 1.2 /dempster/

The version is `dev` or a number. The newest number is also copied to `stable`. The last argument is
the path of the site on its server. Pages read SITE/switcher.json, so that pages of earlier versions
list later ones, too.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

REDIRECT = '<!doctype html><title>dempster</title><meta http-equiv="refresh" content="0; url={folder}/">\n'


def publish(built: Path, site: Path, version: str, path: str) -> None:
    _replace(built, site / version)
    folders = [folder.name for folder in site.iterdir() if folder.name[0].isdigit()]
    numbers = sorted(
        folders, key=lambda name: [int(part) for part in name.split(".")], reverse=True
    )
    entries = [{"version": number, "url": f"{path}{number}/"} for number in numbers]
    if numbers:
        _replace(site / numbers[0], site / "stable")
        entries[0] |= {
            "name": f"{numbers[0]} (stable)",
            "url": f"{path}stable/",
            "preferred": True,
        }
    if (site / "dev").exists():
        entries.append({"version": "dev", "url": f"{path}dev/"})
    (site / "switcher.json").write_text(json.dumps(entries, indent=1) + "\n")
    (site / "index.html").write_text(
        REDIRECT.format(folder="stable" if numbers else "dev")
    )
    (site / ".nojekyll").touch()  # Otherwise folders such as _static are not published.


def _replace(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: python tools/publish_docs.py BUILT SITE VERSION PATH")
    publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
