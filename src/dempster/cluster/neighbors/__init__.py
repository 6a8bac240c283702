"""Methods that look at the nearest neighbours of each object."""
