"""Interactive map of a partition in JupyterLab, marimo and other notebooks with anywidget."""

from dempster.apps.notebook.explorer import PartitionExplorer, explore

__all__ = ["PartitionExplorer", "explore"]
