"""
XML documents whose elements know their lines, and the check of elements against a schema.

Imports `numbers` and `report`, `foreign` and `foundation`. The tables of the formats are in
`urdf` and `sdf`.
"""
