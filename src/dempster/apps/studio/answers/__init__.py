"""What the page asks of a run, one question a file; answers are plain values that JSON can hold, or arrays."""
