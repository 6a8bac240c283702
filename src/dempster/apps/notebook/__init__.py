"""Interactive map of a partition in notebooks: JupyterLab, marimo and others that support anywidget."""

from dempster.apps.notebook.explorer import PartitionExplorer

__all__ = ["PartitionExplorer"]
