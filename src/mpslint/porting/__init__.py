"""What a port brings about, what is in its way, and what speaks against its fixes."""
