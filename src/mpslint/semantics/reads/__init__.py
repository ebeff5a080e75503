"""Reads that make the host wait for the device, and copies between them that nobody needs."""
