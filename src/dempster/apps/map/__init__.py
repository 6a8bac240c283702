"""Map of a partition.

The report, the studio and notebooks use the same scripts and the same data format.
"""

from dempster.apps.map.packing import (
    MEDIA_TYPE,
    STATIC_FOLDER,
    join_modules,
    name_sets,
    pack,
    pack_objects,
)

__all__ = [
    "MEDIA_TYPE",
    "STATIC_FOLDER",
    "join_modules",
    "name_sets",
    "pack",
    "pack_objects",
]
