"""Interactive map of a partition in notebooks: Jupyter, VS Code and marimo."""

from dempster.apps.notebook.explorer import PartitionExplorer

__all__ = ["PartitionExplorer"]
