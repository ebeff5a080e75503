"""The code that fixes write: device selections, dispatch blocks, and where they go."""
