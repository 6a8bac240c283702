"""Errors, options, input and output that the commands share."""
