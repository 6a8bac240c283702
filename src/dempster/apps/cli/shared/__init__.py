"""Shared by the commands: errors, options, inputs, output."""
