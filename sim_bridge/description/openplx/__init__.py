"""OpenPLX scenes: the language, the assembly of their systems by SNAP, and what they describe."""
