"""What was found: plain data, comments that silence, baselines, lines that changed."""
