"""Who in a project uses what one of its files defines, with which arguments, or by a text."""
