"""The C API of the Open Dynamics Engine's shared library, restricted to the benchmarks' calls."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.metadata
from pathlib import Path

from benchmarks.peers import MissingPeerError


def _find_library() -> str | None:
    """Return the library in DART's wheels, else the system's, if there is one."""
    try:
        files = importlib.metadata.files('dartpy') or ()
    except importlib.metadata.PackageNotFoundError:
        files = ()
    of_wheel = (str(file.locate()) for file in files if file.match('dartpy.libs/libode-*.so*'))
    return next(of_wheel, None) or ctypes.util.find_library('ode')


_library = _find_library()
if _library is None:
    raise MissingPeerError('pip install dartpy, which brings ODE, or apt-get install libode8')
_ode = ctypes.CDLL(_library)

_ode.dGetConfiguration.restype = ctypes.c_char_p
DOUBLE = bool(_ode.dCheckConfiguration(b'ODE_double_precision'))
VERSION = f'{Path(_library).name}, {"double" if DOUBLE else "single"} precision'

real = ctypes.c_double if DOUBLE else ctypes.c_float
reals = ctypes.POINTER(real)
_pointer = ctypes.c_void_p


def _declare(name, result, *arguments):
    function = getattr(_ode, name)
    function.restype, function.argtypes = result, arguments
    return function


class Mass(ctypes.Structure):
    """ODE's `dMass`: mass, dVector4 centre, dMatrix3 (3 rows of 4) inertia."""

    _fields_ = [('mass', real), ('c', real * 4), ('inertia', real * 12)]


_init = _declare('dInitODE2', ctypes.c_int, ctypes.c_uint)
world_create = _declare('dWorldCreate', _pointer)
world_destroy = _declare('dWorldDestroy', None, _pointer)
set_gravity = _declare('dWorldSetGravity', None, _pointer, real, real, real)
mass_set = _declare('dMassSetParameters', None, ctypes.POINTER(Mass), *[real] * 10)
body_create = _declare('dBodyCreate', _pointer, _pointer)
set_mass = _declare('dBodySetMass', None, _pointer, ctypes.POINTER(Mass))
set_finite = _declare('dBodySetFiniteRotationMode', None, _pointer, ctypes.c_int)
set_position = _declare('dBodySetPosition', None, _pointer, real, real, real)
set_quaternion = _declare('dBodySetQuaternion', None, _pointer, reals)
set_velocity = _declare('dBodySetLinearVel', None, _pointer, real, real, real)
set_angular = _declare('dBodySetAngularVel', None, _pointer, real, real, real)
set_force = _declare('dBodySetForce', None, _pointer, real, real, real)
get_position = _declare('dBodyGetPosition', reals, _pointer)
get_rotation = _declare('dBodyGetRotation', reals, _pointer)
get_velocity = _declare('dBodyGetLinearVel', reals, _pointer)
get_angular = _declare('dBodyGetAngularVel', reals, _pointer)
create_hinge = _declare('dJointCreateHinge', _pointer, _pointer, _pointer)
create_slider = _declare('dJointCreateSlider', _pointer, _pointer, _pointer)
create_joint = {
    kind: _declare(f'dJointCreate{kind}', _pointer, _pointer, _pointer)
    for kind in ('Ball', 'Hinge', 'Slider', 'Universal', 'Hinge2', 'Piston', 'Fixed', 'AMotor')
}
place_joint = {
    suffix: _declare(f'dJointSet{suffix}', None, _pointer, real, real, real)
    for suffix in (
        'BallAnchor',
        'HingeAnchor',
        'HingeAxis',
        'SliderAxis',
        'UniversalAnchor',
        'UniversalAxis1',
        'UniversalAxis2',
        'Hinge2Anchor',
        'Hinge2Axis1',
        'Hinge2Axis2',
        'PistonAnchor',
        'PistonAxis',
    )
}
set_fixed = _declare('dJointSetFixed', None, _pointer)
attach = _declare('dJointAttach', None, _pointer, _pointer, _pointer)
hinge_anchor = _declare('dJointSetHingeAnchor', None, _pointer, real, real, real)
hinge_axis = _declare('dJointSetHingeAxis', None, _pointer, real, real, real)
slider_parameter = _declare('dJointSetSliderParam', None, _pointer, ctypes.c_int, real)
slider_axis = _declare('dJointSetSliderAxis', None, _pointer, real, real, real)
motor_mode = _declare('dJointSetAMotorMode', None, _pointer, ctypes.c_int)
motor_count = _declare('dJointSetAMotorNumAxes', None, _pointer, ctypes.c_int)
motor_axis = _declare(
    'dJointSetAMotorAxis', None, _pointer, ctypes.c_int, ctypes.c_int, real, real, real
)
motor_parameter = _declare('dJointSetAMotorParam', None, _pointer, ctypes.c_int, real)
motor_angle = _declare('dJointGetAMotorAngle', real, _pointer, ctypes.c_int)
seed_random = _declare('dRandSetSeed', None, ctypes.c_ulong)
world_step = _declare('dWorldStep', ctypes.c_int, _pointer, real)
world_quick_step = _declare('dWorldQuickStep', ctypes.c_int, _pointer, real)

