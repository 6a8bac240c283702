"""What the page may ask for, by subject; each file hands over its routes."""
