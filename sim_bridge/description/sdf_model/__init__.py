"""
Models in SDF 1.0 to 1.12: `<model>` elements become robot descriptions.

Sources: the SDF reference (sdformat 1.12) and the conversion rules between its versions.
"""
