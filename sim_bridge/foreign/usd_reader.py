"""
USD reader in the confined process: usd-core composes the stage.

The answer lists the prims with physics, shape, light or camera: world matrices, authored values,
relationships, bound materials. Layers, references, payloads, variants and instances are resolved
here. Mesh arrays follow as bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
import json
import os
from typing import Any

import numpy as np
from pxr import Ar, Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, Work

# the process may start no threads
Work.SetConcurrencyLimit(1)

# layers, payloads and textures may be in any folder
MAY_READ = True

_SIZES = {
    'Cube': ('size',),
    'Sphere': ('radius',),
    'Cylinder': ('radius', 'height', 'axis'),
    'Cylinder_1': ('radiusTop', 'radiusBottom', 'height', 'axis'),
    'Capsule': ('radius', 'height', 'axis'),
    'Capsule_1': ('radiusTop', 'radiusBottom', 'height', 'axis'),
    'Cone': ('radius', 'height', 'axis'),
    'Plane': ('width', 'length', 'axis'),
    'Mesh': ('orientation', 'doubleSided'),
    'Camera': (
        'focalLength', 'horizontalAperture', 'verticalAperture', 'horizontalApertureOffset',
        'verticalApertureOffset', 'clippingRange', 'projection',
    ),
}  # fmt: skip
_OTHERS = (
    'BasisCurves', 'HermiteCurves', 'NurbsCurves', 'NurbsPatch', 'PointInstancer', 'Points',
    'TetMesh',
)  # fmt: skip
_PREFIXES = ('Physics', 'Physx', 'Newton', 'Mjc')
_GPRIMS = frozenset(_SIZES) - {'Camera'}
_VALUES = (
    'physics:', 'physx', 'newton:', 'mjc:', 'drive:', 'limit:', 'state:', 'inputs:', 'urdf:limit:',
)  # fmt: skip
_BODY, _COLLISION = 'PhysicsRigidBodyAPI', 'PhysicsCollisionAPI'
_ENDS = ('physics:body0', 'physics:body1')
# types in single precision
_SINGLE = ('color3f', 'float', 'normal3f', 'point3f', 'vector3f')


def read(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """
    Return a composed stage.

    request: 'path', the root layer's path. The answer lists the arrays as 'arrays': type and
    shape each. The data begin with a JSON object with 'size' bytes; the arrays follow in order.
    """
    stage = Usd.Stage.Open(request['path'])
    texts, arrays = _Stage(stage).read()
    text = json.dumps(texts).encode()
    head = [[each.dtype.str, list(each.shape)] for each in arrays]
    return {'size': len(text), 'arrays': head}, b''.join(
        [text, *(each.tobytes() for each in arrays)]
    )


class _Stage:
    """One stage on its way to plain data."""

    def __init__(self, stage: Any):
        self._stage = stage
        # animations' first values
        self._time = Usd.TimeCode.EarliestTime()
        self._frames = UsdGeom.XformCache(self._time)
        self._arrays: list[np.ndarray] = []
        self._meshes: dict[str, int] = {}
        self._materials: dict[str, dict[str, Any]] = {}
        self._bodies: dict[str, str] = {}

    def read(self) -> tuple[dict[str, Any], list[np.ndarray]]:
        stage = self._stage
        chosen = stage.GetDefaultPrim()
        every = Usd.TraverseInstanceProxies()
        for prim in stage.Traverse(every):
            path = str(prim.GetPath())
            is_body = _BODY in _schemas(prim) and self._value(
                prim.GetAttribute('physics:rigidBodyEnabled'), True
            )
            above = self._bodies.get(str(prim.GetPath().GetParentPath()), '')
            self._bodies[path] = path if is_body else above
        prims = [self._prim(prim) for prim in stage.Traverse(every) if _is_used(prim)]
        texts = {
            'up': str(UsdGeom.GetStageUpAxis(stage)),
            'meters': float(UsdGeom.GetStageMetersPerUnit(stage)),
            'kilograms': float(UsdPhysics.GetStageKilogramsPerUnit(stage)),
            'default': str(chosen.GetPath()) if chosen else '',
            'prims': prims,
            'materials': self._materials,
            'groups': self._groups(),
            **_layers(stage),
        }
        return texts, self._arrays

    def _prim(self, prim: Any) -> dict[str, Any]:
        kind, apis = str(prim.GetTypeName()), _schemas(prim)
        found: dict[str, Any] = {
            'path': str(prim.GetPath()),
            'type': kind,
            'apis': apis,
            'matrix': _matrix(self._frames.GetLocalToWorldTransform(prim)),
            'body': self._bodies[str(prim.GetPath())],
            'moving': prim.IsA(UsdGeom.Xformable)
            and UsdGeom.Xformable(prim).TransformMightBeTimeVarying(),
            'values': {
                attribute.GetName(): self._value(attribute)
                for attribute in prim.GetAuthoredAttributes()
                if attribute.GetName().startswith(_VALUES)
            },
            'targets': {
                each.GetName(): [str(path) for path in each.GetTargets()]
                for each in prim.GetAuthoredRelationships()
                if each.GetName().startswith(('physics:', 'physx', 'newton:', 'mjc:'))
            },
        }
        for name in _SIZES.get(kind, ()):
            found['values'][name] = self._value(prim.GetAttribute(name))
        ends = {name: self._end(found['targets'].get(name)) for name in _ENDS}
        if any(ends.values()):
            found['ends'] = ends
        if kind in _GPRIMS:
            found |= self._appearance(prim)
        if kind == 'Mesh':
            found['mesh'] = self._mesh(prim)
        if _COLLISION in apis or kind in _GPRIMS:
            found['physics_material'] = self._material(prim, 'physics')
        if kind == 'Material':
            self._describe(UsdShade.Material(prim))
        return found

    def _end(self, targets: list[str] | None) -> dict[str, Any] | None:
        """Return one joint end: its prim's matrix, and the rigid body that it is on."""
        if not targets:
            return None
        prim = self._stage.GetPrimAtPath(targets[0])
        if not prim:
            return {'path': targets[0], 'body': None, 'matrix': _matrix(Gf.Matrix4d(1.0))}
        return {
            'path': targets[0],
            'body': self._bodies.get(targets[0], ''),
            'matrix': _matrix(self._frames.GetLocalToWorldTransform(prim)),
        }

    def _value(self, attribute: Any, usual: Any = None) -> Any:
        value = attribute.Get(self._time) if attribute else None
        if value is None:
            return usual
        is_single = str(attribute.GetTypeName().scalarType).startswith(_SINGLE)
        return _decimal(_plain(value)) if is_single else _plain(value)

    # --- shapes --------------------------------------------------------------------------------

    def _appearance(self, prim: Any) -> dict[str, Any]:
        shown = UsdGeom.Imageable(prim)
        gprim = UsdGeom.Gprim(prim)
        color = self._value(gprim.GetDisplayColorAttr())
        opacity = self._value(gprim.GetDisplayOpacityAttr())
        return {
            'purpose': str(shown.ComputePurpose()),
            'visible': shown.ComputeVisibility(self._time) != UsdGeom.Tokens.invisible,
            'color': color[0] if color else None,
            'opacity': opacity[0] if opacity else None,
            'material': self._material(prim, ''),
        }

    def _mesh(self, prim: Any) -> int:
        """Return the place number for a mesh's two arrays."""
        own = prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim
        key = str(own.GetPath())
        if key not in self._meshes:
            mesh = UsdGeom.Mesh(prim)
            points = np.array(mesh.GetPointsAttr().Get(self._time) or (), dtype=np.float64)
            triangles = _triangles(
                np.array(mesh.GetFaceVertexCountsAttr().Get(self._time) or (), dtype=np.int64),
                np.array(mesh.GetFaceVertexIndicesAttr().Get(self._time) or (), dtype=np.int64),
            )
            if mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded:
                triangles = triangles[:, ::-1]
            self._meshes[key] = len(self._arrays) // 2
            self._arrays += [points.reshape(-1, 3), np.ascontiguousarray(triangles)]
        return self._meshes[key]

    # --- materials -----------------------------------------------------------------------------

    def _material(self, prim: Any, purpose: str) -> str:
        material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial(purpose)
        if not material:
            return ''
        self._describe(material)
        return str(material.GetPath())

    def _describe(self, material: Any) -> None:
        path = str(material.GetPath())
        if path in self._materials:
            return
        prim = material.GetPrim()
        found = self._materials[path] = {
            'apis': _schemas(prim),
            'values': {
                attribute.GetName(): self._value(attribute)
                for attribute in prim.GetAuthoredAttributes()
                if attribute.GetName().startswith(_VALUES)
            },
        }
        # the second context names the renderer for a material with MDL alone
        for context in ('', 'mdl'):
            shader, _, _ = material.ComputeSurfaceSource(context)
            if shader:
                found |= self._surface(shader)
                break

    def _surface(self, shader: Any) -> dict[str, Any]:
        found: dict[str, Any] = {'shader': str(shader.GetIdAttr().Get() or '')}
        for key, names in (
            ('color', ('diffuseColor', 'diffuse_color_constant')),
            ('opacity', ('opacity',)),
            ('texture', ('diffuse_texture',)),
        ):
            for name in names:
                value = self._input(shader, name)
                if isinstance(value, Sdf.AssetPath):
                    found['texture'] = value.resolvedPath or value.path
                elif value is not None:
                    found[key] = _plain(value)
        return found

    def _input(self, shader: Any, name: str) -> Any:
        """Return an input's value, or a connected texture's file."""
        given = shader.GetInput(name)
        if not given:
            return None
        for source in UsdShade.Utils.GetValueProducingAttributes(given):
            if UsdShade.Output.IsOutput(source):
                file = UsdShade.Shader(source.GetPrim()).GetInput('file')
                return file.Get(self._time) if file else None
            return source.Get(self._time)
        return None

    # --- groups --------------------------------------------------------------------------------

    def _groups(self) -> dict[str, Any]:
        """Return the collision groups: colliders by group, and the pairs without contact."""
        table = UsdPhysics.CollisionGroup.ComputeCollisionGroupTable(self._stage)
        groups = list(table.GetGroups())
        members = {}
        for path in groups:
            group = UsdPhysics.CollisionGroup.Get(self._stage, path)
            query = group.GetCollidersCollectionAPI().ComputeMembershipQuery()
            members[str(path)] = [
                str(prim.GetPath())
                for prim in self._stage.Traverse(Usd.TraverseInstanceProxies())
                if _COLLISION in _schemas(prim) and query.IsPathIncluded(prim.GetPath())
            ]
        apart = [
            [str(one), str(other)]
            for number, one in enumerate(groups)
            for other in groups[number:]
            if not table.IsCollisionEnabled(one, other)
        ]
        return {'members': members, 'apart': apart}


