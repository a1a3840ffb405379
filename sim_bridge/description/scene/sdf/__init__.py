"""Worlds in SDF 1.0 to 1.12: `<world>` elements become scenes."""
