"""Devices by their names: where they are expected, chosen and at hand."""
