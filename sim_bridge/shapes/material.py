"""Materials, and the contact parameters of pairs of them; `material_table` combines them."""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from typing import Any

from sim_bridge.engine.data import contact_materials as law
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.validation import one_of, truth, whole_number
from sim_bridge.shapes.friction_direction import direction_of, DirectionLike, FrictionDirection
from sim_bridge.shapes.friction_functions import FrictionFunction
from sim_bridge.shapes.ranges import (
    check_fields,
    FINITE,
    MAYBE_INFINITE,
    NOT_NEGATIVE,
    POSITIVE_MAYBE_INFINITE,
    Range,
    SHARE,
    within,
)

DEFAULT = 'default'
FRICTION_MODELS = {
    'cone': law.CONE,
    'pyramid': law.PYRAMID,
    'constant': law.CONSTANT,
    'box': law.CONSTANT,
    'constant_normal_force': law.CONSTANT,
}
SOLVERS = {
    'direct': law.DIRECT,
    'iterative': law.ITERATIVE,
    'split': law.SPLIT,
    'direct_and_iterative': law.DIRECT_AND_ITERATIVE,
}
# along each dimension of the space in which contact points are reduced
_BINS = range(2, 11)


@dataclass(frozen=True)
class Material:
    """
    What a body is made of.

    The defaults are a rigid, dry, inelastic solid. Friction 1 is what SDF, Gazebo, MuJoCo and
    Choreonoid's ODE assume where nothing is said (Bullet and PhysX 0.5, ODE itself infinity).

    name: unique in a world.
    friction: Coulomb's coefficient of two surfaces of this material; AGX's roughness.
    friction2: across the geometry's friction direction; None: as friction.
    restitution: share of the approach velocity that a collision gives back, 0 to 1;
        1 - AGX's bulk viscosity.
    density: of bodies whose mass is not given [kg/m³].
    rolling_friction, spinning_friction: torque against rolling and spinning per normal force [m].
    slip: creep velocity per friction force [m/(N s)]: AGX's surface viscosity, ODE's slip1.
    youngs_modulus: stiffness of a contact point [N/m], as AGX takes it; infinite: rigid.
    damping: time in which an elastic contact comes to rest [s], as AGX takes it.
    adhesion: force that holds two bodies together [N] while they overlap.
    adhesive_overlap: overlap that they rest with [m]; None: the other material's.
    surface_layer: overlap that is left alone [m] (ODE's contact surface layer).
    max_correcting_velocity: greatest velocity that takes overlap back [m/s].
    reduce: whether few of many contact points take part, between two materials that both say so.
    kind, contacts: of a `sb.materials` library: what it is to others, and contact materials by the
        kind of the other material.

    Raises InvalidValueError for values outside these.
    """

    name: str
    friction: float = within(MAYBE_INFINITE, 1.0)
    friction2: float | None = within(MAYBE_INFINITE, None)
    restitution: float = within(SHARE, 0.0)
    density: float = within(Range(above=True), 1000.0)
    rolling_friction: float = within(NOT_NEGATIVE, 0.0)
    spinning_friction: float = within(NOT_NEGATIVE, 0.0)
    slip: float = within(NOT_NEGATIVE, 0.0)
    youngs_modulus: float = within(POSITIVE_MAYBE_INFINITE, math.inf)
    damping: float = within(NOT_NEGATIVE, 0.0)
    adhesion: float = within(NOT_NEGATIVE, 0.0)
    adhesive_overlap: float | None = within(NOT_NEGATIVE, None)
    surface_layer: float = within(NOT_NEGATIVE, 0.0)
    max_correcting_velocity: float = within(MAYBE_INFINITE, 0.1)
    reduce: bool = False
    kind: str | None = None
    contacts: tuple[tuple[str, ContactMaterial], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        """Check everything."""
        if not isinstance(self.name, str) or not self.name:
            raise InvalidValueError('name of the material', self.name, 'a text that is not empty')
        check_fields(self, f'material {self.name!r}')
        truth('reduce', self.reduce, f'material {self.name!r}')
        if self.kind is not None and (not isinstance(self.kind, str) or not self.kind):
            raise InvalidValueError(
                'kind', self.kind, 'None or a text that is not empty', f'material {self.name!r}'
            )

    @property
    def second_friction(self) -> float:
        """The coefficient across the friction direction."""
        return self.friction if self.friction2 is None else self.friction2

    @property
    def roughness(self) -> float:
        """AGX's and Choreonoid's word for friction."""
        return self.friction

    @property
    def viscosity(self) -> float:
        """AGX's and Choreonoid's word for 1 - restitution."""
        return 1.0 - self.restitution


@dataclass(frozen=True)
class ContactMaterial:
    """
    The contact parameters of two materials, where they differ from the implicit rules.

    None leaves a value to the rules. ODE's names are given in parentheses; `from_ode` takes them.

    friction_model: 'cone', the exact Coulomb cone (an ellipse where the two directions differ);
        'pyramid', each direction for itself (dContactApprox1); 'constant', friction is a force [N]
        that does not depend on the normal force (ODE without dContactApprox1); 'box', friction
        is bounded by the coefficient times (m1 + m2) 9.80665 m/s², with the masses of the bodies
        that forces move, which their contact points share (AGX's BoxFrictionModel);
        'constant_normal_force', by the coefficient times `normal_force`, each direction for itself
        (AGX's ConstantNormalForceOrientedBoxFrictionModel). Or a function, which takes a
        `TouchingPair` and returns a `PairFriction`, or None for a cone: called once a step for
        each two geometries of these materials that touch. It may not use its world. Pickles and
        copies refer to it; what it keeps itself is in no snapshot. It costs 0.1 ms a call.
    friction, friction2: along the first and second direction (mu, mu2); the second is like the
        first if None.
    normal_force: of the model 'constant_normal_force', at each contact point [N].
    depth_factor: the normal force is that times the factor [1/m] times the depth of the point;
        None: it does not depend on the depth.
    direction: (frame, axis), the first direction of friction, (3,) in the axes of a link, geometry
        or robot, which is its root link, or None, the world; names (robot, link), or of a robot,
        stand for them. It holds before the directions of shapes. None: leaves them.
    solver: how these contacts are solved, in one island beside others: 'direct', 'iterative',
        'split', as of `World`; or 'direct_and_iterative', directly within the bounds of friction
        that an iterative solution has found, and may exceed the cone by a little (AGX's solve
        types). None: as the world says.
    rolling_friction, spinning_friction: torque per normal force [m] (rho, rhoN).
    restitution, bounce_velocity: slower approaches [m/s] do not bounce (bounce, bounce_vel).
    erp, cfm: share of the overlap that one step takes back; velocity per normal force [m/(N s)],
        0: rigid (soft_erp, soft_cfm).
    slip, slip2: creep velocity per friction force [m/(N s)] (slip1, slip2).
    motion, motion2, motion_normal: wanted velocity of the first material's surface relative to
        the second's [m/s], in the order of `set_contact_material`: along the first direction,
        along normal × that, and along the normal from the second to the first (motion1, motion2,
        motionN). Where there is no friction direction, the first direction of surfaces that move
        is the world's x along the surface, or y where it faces x. Between two surfaces of one
        material, the one on a body that forces move is the first; between two such bodies there is
        no motion.
    surface_layer: overlap that is left alone [m]. max_correcting_velocity: m/s.
    adhesion: greatest force that holds two bodies together [N], which their contact points share.
    adhesive_overlap: overlap that they rest with, while which they are held [m]; less than 0.1 mm
        between them counts as touching.
    stiffness: N/m, infinite: erp and cfm rule. damping: N s/m, beside stiffness.
    contact_area: whether stiffness, where it is finite, and damping are those of an elastic
        foundation [Pa, Pa s]: times the area of the contact, over the rest length (AGX's contact
        area approach). The area is that between the points of two geometries, which share it; the
        rest length is the thickness of the thinner of the two, from min_rest_length to
        max_rest_length [m].
    reduce: whether few of many points between two bodies take part: the deepest of each bin of the
        space (normal × position, normal), which has `bins` along each of its six dimensions, 2 to
        10. The others are contacts without force.
    """

    friction: float | None = within(MAYBE_INFINITE, None)
    friction2: float | None = within(MAYBE_INFINITE, None)
    friction_model: str | FrictionFunction | None = None
    rolling_friction: float | None = within(NOT_NEGATIVE, None)
    spinning_friction: float | None = within(NOT_NEGATIVE, None)
    restitution: float | None = within(SHARE, None)
    bounce_velocity: float | None = within(MAYBE_INFINITE, None)
    erp: float | None = within(SHARE, None)
    cfm: float | None = within(NOT_NEGATIVE, None)
    slip: float | None = within(NOT_NEGATIVE, None)
    slip2: float | None = within(NOT_NEGATIVE, None)
    motion: float | None = within(FINITE, None)
    motion2: float | None = within(FINITE, None)
    motion_normal: float | None = within(FINITE, None)
    surface_layer: float | None = within(NOT_NEGATIVE, None)
    max_correcting_velocity: float | None = within(MAYBE_INFINITE, None)
    adhesion: float | None = within(NOT_NEGATIVE, None)
    stiffness: float | None = within(POSITIVE_MAYBE_INFINITE, None)
    damping: float | None = within(NOT_NEGATIVE, None)
    adhesive_overlap: float | None = within(NOT_NEGATIVE, None)
    normal_force: float | None = within(NOT_NEGATIVE, None)
    depth_factor: float | None = within(NOT_NEGATIVE, None)
    direction: FrictionDirection | DirectionLike | None = None
    reduce: bool | None = None
    bins: int | None = None
    contact_area: bool | None = None
    min_rest_length: float | None = within(Range(above=True), None)
    max_rest_length: float | None = within(Range(above=True), None)
    solver: str | None = None

    def __post_init__(self) -> None:
        """Check everything; raises InvalidValueError."""
        place = 'contact material'
        if self.friction_model is not None and not callable(self.friction_model):
            one_of('friction_model', self.friction_model, FRICTION_MODELS, place)
        if self.solver is not None:
            one_of('solver', self.solver, SOLVERS, place)
        check_fields(self, place)
        is_given = self.friction_model == 'constant_normal_force'
        if is_given != (self.normal_force is not None):
            raise InvalidValueError(
                'normal_force',
                self.normal_force,
                f'a number with friction_model {"constant_normal_force"!r}, and only with it',
                place,
            )
        if self.depth_factor is not None and not is_given:
            raise InvalidValueError(
                'depth_factor', self.depth_factor, 'None without a normal_force', place
            )
        for name in ('reduce', 'contact_area'):
            if getattr(self, name) is not None:
                truth(name, getattr(self, name), place)
        if self.bins is not None and whole_number('bins', self.bins) not in _BINS:
            raise InvalidValueError(
                'bins', self.bins, f'a whole number from {_BINS[0]} to {_BINS[-1]}', place
            )
        least, most = self.min_rest_length, self.max_rest_length
        if least is not None and most is not None and least > most:
            raise InvalidValueError(
                'min_rest_length', least, f'at most max_rest_length, {most:g}', place
            )
        if self.direction is not None:
            object.__setattr__(self, 'direction', direction_of(self.direction, place))

    @classmethod
    def from_ode(cls, **surface: float) -> ContactMaterial:
        """
        Return the contact material for ODE's surface parameters.

        These are mu, mu2, rho, rhoN, bounce, bounce_vel, soft_erp, soft_cfm, motion1, motion2,
        motionN, slip1 and slip2. Friction is ODE's box as with dContactApprox1. Raises
        UnknownNameError for others.
        """
        for name in surface:
            if name not in ODE_NAMES:
                raise UnknownNameError('surface parameter of ODE', name, ODE_NAMES)
        values: dict[str, Any] = {ODE_NAMES[name]: value for name, value in surface.items()}
        return cls(friction_model='pyramid', **values)


ODE_NAMES = {
    'mu': 'friction',
    'mu2': 'friction2',
    'rho': 'rolling_friction',
    'rhoN': 'spinning_friction',
    'bounce': 'restitution',
    'bounce_vel': 'bounce_velocity',
    'soft_erp': 'erp',
    'soft_cfm': 'cfm',
    'motion1': 'motion',
    'motion2': 'motion2',
    'motionN': 'motion_normal',
    'slip1': 'slip',
    'slip2': 'slip2',
}
