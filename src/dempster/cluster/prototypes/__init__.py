"""Methods with prototypes among attributes: evidential c-means and its relatives."""