def _is_used(prim: Any) -> bool:
    kind = str(prim.GetTypeName())
    if kind in _SIZES or kind in _OTHERS or kind.startswith(_PREFIXES) or kind.endswith('Light'):
        return True
    return any(each.startswith(_PREFIXES) for each in _schemas(prim))


def _schemas(prim: Any) -> list[str]:
    """Return the applied schemas, with those that usd-core does not know."""
    authored = prim.GetMetadata('apiSchemas')
    more = [] if authored is None else list(authored.GetAddedOrExplicitItems())
    return list(dict.fromkeys([*map(str, prim.GetAppliedSchemas()), *map(str, more)]))


def _layers(stage: Any) -> dict[str, list[str]]:
    """
    Return the files read, and the references in them that lead nowhere or are not beside them.

    files: full paths. missing, remote, absolute: references as written.
    """
    found: dict[str, list[str]] = {'files': [], 'missing': [], 'remote': [], 'absolute': []}
    resolver = Ar.GetResolver()
    for layer in stage.GetUsedLayers():
        if layer.anonymous:
            continue
        # a package is one file
        found['files'].append(Ar.SplitPackageRelativePathOuter(layer.realPath)[0])
        for written in layer.GetCompositionAssetDependencies():
            if not written:
                # within the same layer
                continue
            if '://' in written:
                found['remote'].append(written)
            elif not resolver.Resolve(layer.ComputeAbsolutePath(written)):
                found['missing'].append(written)
            elif os.path.isabs(written):
                found['absolute'].append(written)
    return {key: list(dict.fromkeys(paths)) for key, paths in found.items()}


