"""The masses of new objects as operators of ONNX: one file for each family of formulas."""
