"""Map of a partition, with one script and one data format for the report and the studio."""

from dempster.apps.map.packing import MEDIA_TYPE, STATIC_FOLDER, name_sets, pack, pack_objects, to_plain

__all__ = ["MEDIA_TYPE", "STATIC_FOLDER", "name_sets", "pack", "pack_objects", "to_plain"]
