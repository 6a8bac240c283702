"""Fitted models as ONNX graphs, which other programs run."""

from dempster.onnx.export import to_onnx

__all__ = ["to_onnx"]
