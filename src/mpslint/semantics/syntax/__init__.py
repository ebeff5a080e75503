"""Questions to the tree alone: what stands where, and in which order."""
