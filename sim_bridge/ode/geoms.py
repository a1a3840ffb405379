"""Collision geometries, after ODE's geoms: shapes on bodies, or alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
import weakref

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.ode.body import Body
from sim_bridge.ode.mass import rotation_of, Triple, triple, turned_by
from sim_bridge.ode.world import GROUP, serial, World
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.shapes import Shape

_ALL = 0xFFFFFFFF
Place = tuple[FloatArray, FloatArray]
"""Rotation (3, 3) and position (3,)."""
Touch = tuple[Vector, Vector, float]
"""Point [m], normal into the first geom, depth [m]."""
_HERE: Place = (np.eye(3), np.zeros(3))


def _composed(place: Place, local: Place) -> Place:
    """Return a local place in the parent frame of `place`."""
    if local is _HERE:
        return place
    return place[0] @ local[0], place[1] + place[0] @ local[1]


class GeomObject:
    """
    Shape in a space, with its body's pose, or its own; other attributes are the user's.

    Rotations are nine numbers by rows, quaternions w x y z.
    """

    body: Body | None = None
    space: Any = None

    def __init__(self, space: Any = None) -> None:
        """Add the geom to a space, if one is given."""
        if type(self) is GeomObject:
            raise NotImplementedError("GeomObject can't be used directly")
        self.number, self.version = serial(), 0
        self._own: Place = (np.eye(3), np.zeros(3))
        self._offset = _HERE
        self._category, self._collide, self._is_enabled = _ALL, _ALL, True
        self._bound: Any = None
        self._outer: Any = lambda: None
        self._alone: weakref.WeakKeyDictionary[World, dict[str, Any]] = weakref.WeakKeyDictionary()
        self._keys: weakref.WeakKeyDictionary[World, int] = weakref.WeakKeyDictionary()
        if space is not None:
            if not getattr(space, 'is_space', False):
                raise InvalidValueError('space', space, 'a space or None', type(self).__name__)
            space.add(self)

    is_space = False

    def shape(self) -> Shape | None:
        """Return the engine's shape, None if the geom is no solid."""
        return None

    def placeable(self) -> bool:
        """Return whether it has a pose."""
        return True

    def _require_place(self, what: str) -> None:
        if not self.placeable():
            raise ValueError(f'{type(self).__name__} has no {what}: it is not placeable')

    # --- in the engine ---------------------------------------------------------------------------

    def placed(self) -> list[Placed]:
        """Return the shape placed on the body, or nothing."""
        shape = self.shape()
        if shape is None:
            return []
        R, p = _composed(self._local(), self._inside())
        return [Placed(shape, p, quaternion_from_matrix(R), self.name, mass=False, groups={GROUP})]

    @property
    def name(self) -> str:
        """Name of the engine's geometry."""
        return f'geom {self.number}'

    def _local(self) -> Place:
        return self._offset

    def _inside(self) -> Place:
        """Return the place of the shape in the geom frame."""
        return _HERE

    def meet(self, other: GeomObject) -> list[Touch] | None:
        """
        Return the contacts with another geom: points [m], normals into this one, depths [m].

        A user-defined class overrides this, and `half_extents`. None: the shapes decide.
        """
        return None

    def bind(self, geometry: Any) -> None:
        """Take the engine's geometry on the body, None for a ray."""
        self._bound = geometry

    def geometry_in(self, world: World) -> Any:
        """Return the engine's geometry in a world, added if missing; None for rays."""
        if self.shape() is None:
            return None
        if self.body is not None:
            world.sync()
            return self._bound
        if self.is_missing_in(world):
            make_all(world, [self])
        return self._alone[world]['robot'].root_link.geometries[0]

    def is_missing_in(self, world: World) -> bool:
        """Return whether the geom's own body must be added to a world."""
        return (
            self.body is None
            and self.shape() is not None
            and (self._keys.get(world) != self.version)
        )

    def begin(self, world: World) -> dict[str, Any]:
        """Return the arguments for the geom's own body in a world, and remove the old one."""
        if 'robot' in self._alone.get(world, ()):
            world.engine.remove(self._alone[world].pop('robot'))
        R, p = _composed(self.pose(), self._inside())
        shape = self.shape()
        assert shape is not None
        return {
            'shapes': [Placed(shape, name=self.name, groups={GROUP})],
            'name': self.name,
            'motion': 'static',
            'position': p,
            'orientation': quaternion_from_matrix(R),
        }

    def take(self, world: World, robot: Any) -> None:
        """Take the engine's body, built with the arguments from `begin`."""
        made = self._alone.get(world)
        if made is None:
            made = self._alone[world] = {}
            weakref.finalize(self, world.expel, made).atexit = False
        made['robot'], self._keys[world] = robot, self.version

    def changed(self) -> None:
        """Handle a change: new shape or new place on the body."""
        self.version += 1
        if self.body is not None:
            self.body.renew()
        for world in self._alone:
            world.found.clear()
        outer = self._outer()
        if outer is not None:
            outer.changed()

    def pose(self) -> Place:
        """Return rotation and position in the world."""
        if self.body is None:
            return _composed(self._own, self._local())
        p, R = self.body.pose()
        return _composed((R, p), self._local())

    # --- body and pose ---------------------------------------------------------------------------

    def setBody(self, body: Body | None) -> None:
        """Attach the geom to a body, or to none."""
        self._require_place('body')
        if body is not None and not isinstance(body, Body):
            raise InvalidValueError('body', body, 'a Body or None', type(self).__name__)
        if self.body is not None:
            self.body.geoms.pop(self.number, None)
            self.body.renew()
            self._own = self.pose()
        self._offset, self.body = _HERE, body
        if body is not None:
            body.geoms[self.number] = self
            weakref.finalize(self, _lose, weakref.ref(body)).atexit = False
        self.changed()

    def getBody(self) -> Body | None:
        """Return the body, None for the environment."""
        return self.body

    def setPosition(self, pos: Vector) -> None:
        """Set the position, on a body the body's [m]."""
        self._require_place('position')
        if self.body is not None:
            self.body.setPosition(pos)
        else:
            self._move(self._own[0], finite_vector('position', pos, 3, type(self).__name__))

    def _turn(self, R: FloatArray) -> None:
        if self.body is not None:
            self.body.setRotation(R.ravel())
        else:
            self._move(R, self._own[1])

    def _move(self, R: FloatArray, p: FloatArray) -> None:
        self._own = R, p
        R, p = _composed(self.pose(), self._inside())
        for world, made in self._alone.items():
            world.found.clear()
            if 'robot' in made:
                made['robot'].set_base_pose(p, quaternion_from_matrix(R))
        outer = self._outer()
        if outer is not None:
            outer.changed()

    def getPosition(self) -> Triple:
        """Return the position [m]."""
        self._require_place('position')
        return triple(self.pose()[1])

    def setRotation(self, R: Any) -> None:
        """Set the rotation, on a body the body's."""
        self._require_place('rotation')
        self._turn(rotation_of(R, type(self).__name__))

    def getRotation(self) -> list[float]:
        """Return the rotation."""
        self._require_place('rotation')
        return [float(each) for each in self.pose()[0].ravel()]

    def setQuaternion(self, q: Any) -> None:
        """Set the rotation by a quaternion w x y z."""
        self._require_place('rotation')
        self._turn(turned_by(q, type(self).__name__))

    def getQuaternion(self) -> tuple[float, float, float, float]:
        """Return the quaternion w x y z."""
        self._require_place('rotation')
        x, y, z, w = quaternion_from_matrix(self.pose()[0]).tolist()
        return w, x, y, z

    def setOffsetPosition(self, pos: Vector) -> None:
        """Set the position on the body [m]."""
        self._require_body()
        self._offset = (self._offset[0], finite_vector('position', pos, 3, type(self).__name__))
        self.changed()

    def getOffsetPosition(self) -> Triple:
        """Return the position on the body [m]."""
        return triple(self._offset[1])

    def setOffsetRotation(self, R: Any) -> None:
        """Set the rotation on the body."""
        self._require_body()
        self._offset = rotation_of(R, type(self).__name__), self._offset[1]
        self.changed()

    def getOffsetRotation(self) -> list[float]:
        """Return the rotation on the body."""
        return [float(each) for each in self._offset[0].ravel()]

    def clearOffset(self) -> None:
        """Place the geom at the body's origin."""
        self._offset = _HERE
        self.changed()

    def isOffset(self) -> bool:
        """Return whether the geom has an offset on its body."""
        return self._offset is not _HERE

    def setOffsetQuaternion(self, q: Any) -> None:
        """Set the rotation on the body by a quaternion w x y z."""
        self.setOffsetRotation(turned_by(q, type(self).__name__).ravel())

    def getOffsetQuaternion(self) -> tuple[float, float, float, float]:
        """Return the rotation on the body, w x y z."""
        x, y, z, w = quaternion_from_matrix(self._offset[0]).tolist()
        return w, x, y, z

    def setOffsetWorldPosition(self, pos: Vector) -> None:
        """Set the offset to a world position [m]."""
        body = self._require_body()
        self.setOffsetPosition(body.getPosRelPoint(pos))

    def setOffsetWorldRotation(self, R: Any) -> None:
        """Set the offset to a world rotation."""
        body = self._require_body()
        turned = body.pose()[1].T @ rotation_of(R, type(self).__name__)
        self.setOffsetRotation(turned.ravel())

    def setOffsetWorldQuaternion(self, q: Any) -> None:
        """Set the offset to a world rotation, a quaternion w x y z."""
        self.setOffsetWorldRotation(turned_by(q, type(self).__name__).ravel())

    def _require_body(self) -> Body:
        if self.body is None:
            raise ValueError('a geom has an offset on a body only: call setBody first')
        return self.body

    # --- points and vectors ----------------------------------------------------------------------

    def getRelPointPos(self, p: Vector) -> Triple:
        """Return the world position of a geom point [m]."""
        R, place = self.pose()
        return triple(place + R @ finite_vector('point', p, 3, type(self).__name__))

    def getPosRelPoint(self, p: Vector) -> Triple:
        """Return a world point in the geom frame [m]."""
        R, place = self.pose()
        return triple(R.T @ (finite_vector('point', p, 3, type(self).__name__) - place))

    def vectorToWorld(self, v: Vector) -> Triple:
        """Rotate a vector from geom axes to world axes."""
        return triple(self.pose()[0] @ finite_vector('vector', v, 3, type(self).__name__))

    def vectorFromWorld(self, v: Vector) -> Triple:
        """Rotate a vector from world axes to geom axes."""
        return triple(self.pose()[0].T @ finite_vector('vector', v, 3, type(self).__name__))

    # --- collisions ------------------------------------------------------------------------------

    def half_extents(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the centre offset and half extents [m] of the bounds, for a rotation."""
        raise NotImplementedError

    def getAABB(self) -> tuple[float, float, float, float, float, float]:
        """Return the bounds: least and greatest x, y and z [m]."""
        R, p = self.pose()
        middle, half = self.half_extents(R)
        low, high = p + middle - half, p + middle + half
        x, y, z = zip(low.tolist(), high.tolist(), strict=True)
        return (*x, *y, *z)

    def isSpace(self) -> bool:
        """Return whether the geom is a space."""
        return self.is_space

    def getSpace(self) -> Any:
        """Return the geom's space, or None."""
        return self.space

    def setCollideBits(self, bits: int) -> None:
        """Set the category bits of geoms it collides with."""
        self._collide = int(bits) & _ALL

    def setCategoryBits(self, bits: int) -> None:
        """Set the geom's own category bits."""
        self._category = int(bits) & _ALL

    def getCollideBits(self) -> int:
        """Return the category bits of geoms it collides with."""
        return self._collide

    def getCategoryBits(self) -> int:
        """Return the geom's own category bits."""
        return self._category

    def may_meet(self, other: GeomObject) -> bool:
        """Return whether bits and bodies allow a collision with another geom."""
        return bool(
            self._is_enabled
            and other._is_enabled
            and (self._category & other._collide or other._category & self._collide)
            and (self.body is None or self.body is not other.body)
        )

    def enable(self) -> None:
        """Enable collisions."""
        self._is_enabled = True

    def disable(self) -> None:
        """Disable collisions."""
        self._is_enabled = False

    def isEnabled(self) -> bool:
        """Return whether collisions are enabled."""
        return self._is_enabled


def make_all(world: World, geoms: Iterable[GeomObject]) -> None:
    """Add the missing bodies of geoms to a world, all together."""
    world.sync()
    missing = [geom for geom in dict.fromkeys(geoms) if geom.is_missing_in(world)]
    if missing:
        made = world.engine.add_bodies([geom.begin(world) for geom in missing])
        for geom, robot in zip(missing, made, strict=True):
            geom.take(world, robot)


def _lose(reference: weakref.ref[Body]) -> None:
    """Rebuild a body after it has lost a geom."""
    body = reference()
    if body is not None:
        body.renew()
