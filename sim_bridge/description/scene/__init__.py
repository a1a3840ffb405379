"""
Scene files: world contents, in YAML.

Imports the room `yaml`, and `shapes`; `world.scene` builds a world from the returned data.
"""
