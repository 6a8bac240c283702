"""What the commands share: failures, output, options, pictures, subjects."""
