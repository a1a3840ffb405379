"""
OpenPLX scenes: the language and its bundles, assembly by SNAP, and mapping to robots.

`read_openplx` in `evaluate` returns the objects of a scene, `snap` places their frames, `mapping`
builds robots from them. Imports the other rooms of description, `shapes`, `foreign` and
`foundation`.
"""
