"""Tables as text that people and their programs have written: encodings, delimiters, decimal marks, numbers."""
