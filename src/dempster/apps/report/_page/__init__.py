"""How a report is written: escaping, tables, pictures, sections, the page."""
