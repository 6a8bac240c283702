"""What people start: a run described (`recipe`), the program (`cli`), the page (`report`) and the studio (`studio`)."""
