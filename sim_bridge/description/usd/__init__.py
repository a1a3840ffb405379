"""
Robots in USD stages: UsdPhysics, with the attributes of PhysX, Newton and MuJoCo for drives.

usd-core composes the stage in the confined process (`foreign.usd_reader`).
"""
