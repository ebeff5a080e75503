"""Whether others install a project, and what of it they get."""
