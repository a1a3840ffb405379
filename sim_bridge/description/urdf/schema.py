"""
URDF schema: attributes and children for every element, with their multiplicity.

Sources: the URDF specification (wiki.ros.org/urdf/XML) and urdfdom's parsers, with version 1.2's
`quat_xyzw` and `capsule`, and `armature` on `dynamics`.
"""

from __future__ import annotations

from sim_bridge.description.numbers import Numbers
from sim_bridge.description.xml.schema import Child, Schema, Text

KNOWN_VERSIONS = ('1.0', '1.1', '1.2')
JOINT_TYPES = ('revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar')

_ZERO3 = '0 0 0'
_POSITIVE = Numbers(minimum=0.0, above=True, default='1')
_OPTIONAL = Numbers(required=False)
_NOT_NEGATIVE = Numbers(required=False, minimum=0.0)

ORIGIN = Schema(
    {
        'xyz': Numbers(3, _ZERO3, required=False),
        'rpy': Numbers(3, _ZERO3, required=False),
        'quat_xyzw': Numbers(4, '0 0 0 1', required=False),
    }
)
INERTIAL = Schema(
    children={
        'origin': Child(ORIGIN),
        'mass': Child(Schema({'value': Numbers(default='1')}), required=True),
        'inertia': Child(
            Schema(
                {
                    **{key: Numbers(default='1') for key in ('ixx', 'iyy', 'izz')},
                    **{key: Numbers(default='0') for key in ('ixy', 'ixz', 'iyz')},
                }
            ),
            required=True,
        ),
    }
)
_ROUND = Schema({'radius': _POSITIVE, 'length': _POSITIVE})
GEOMETRY = Schema(
    children={
        'box': Child(Schema({'size': Numbers(3, '1 1 1', minimum=0.0, above=True)})),
        'sphere': Child(Schema({'radius': _POSITIVE})),
        'cylinder': Child(_ROUND),
        'capsule': Child(_ROUND),
        'mesh': Child(Schema({'filename': Text(), 'scale': Numbers(3, '1 1 1', required=False)})),
    },
    one_of=True,
    silent=frozenset({'name'}),
)
MATERIAL = Schema(
    {'name': Text(required=False)},
    {'color': Child(Schema({'rgba': Numbers(4, required=False, minimum=0.0)}))},
    silent=frozenset({'texture', 'script', 'shader', 'ambient', 'diffuse', 'specular'}),
)
SHAPE = Schema(
    {'name': Text(required=False)},
    {'origin': Child(ORIGIN), 'geometry': Child(GEOMETRY, required=True)},
    silent=frozenset({'material', 'verbose', 'group'}),
)
# visual and collision have their own check: an invalid shape is left out, the link stays
LINK = Schema(
    {'name': Text()},
    {'inertial': Child(INERTIAL)},
    silent=frozenset({'visual', 'collision', 'type'}),
)
JOINT = Schema(
    {'name': Text(), 'type': Text()},
    {
        'origin': Child(ORIGIN),
        'parent': Child(Schema({'link': Text()}), required=True),
        'child': Child(Schema({'link': Text()}), required=True),
        'axis': Child(Schema({'xyz': Numbers(3, '1 0 0')})),
        'limit': Child(
            Schema(
                {
                    'lower': Numbers(required=False, infinite=True),
                    'upper': Numbers(required=False, infinite=True),
                    # the defaults avoid a second finding
                    'effort': Numbers(default='1', required=False, infinite=True),
                    'velocity': Numbers(default='1', required=False, infinite=True),
                }
            )
        ),
        'dynamics': Child(
            Schema(
                {'damping': _NOT_NEGATIVE, 'friction': _NOT_NEGATIVE, 'armature': _NOT_NEGATIVE}
            )
        ),
        'mimic': Child(
            Schema(
                {
                    'joint': Text(),
                    'multiplier': Numbers(default='1', required=False),
                    'offset': _OPTIONAL,
                }
            )
        ),
        'safety_controller': Child(
            Schema(
                {
                    'k_velocity': Numbers(),
                    'k_position': _OPTIONAL,
                    'soft_lower_limit': _OPTIONAL,
                    'soft_upper_limit': _OPTIONAL,
                }
            )
        ),
    },
    silent=frozenset({'calibration', 'dont_collapse', 'preserveFixedJoint'}),
)

# read elsewhere or by other tools; any other tag under <robot> is unknown
ROBOT_TAGS = frozenset(
    {
        'link',
        'joint',
        'gazebo',
        'sim_bridge',
        'ros2_control',
        'sensor',
        'material',
        'transmission',
        'mujoco',
    }
)
ROBOT_ATTRIBUTES = frozenset({'name', 'version'})
