"""Clusterers of objects that are seen in several ways: tables, or matrices of dissimilarities, with a weight each."""