def _triangles(counts: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return triangles (m, 3) for polygons, as fans."""
    if counts.size == 0 or counts.min() < 0 or counts.sum() != len(corners):
        return np.zeros((0, 3), dtype=np.int64)
    starts = np.cumsum(counts) - counts
    each = np.maximum(counts - 2, 0)
    first = np.repeat(starts, each)
    step = np.arange(len(first)) - np.repeat(np.cumsum(each) - each, each)
    found: np.ndarray = corners[np.column_stack([first, first + step + 1, first + step + 2])]
    return found


def _matrix(matrix: Any) -> list[float]:
    """Return a matrix (16), by rows; points are rows before it."""
    return [float(matrix[row][column]) for row in range(4) for column in range(4)]


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (Gf.Quatf, Gf.Quatd, Gf.Quath)):
        return [float(value.GetReal()), *map(float, value.GetImaginary())]
    if isinstance(value, Sdf.AssetPath):
        return value.resolvedPath or value.path
    return list(_items(value)) if hasattr(value, '__len__') else str(value)


def _decimal(value: Any) -> Any:
    """Return single precision numbers by their shortest decimals: 0.3 for 0.30000001."""
    if isinstance(value, list):
        return [_decimal(each) for each in value]
    return float(str(np.float32(value))) if isinstance(value, float) else value


def _items(values: Any) -> Iterator[Any]:
    for value in values:
        yield value if isinstance(value, (bool, int, float, str)) else _plain(value)
