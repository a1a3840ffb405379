"""
OpenPLX files and the bundles that they build on: read, evaluated and returned as objects.

`read_openplx` in `evaluate` gives the objects of a scene. Imports `report` and `model` of
description, `foreign` and `foundation`.
"""
