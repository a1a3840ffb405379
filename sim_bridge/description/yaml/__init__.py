"""
YAML files, and the sensors and loop joints declared in them.

Imports the room `mechanism` and the modules `model`, `noise`, `numbers`, `poses` and `report` of
`description`, and `foreign` and `foundation`.
"""
