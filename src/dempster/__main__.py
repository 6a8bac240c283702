"""Command-line program, which is started by ``python -m dempster``."""

import sys

__all__ = ["main"]


def main() -> None:
    """Import and run the program.

    If the user presses Ctrl-C during the import, exit without a traceback.
    """
    try:
        from dempster.apps.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
