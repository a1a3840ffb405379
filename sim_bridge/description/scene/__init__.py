"""
Scene files: what is in a world, as YAML.

Imports the room `yaml`, and `shapes`; `world.scene` puts what they return into a world.
"""
