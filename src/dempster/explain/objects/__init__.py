"""Why an object is where it is."""
