"""Map of a partition; the report and the studio use the same script and the same data format."""

from dempster.apps.map.packing import MEDIA_TYPE, STATIC_FOLDER, name_sets, pack, pack_objects

__all__ = ["MEDIA_TYPE", "STATIC_FOLDER", "name_sets", "pack", "pack_objects"]
