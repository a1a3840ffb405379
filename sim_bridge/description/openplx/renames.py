"""
Names in earlier bundles and their present names.

A name is looked up here only if the present bundles lack it, so scenes of all versions load with
the latest bundles. The table lists the renames in OpenPLX's own migrations and in the published
bundles from 0.15 to 0.19.
"""

from __future__ import annotations

from collections.abc import Iterable

_SURFACE_CONTACT = 'Physics3D.Interactions.SurfaceContact'
_MOVED = {
    ('Physics', 'Charges', 'Geometries'): ('ContactGeometry', 'LinearElasticMaterial', 'Material'),
    ('Physics', 'Charges', 'Interactions'): ('Connector',),
    ('Physics3D', 'Charges', 'Geometries'): (
        'Box',
        'Capsule',
        'ContactGeometry',
        'ConvexMesh',
        'Cylinder',
        'ExternalTriMeshGeometry',
        'Sphere',
        'TriMesh',
        'TriMeshGeometry',
    ),
    ('Physics3D', 'Charges', 'Interactions'): (
        'AdaptiveMateConnector',
        'MateConnector',
        'RedirectedMateConnector',
        'StructuralPlanarConnector',
        'World',
    ),
    ('Physics1D', 'Charges', 'Interactions'): (
        'LinearConnector',
        'MateConnector',
        'RotationalConnector',
    ),
}

_MODELS = {
    **{
        f'{bundle}.{old}.{name}': f'{bundle}.{new}.{name}'
        for (bundle, old, new), names in _MOVED.items()
        for name in names
    },
    'Physics.Charges.Charge': 'Physics.Interactions.Connector',
    'Physics3D.Transform': 'Math.AffineTransform',
    'Physics3D.Signals.MateConnector.Velocity3DOutput': (
        'Physics3D.Signals.MateConnector.LinearVelocity3DOutput'
    ),
    'Physics3D.Signals.RigidBodyVelocityOutput': 'Physics3D.Signals.LinearVelocity3DOutput',
    'Physics3D.Signals.RigidBodyPositionOutput': 'Physics3D.Signals.Position3DOutput',
    'Physics3D.Signals.RigidBodyRPYOutput': 'Physics3D.Signals.RPYOutput',
    'Physics3D.Signals.PrismaticVelocityOutput': 'Physics.Signals.LinearVelocity1DOutput',
    'Physics3D.Signals.HingeAngleOutput': 'Physics.Signals.AngleOutput',
    'Physics3D.Signals.HingeAngularVelocityOutput': 'Physics.Signals.AngularVelocity1DOutput',
    'Physics3D.Signals.LinearSpringPositionInput': 'Physics.Signals.Position1DInput',
    'Physics3D.Signals.TorsionSpringAngleInput': 'Physics.Signals.AngleInput',
    'Physics3D.Signals.RotationalVelocityMotorVelocityInput': (
        'Physics.Signals.AngularVelocity1DInput'
    ),
    'Physics3D.Signals.LinearVelocityMotorVelocityInput': 'Physics.Signals.LinearVelocity1DInput',
    'Physics1D.Signals.RotationalVelocityMotor1DVelocityInput': (
        'Physics.Signals.AngularVelocity1DInput'
    ),
    'Physics1D.Signals.RotationalBodyAngularVelocityOutput': (
        'Physics.Signals.AngularVelocity1DOutput'
    ),
    'Physics1D.Signals.RotationalBodyAngleOutput': 'Physics.Signals.AngleOutput',
    'DriveTrain.Signals.CombustionEngineThrottleInput': 'Physics.Signals.FractionInput',
    'DriveTrain.Signals.CombustionEngineTorqueOutput': 'Physics.Signals.Torque1DOutput',
    'DriveTrain.Signals.GearTorqueOutput': 'Physics.Signals.Torque1DOutput',
    'DriveTrain.Signals.TorqueMotorInput': 'Physics.Signals.Torque1DInput',
    'Robotics.Joints.FlexibleVelocityJoint': 'Robotics.Joints.FlexibleAngularVelocityJoint',
    'Robotics.Joints.TorqueDriveTrain': 'Robotics.Joints.FlexibleJointDriveTrain',
    'Robotics.Joints.AngularVelocityDriveTrain': 'Robotics.Joints.FlexibleJointDriveTrain',
    **{
        f'{_SURFACE_CONTACT}.{name}Trait': f'{_SURFACE_CONTACT}.Traits.{name}'
        for name in ('BodyOrientedFriction', 'GeometryOrientedFriction', 'OrientedFriction')
    },
}

# attributes: present name, and the models (or their bases) with this attribute
_ATTRIBUTES = {
    'charges': ('connectors', ('Physics.Interactions.Interaction',)),
    'desired_speed': (
        'target_speed',
        ('Physics3D.Interactions.VelocityMotor', 'Physics1D.Interactions.VelocityMotor'),
    ),
    'rigid_body': ('source', ('Physics.Signals.Output', 'Physics.Signals.Input')),
    'prismatic': ('source', ('Physics.Signals.Output',)),
    'hinge': ('source', ('Physics.Signals.Output',)),
    'motor': ('source', ('Physics.Signals.Input',)),
    'spring': ('source', ('Physics.Signals.Input',)),
    'body': ('source', ('Physics.Signals.Output',)),
    'initial_opening_fraction': ('initial_engagement_fraction', ('DriveTrain.ManualClutch',)),
    'opening_fraction_input': ('engagement_fraction_input', ('DriveTrain.ManualClutch',)),
    'opening_fraction_output': ('engagement_fraction_output', ('DriveTrain.ManualClutch',)),
    'engage_time': ('engagement_duration', ('DriveTrain.AutomaticClutch',)),
    'cutting_direction': ('tooth_direction', ('Terrain.Shovel',)),
    'engagement_time': ('engagement_duration', ('DriveTrain.AutomaticClutch',)),
}


def renamed_model(name: str) -> str:
    """Return a model's present name in earlier bundles; '' if unknown."""
    return _MODELS.get(name, '')


def renamed_attribute(models: Iterable[str], name: str) -> str:
    """Return an attribute's present name in a model, or ''. models: names of model and bases."""
    new, holders = _ATTRIBUTES.get(name, ('', ()))
    return new if set(holders) & set(models) else ''


def renamed_function(name: str, known: Iterable[str]) -> str:
    """Return a function's present name; before 0.10 names had capitals for underscores."""
    folded = _folded(name)
    return next((now for now in known if _folded(now) == folded), '')


def _folded(name: str) -> str:
    return name.replace('_', '').lower()
