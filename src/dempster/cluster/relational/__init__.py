"""Methods for dissimilarities whose prototypes are objects, or means of objects."""
