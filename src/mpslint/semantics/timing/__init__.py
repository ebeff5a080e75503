"""Timed spans, and the device work in them."""
