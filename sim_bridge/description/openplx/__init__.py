"""
OpenPLX scenes: the language and its bundles, the assembly by SNAP, and what is described.

`read_openplx` in `evaluate` gives the objects of a scene, `snap` places their frames, `mapping`
makes robots of them. Imports the other rooms of description, `shapes`, `foreign` and `foundation`.
"""
