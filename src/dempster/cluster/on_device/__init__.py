"""What fits do with torch, where the objects are on a GPU: the formulas of the processor, for blocks of rows."""
