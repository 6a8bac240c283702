"""The masses of the classifiers as operators of ONNX: one file for each family of formulas."""
