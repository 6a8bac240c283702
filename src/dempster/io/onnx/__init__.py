"""Models as ONNX graphs, which other programs run: formulas as operators, and the file around them."""
