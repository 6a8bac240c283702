"""``python -m dempster``: the program."""

import sys

__all__ = ["main"]


def main() -> None:
    """Import the program and run it; Ctrl-C while it is imported is no fault to be traced."""
    try:
        from dempster.apps.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
