"""Flat pictures of objects with many attributes, and how far they distort."""
