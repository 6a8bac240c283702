"""Objects that come block by block: what X may be besides a table in memory, behind one protocol."""
