"""
XML documents whose elements know their lines, and the check of elements against a schema.

Imports `numbers` and `report`, `foreign` and `foundation`. The format tables are in
`urdf` and `sdf`.
"""
