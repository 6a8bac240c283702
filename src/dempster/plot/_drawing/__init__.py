"""What the displays draw with: axes, colours, shapes, names, legends. Nothing here knows a display."""
