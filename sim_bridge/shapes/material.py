"""Materials, and contact parameters of material pairs; `material_table` combines them."""

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
    'constant_and_pyramid': law.FIRST_CONSTANT,
    'pyramid_and_constant': law.SECOND_CONSTANT,
    'box': law.CONSTANT,
    'constant_normal_force': law.CONSTANT,
}
SOLVERS = {
    'direct': law.DIRECT,
    'iterative': law.ITERATIVE,
    'split': law.SPLIT,
    'direct_and_iterative': law.DIRECT_AND_ITERATIVE,
}
# allowed numbers of bins along each dimension in contact reduction
_BINS = range(2, 11)


@dataclass(frozen=True)
class Material:
    """
    Material: friction, restitution, density and compliance.

    The defaults are a rigid, dry, inelastic solid. Friction 1 is the default of SDF, Gazebo,
    MuJoCo and Choreonoid's ODE (Bullet and PhysX: 0.5, ODE: infinity).

    name: unique in a world.
    friction: Coulomb coefficient of two surfaces with this material; AGX's roughness.
    friction2: coefficient across the geometry's friction direction; None: equal to friction.
    restitution: separation velocity relative to approach velocity, 0 to 1;
        1 - AGX's bulk viscosity. With a finite youngs_modulus, 0 leaves impacts to the spring.
    density: density for bodies without a given mass [kg/m³].
    rolling_friction, spinning_friction: torque against rolling and spinning per normal force [m].
    slip: creep velocity per friction force [m/(N s)]: AGX's surface viscosity, ODE's slip1.
    youngs_modulus: contact point stiffness [N/m], as in AGX; infinite: rigid.
    damping: time in which an elastic contact comes to rest [s], as in AGX.
    adhesion: force holding two overlapping bodies together [N].
    adhesive_overlap: overlap at rest with adhesion [m]; None: the other material's.
    surface_layer: overlap left uncorrected [m] (ODE's contact surface layer); springs ignore it.
    max_correcting_velocity: greatest overlap correction velocity [m/s].
    reduce: whether contact reduction is on, between two materials that both have it on.
    kind, contacts: set by a `sb.materials` library: kind of material, and contact materials by
        the other material's kind.

    Raises InvalidValueError for values outside these ranges.
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
        """Check all fields."""
        if not isinstance(self.name, str) or not self.name:
            raise InvalidValueError('name of the material', self.name, 'a non-empty text')
        check_fields(self, f'material {self.name!r}')
        truth('reduce', self.reduce, f'material {self.name!r}')
        if self.kind is not None and (not isinstance(self.kind, str) or not self.kind):
            raise InvalidValueError(
                'kind', self.kind, 'None or a non-empty text', f'material {self.name!r}'
            )

    @property
    def second_friction(self) -> float:
        """Coefficient across the friction direction."""
        return self.friction if self.friction2 is None else self.friction2

    @property
    def roughness(self) -> float:
        """Friction, by AGX's and Choreonoid's name."""
        return self.friction

    @property
    def viscosity(self) -> float:
        """1 - restitution, by AGX's and Choreonoid's name."""
        return 1.0 - self.restitution


@dataclass(frozen=True)
class ContactMaterial:
    """
    Contact parameters for two materials, overriding the implicit rules.

    None leaves a value to the rules. ODE's names are in parentheses; `from_ode` accepts them.

    friction_model: 'cone', exact Coulomb cone (an ellipse if the two coefficients differ);
        'pyramid', each direction bounded independently (dContactApprox1); 'constant', friction is
        a force [N], independent of the normal force (ODE without dContactApprox1);
        'constant_and_pyramid', the first direction as in 'constant', the second as in 'pyramid'
        (dContactApprox1_2 alone); 'pyramid_and_constant', the reverse; 'box', the
        bound is the coefficient times (m1 + m2) 9.80665 m/s², with the masses of the dynamic
        bodies, and is shared by their contact points (AGX's BoxFrictionModel);
        'constant_normal_force', the bound is the coefficient times `normal_force`, each direction
        independently (AGX's ConstantNormalForceOrientedBoxFrictionModel). Or a function from a
        `TouchingPair` to a `PairFriction`, or to None for a cone: called once a step for each two
        touching geometries with these materials. The function must not use its world. Pickles and
        copies refer to it; no snapshot contains its own state. A call costs 0.1 ms.
    friction, friction2: coefficients along the first and second direction (mu, mu2); friction2
        None: equal to friction.
    normal_force: force of the model 'constant_normal_force', at each contact point [N].
    depth_factor: factor [1/m] that makes the normal force proportional to depth: normal_force
        times depth_factor times the point's depth; None: no influence of the depth.
    direction: (frame, axis), first friction direction (3,) in the axes of a link, a geometry or a
        robot (its root link), or of the world (None); names (robot, link), or a robot's name,
        may stand for them. It has priority over the shapes' directions. None: the shapes'
        directions stay; without any, the projection of the world's x axis, or of y where the
        surface faces x.
    solver: solver of these contacts, in one island with other solvers' contacts: 'direct',
        'iterative', 'split', as in `World`; or 'direct_and_iterative', a direct solution within
        the friction bounds found by an iterative solution, which may exceed the cone a little
        (AGX's solve types). None: the world's solver.
    rolling_friction, spinning_friction: torque per normal force [m] (rho, rhoN).
    restitution, bounce_velocity: slower approaches [m/s] do not bounce (bounce, bounce_vel). With
        a finite stiffness, restitution 0 leaves impacts to the spring.
    erp, cfm: share of the overlap that one step corrects; velocity per normal force [m/(N s)],
        0: rigid (soft_erp, soft_cfm).
    slip, slip2: creep velocity per friction force [m/(N s)] (slip1, slip2).
    motion, motion2, motion_normal: target velocity of the first material's surface relative to
        the second's [m/s], in the order of `set_contact_material`: along the first direction,
        along normal × first direction, and along the normal from the second to the first
        (motion1, motion2, motionN). Between two surfaces with one material, the surface on a
        dynamic body is the first; between two dynamic bodies there is no motion.
    surface_layer: overlap left uncorrected [m]; springs ignore it. max_correcting_velocity: m/s.
    adhesion: greatest force holding two bodies together [N], shared by their contact points.
    adhesive_overlap: overlap at rest with adhesion [m]; the bodies are held while they overlap.
        Gaps below 0.1 mm count as touching.
    stiffness: N/m, infinite: the contact follows erp and cfm. damping: N s/m, used with stiffness.
    contact_area: whether finite stiffness, and damping, are those of an elastic foundation
        [Pa, Pa s]: multiplied by the contact area and divided by the rest length (AGX's contact
        area approach). The area is the area between all contact points on two geometries, shared
        by the points. The rest length is the thinner geometry's thickness, limited to
        min_rest_length to max_rest_length [m].
    reduce: whether contact reduction is on: only the deepest point of each bin of the space
        (normal × position, normal) has force. The space has `bins` bins along each of its six
        dimensions, 2 to 10. The other points are contacts without force.
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
        """Check all fields; raises InvalidValueError."""
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

        Parameters: mu, mu2, rho, rhoN, bounce, bounce_vel, soft_erp, soft_cfm, motion1, motion2,
        motionN, slip1 and slip2. Friction is ODE's box, as with dContactApprox1. Raises
        UnknownNameError for other names.
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
