"""What a user may choose, where it is read from, and which torch a project means."""
