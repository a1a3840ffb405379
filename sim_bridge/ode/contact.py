"""Contact with its surface parameters, like ODE's dContact."""

from __future__ import annotations

from functools import lru_cache
import math
from typing import Any, NoReturn

from sim_bridge.foundation.arrays import Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_number, finite_vector, number_from
from sim_bridge.ode import constants as ode
from sim_bridge.ode.mass import Triple, triple
from sim_bridge.shapes.material import ContactMaterial

# parameter values of a new contact
_DEFAULTS = {
    'mu': math.inf,
    'mu2': 0.0,
    'bounce': 0.1,
    'bounce_vel': 0.0,
    'soft_erp': 0.0,
    'soft_cfm': 0.0,
    'motion1': 0.0,
    'motion2': 0.0,
    'slip1': 0.0,
    'slip2': 0.0,
    'motionN': 0.0,
    'rho': 0.0,
    'rho2': 0.0,
    'rhoN': 0.0,
}


class Contact:
    """
    Data for a ContactJoint: a point, and surface parameters.

    Each parameter has a getter and a setter with ODE's name, and is used if its flag is set. A new
    contact has ContactBounce with a bounce of 0.1, and infinite friction.
    """

    def __init__(self) -> None:
        """Start with the defaults of ODE's bindings."""
        self._mode = ode.ContactBounce
        self._values = _DEFAULTS.copy()
        self._fdir1: Triple = (0.0, 0.0, 0.0)
        self._geom: tuple[Triple, Triple, float, Any, Any] = (
            (0.0, 0.0, 0.0),
            (0.0, 0.0, 0.0),
            0.0,
            None,
            None,
        )

    @classmethod
    def at(cls, point: Triple, normal: Triple, depth: float, g1: Any, g2: Any) -> Contact:
        """Return a new contact with valid geometry, without checks."""
        contact = cls()
        contact._geom = point, normal, depth, g1, g2
        return contact

    def getMode(self) -> int:
        """Return the flags."""
        return self._mode

    def setMode(self, flags: int) -> None:
        """Set the flags, a sum of Contact… constants."""
        if not isinstance(flags, int):
            raise InvalidValueError('flags', flags, 'a sum of Contact… constants', 'Contact')
        known = 0x77FF
        if flags & ~known:
            raise InvalidValueError('flags', hex(flags), f'bits of {known:#x} only', 'Contact')
        self._mode = flags

    def _get(self, name: str) -> float:
        return self._values[name]

    def _set(self, name: str, value: float, least: float, most: float = math.inf) -> None:
        # the usual case, ten times as fast as the full check below
        if type(value) is float and least <= value <= most and -math.inf < value < math.inf:
            self._values[name] = value
            return
        expected = f'a number from {least:g} to {most:g}'
        self._values[name] = (
            number_from(name, value, least, most, 'Contact', expected)
            if math.isfinite(least) and value != math.inf
            else self._unbounded(name, value, least)
        )

    @staticmethod
    def _unbounded(name: str, value: float, least: float) -> float:
        if value == math.inf and least == 0.0 and name in ('mu', 'mu2'):
            return math.inf
        return finite_number(name, value, 'Contact')

    def getFDir1(self) -> Triple:
        """Return the first friction direction."""
        return self._fdir1

    def setFDir1(self, fdir: Vector) -> None:
        """Set the first friction direction, world axes; used with ContactFDir1."""
        self._fdir1 = triple(finite_vector('fdir1', fdir, 3, 'Contact'))

    def getContactGeomParams(self) -> tuple[Triple, Triple, float, Any, Any]:
        """Return point, normal, depth and both geoms."""
        return self._geom

    def setContactGeomParams(
        self, pos: Vector, normal: Vector, depth: float, g1: Any = None, g2: Any = None
    ) -> None:
        """Set the point [m], the unit normal into the first body, the depth [m], and geoms."""
        self._geom = (
            triple(finite_vector('pos', pos, 3, 'Contact')),
            triple(finite_vector('normal', normal, 3, 'Contact')),
            finite_number('depth', depth, 'Contact'),
            g1,
            g2,
        )

    @property
    def direction(self) -> Triple | None:
        """First friction direction, None without ContactFDir1."""
        return self._fdir1 if self._mode & ode.ContactFDir1 else None

    def material(self, layer: float, most: float) -> ContactMaterial:
        """Return the contact material; layer, most: surface layer, correcting velocity."""
        return _material(self._mode, tuple(self._values.values()), layer, most)

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError with a list of the parameters."""
        raise AttributeError(
            f'Contact has no attribute {name!r}; its parameters are {sorted(_NAMES)}'
        )


_NAMES = {
    'Mu': ('mu', 0.0),
    'Mu2': ('mu2', 0.0),
    'Bounce': ('bounce', 0.0),
    'BounceVel': ('bounce_vel', 0.0),
    'SoftERP': ('soft_erp', 0.0),
    'SoftCFM': ('soft_cfm', 0.0),
    'Motion1': ('motion1', -math.inf),
    'Motion2': ('motion2', -math.inf),
    'Slip1': ('slip1', 0.0),
    'Slip2': ('slip2', 0.0),
    'MotionN': ('motionN', -math.inf),
    'Rho': ('rho', 0.0),
    'Rho2': ('rho2', 0.0),
    'RhoN': ('rhoN', 0.0),
}


def _accessors(name: str, least: float, most: float) -> tuple[Any, Any]:
    def get(self: Contact) -> float:
        return self._get(name)

    def put(self: Contact, value: float) -> None:
        self._set(name, value, least, most)

    get.__doc__, put.__doc__ = f'Return {name}.', f'Set {name}.'
    return get, put


for _name, (_key, _least) in _NAMES.items():
    _most = 1.0 if _key in ('bounce', 'soft_erp') else math.inf
    for _prefix, _function in zip(('get', 'set'), _accessors(_key, _least, _most), strict=True):
        setattr(Contact, f'{_prefix}{_name}', _function)


_EACH = ode.ContactApprox1_1 | ode.ContactApprox1_2
_FRICTION_MODELS = {
    0: 'constant',
    ode.ContactApprox1_1: 'pyramid_and_constant',
    ode.ContactApprox1_2: 'constant_and_pyramid',
    _EACH: 'pyramid',
}


@lru_cache(maxsize=1024)
def _material(mode: int, values: tuple[float, ...], layer: float, most: float) -> ContactMaterial:
    (
        mu,
        mu2,
        bounce,
        bounce_vel,
        erp,
        cfm,
        motion1,
        motion2,
        slip1,
        slip2,
        motion_n,
        rho,
        rho2,
        rho_n,
    ) = values
    if mode & ode.ContactRolling and mode & ode.ContactAxisDep and rho != rho2:
        raise InvalidValueError(
            'rho2',
            rho2,
            f'as rho, {rho:g}: rolling friction is alike in all directions',
            'Contact',
        )

    def given(flag: int, value: float, otherwise: float | None = 0.0) -> float | None:
        return value if mode & flag else otherwise

    return ContactMaterial(
        friction=mu,
        friction2=given(ode.ContactMu2, mu2, mu),
        friction_model=_FRICTION_MODELS[mode & _EACH],
        restitution=given(ode.ContactBounce, bounce),
        bounce_velocity=given(ode.ContactBounce, bounce_vel),
        erp=given(ode.ContactSoftERP, erp, None),
        cfm=given(ode.ContactSoftCFM, cfm, None),
        motion_normal=given(ode.ContactMotionN, motion_n),
        rolling_friction=given(ode.ContactRolling, rho),
        spinning_friction=given(ode.ContactRolling, rho_n),
        motion=given(ode.ContactMotion1, motion1),
        motion2=given(ode.ContactMotion2, motion2),
        slip=given(ode.ContactSlip1, slip1),
        slip2=given(ode.ContactSlip2, slip2),
        surface_layer=layer,
        max_correcting_velocity=most,
    )
