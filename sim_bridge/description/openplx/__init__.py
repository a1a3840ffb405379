"""
OpenPLX scenes: the language and its bundles, assembly by SNAP, and mapping to robots.

`read_openplx` in `evaluate` returns a scene's objects, `snap` places their frames, `mapping`
builds robots from them. Imports description's other rooms, `shapes`, `foreign` and
`foundation`.
"""
