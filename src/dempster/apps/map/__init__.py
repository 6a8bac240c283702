"""The map of a partition, which the report and the studio draw with the same script from the same arrays."""

from dempster.apps.map.packing import MEDIA_TYPE, STATIC_FOLDER, name_sets, pack, pack_objects, to_plain

__all__ = ["MEDIA_TYPE", "STATIC_FOLDER", "name_sets", "pack", "pack_objects", "to_plain"]
