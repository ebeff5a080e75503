"""Waits for a device: what they are good for, and what they leave undone on MPS."""