# collision
_allocate = _declare('dAllocateODEDataForThread', ctypes.c_int, ctypes.c_uint)
set_message_handler = _declare('dSetMessageHandler', None, _pointer)
set_erp = _declare('dWorldSetERP', None, _pointer, real)
set_cfm = _declare('dWorldSetCFM', None, _pointer, real)
hash_space_create = _declare('dHashSpaceCreate', _pointer, _pointer)
space_destroy = _declare('dSpaceDestroy', None, _pointer)
space_collide = _declare('dSpaceCollide', None, _pointer, _pointer, _pointer)
create_plane = _declare('dCreatePlane', _pointer, _pointer, *[real] * 4)
create_sphere = _declare('dCreateSphere', _pointer, _pointer, real)
create_box = _declare('dCreateBox', _pointer, _pointer, *[real] * 3)
create_cylinder = _declare('dCreateCylinder', _pointer, _pointer, *[real] * 2)
create_capsule = _declare('dCreateCapsule', _pointer, _pointer, *[real] * 2)
create_ray = _declare('dCreateRay', _pointer, _pointer, real)
ray_set = _declare('dGeomRaySet', None, _pointer, *[real] * 6)
geom_set_position = _declare('dGeomSetPosition', None, _pointer, *[real] * 3)
geom_set_rotation = _declare('dGeomSetRotation', None, _pointer, reals)
geom_set_body = _declare('dGeomSetBody', None, _pointer, _pointer)
geom_get_body = _declare('dGeomGetBody', _pointer, _pointer)
geom_set_data = _declare('dGeomSetData', None, _pointer, _pointer)
geom_get_data = _declare('dGeomGetData', _pointer, _pointer)
geom_set_category = _declare('dGeomSetCategoryBits', None, _pointer, ctypes.c_ulong)
geom_set_collide = _declare('dGeomSetCollideBits', None, _pointer, ctypes.c_ulong)
geom_offset_position = _declare('dGeomSetOffsetPosition', None, _pointer, *[real] * 3)
geom_offset_quaternion = _declare('dGeomSetOffsetQuaternion', None, _pointer, reals)
collide = _declare(
    'dCollide', ctypes.c_int, _pointer, _pointer, ctypes.c_int, _pointer, ctypes.c_int
)
joint_group_create = _declare('dJointGroupCreate', _pointer, ctypes.c_int)
joint_group_empty = _declare('dJointGroupEmpty', None, _pointer)
joint_group_destroy = _declare('dJointGroupDestroy', None, _pointer)
create_contact = _declare('dJointCreateContact', _pointer, _pointer, _pointer, _pointer)
hinge_angle = _declare('dJointGetHingeAngle', real, _pointer)
hinge_rate = _declare('dJointGetHingeAngleRate', real, _pointer)
add_hinge_torque = _declare('dJointAddHingeTorque', None, _pointer, real)

_init(0)
_allocate(0xFFFFFFFF)
