"""Sliding, resting and disabled bodies in the Open Dynamics Engine, for comparison."""

from __future__ import annotations

import ctypes

from benchmarks.peers import libode as ode

_real = ode.real


class _Surface(ctypes.Structure):
    """ODE's `dSurfaceParameters`."""

    _fields_ = [('mode', ctypes.c_int), ('mu', _real), ('others', _real * 13)]


class _Contact(ctypes.Structure):
    """ODE's `dContact`."""

    _fields_ = [
        ('surface', _Surface),
        ('position', _real * 4),
        ('normal', _real * 4),
        ('depth', _real),
        ('geometries', ctypes.c_void_p * 2),
        ('sides', ctypes.c_int * 2),
        ('direction', _real * 4),
    ]


def _body_function(name, result, *arguments):
    function = getattr(ode._ode, name)
    function.restype, function.argtypes = result, (ctypes.c_void_p, *arguments)
    return function


_SET = {
    'linear': _body_function('dBodySetAutoDisableLinearThreshold', None, _real),
    'angular': _body_function('dBodySetAutoDisableAngularThreshold', None, _real),
    'steps': _body_function('dBodySetAutoDisableSteps', None, ctypes.c_int),
    'time': _body_function('dBodySetAutoDisableTime', None, _real),
    'average_samples': _body_function(
        'dBodySetAutoDisableAverageSamplesCount', None, ctypes.c_uint
    ),
}
_set_flag = _body_function('dBodySetAutoDisableFlag', None, ctypes.c_int)
_is_enabled = _body_function('dBodyIsEnabled', ctypes.c_int)
_disable = _body_function('dBodyDisable', None)
_enable = _body_function('dBodyEnable', None)


class Bodies:
    """A world of 1 kg spheres without geometries."""

    def __init__(self, gravity):
        """Start without bodies."""
        self._world = ode.world_create()
        ode.set_gravity(self._world, *gravity)
        self._contacts = ode.joint_group_create(0)
        self._bodies = []

    def add(self, position, velocity=(0.0, 0.0, 0.0), sleep=None):
        """Add a body; sleep: values of `sb.Sleep` by name, for an auto-disabled body."""
        body, mass = ode.body_create(self._world), ode.Mass()
        ode.mass_set(ctypes.byref(mass), 1.0, 0, 0, 0, 0.1, 0.1, 0.1, 0, 0, 0)
        ode.set_mass(body, ctypes.byref(mass))
        ode.set_position(body, *position)
        ode.set_velocity(body, *velocity)
        if sleep is not None:
            _set_flag(body, 1)
            for name, value in sleep.items():
                _SET[name](body, value)
            # restarts the rest counter
            _enable(body)
        self._bodies.append(body)
        return body

    def slide(self, body, friction):
        """Support a body at its centre by a horizontal plane, with a friction bound [N]."""
        contact = _Contact()
        contact.surface.mu = friction
        contact.position[:3] = self.position(body)
        contact.normal[2] = 1.0
        joint = ode.create_contact(self._world, self._contacts, ctypes.byref(contact))
        ode.attach(joint, body, None)

    def join(self, first, second):
        """Connect two bodies by a ball joint in their middle."""
        joint = ode.create_joint['Ball'](self._world, None)
        ode.attach(joint, first, second)
        middle = [
            (a + b) / 2 for a, b in zip(self.position(first), self.position(second), strict=True)
        ]
        ode.place_joint['BallAnchor'](joint, *middle)

    def step(self, h):
        """Take a step, and remove the contacts."""
        ode.world_step(self._world, h)
        ode.joint_group_empty(self._contacts)

    def position(self, body):
        """Return the position."""
        return ode.get_position(body)[:3]

    def velocity(self, body):
        """Return the velocity."""
        return ode.get_velocity(body)[:3]

    is_enabled = staticmethod(_is_enabled)
    disable, enable = staticmethod(_disable), staticmethod(_enable)
