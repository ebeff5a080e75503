"""Files as bytes, text and positions: how they are opened, read, parsed, edited and written."""
