"""
Scene files: what is in a world, as YAML.

Readers only: `world.scene` puts what they return into a world.
"""
