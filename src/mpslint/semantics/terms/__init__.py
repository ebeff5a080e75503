"""The terms in which answers are given: plain data, and tables of what torch's names mean."""
