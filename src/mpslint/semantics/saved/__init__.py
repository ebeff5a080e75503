"""What is saved to files and loaded from them, and by whom."""
