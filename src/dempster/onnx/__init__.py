"""Export of fitted models to ONNX."""

from dempster.onnx.export import to_onnx

__all__ = ["to_onnx"]
