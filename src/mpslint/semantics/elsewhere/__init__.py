"""What a file and the other files of its project tell each other."""
