"""Combine several partitions of the same objects (being written)."""


def combine_partitions(): ...
