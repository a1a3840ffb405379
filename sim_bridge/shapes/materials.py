"""
Material presets, and contact materials for preset pairs; `sim_bridge.materials`.

    steel = sb.materials.load('steel')
    birch = sb.materials.load('wood', name='my_birch', density=640.0)
    own = sb.materials.MaterialLibrary('mine.json').load('slate')

A library is a JSON file, or a mapping with the same content:

    {"materials": {"slate": {"density": 2800, "friction": 0.5, "kind": "stone"}},
     "contact_materials": [{"between": ["stone", "wood"], "friction": 0.4}]}

with arguments for `Material` and `ContactMaterial`, and "source", the origin of the numbers.
A contact material is found by two material kinds, in either order; the default kind is the name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import cached_property
import json
from pathlib import Path
from typing import Any

from sim_bridge.foreign.files import read_file
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.names import ByName
from sim_bridge.foundation.validation import instance_of
from sim_bridge.shapes.material import ContactMaterial, Material

_PRESETS = Path(__file__).with_name('materials.json')
_LIBRARY_KEYS = ('materials', 'contact_materials', 'source')
_MATERIAL_KEYS = (
    *(each.name for each in fields(Material) if each.name not in ('name', 'contacts')),
    'source',
)
# fields with an order, a frame or a function belong to a world, not to a library
_CONTACT_KEYS = (
    *(
        each.name
        for each in fields(ContactMaterial)
        if each.name not in ('motion', 'motion2', 'motion_normal', 'direction')
    ),
    'between',
    'source',
)


class MaterialLibrary(Mapping[str, Material]):
    """
    Shipped materials, and materials from further sources, by name.

    Later sources replace earlier ones, material by material and pair by pair.
    """

    def __init__(self, *sources: str | Path | Mapping[str, Any]):
        """
        Read the presets and further sources: JSON files, or mappings with the same content.

        Raises InvalidValueError or UnknownNameError, with source and place, for wrong content,
        and OSError for a file that cannot be read.
        """
        self._raw: dict[str, dict[str, Any]] = {}
        self._pairs: dict[frozenset[str], ContactMaterial] = {}
        for source in (_PRESETS, *sources):
            self._add(source)

    def __repr__(self) -> str:
        """Show the names."""
        return f'<MaterialLibrary: {", ".join(self)}>'

    def __getitem__(self, name: str) -> Material:
        """Return a material; raises UnknownNameError."""
        return self._materials[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._raw)

    def __len__(self) -> int:
        """Count the materials."""
        return len(self._raw)

    def load(self, name: str, /, **changes: Any) -> Material:
        """
        Return a material; changes: arguments for `Material` that replace its own.

        A world uses the library's contact materials between this material and others from the
        library, unless `World.set_contact_material` sets different ones. Raises UnknownNameError
        for an unknown name or argument, InvalidValueError for a wrong value.
        """
        for key in changes:
            if key not in ('name', *_MATERIAL_KEYS[:-1]):
                raise UnknownNameError('argument of a material', key, _MATERIAL_KEYS[:-1])
        return replace(self[name], **changes)

    def contact_material(self, a: str, b: str) -> ContactMaterial | None:
        """Return the library's contact material for two materials, in either order, or None."""
        return self._pairs.get(frozenset((str(self[a].kind), str(self[b].kind))))

    @cached_property
    def _materials(self) -> ByName[Material]:
        made = ByName[Material]('material of the library', '')
        for name, values in self._raw.items():
            kind = values.get('kind', name)
            contacts = tuple(
                (next(iter(pair - {kind}), kind), contact)
                for pair, contact in self._pairs.items()
                if kind in pair
            )
            made[name] = Material(name, **values | {'kind': kind, 'contacts': contacts})
        return made

    def _add(self, source: str | Path | Mapping[str, Any]) -> None:
        label = 'material library' if isinstance(source, Mapping) else str(source)
        content = source if isinstance(source, Mapping) else _content_of(source)
        _check_keys(content, _LIBRARY_KEYS, 'key', label)
        for name, values in _mapping('materials', content.get('materials', {}), label).items():
            place = f'{label}, materials.{name}'
            values = _mapping('material', values, place)
            _check_keys(values, _MATERIAL_KEYS, 'argument of a material', place)
            self._raw[name] = {key: value for key, value in values.items() if key != 'source'}
            _made(lambda name=name: Material(name, **self._raw[name]), place)
        kinds = {values.get('kind', name) for name, values in self._raw.items()}
        pairs = instance_of(
            'contact_materials', content.get('contact_materials', []), list, 'a list', label
        )
        for number, values in enumerate(pairs):
            place = f'{label}, contact_materials[{number}]'
            values = _mapping('contact material', values, place)
            _check_keys(values, _CONTACT_KEYS, 'argument of a contact material', place)
            between = values.get('between')
            if not isinstance(between, list) or len(between) != 2:
                raise InvalidValueError('between', between, 'a list of 2 kinds', place)
            for kind in between:
                if kind not in kinds:
                    raise UnknownNameError('kind of material', kind, kinds, place)
            own = {key: value for key, value in values.items() if key not in ('between', 'source')}
            self._pairs[frozenset(between)] = _made(lambda own=own: ContactMaterial(**own), place)


def load(name: str, /, **changes: Any) -> Material:
    """Return a shipped material; see `MaterialLibrary.load`."""
    return _presets().load(name, **changes)


def names() -> list[str]:
    """Return the names of all shipped materials."""
    return list(_presets())


_shipped: list[MaterialLibrary] = []


def _presets() -> MaterialLibrary:
    """Return the shipped materials, read at the first use."""
    if not _shipped:
        _shipped.append(MaterialLibrary())
    return _shipped[0]


def _content_of(file: str | Path) -> Mapping[str, Any]:
    if not isinstance(file, (str, Path)):
        raise InvalidValueError('material library', file, 'a JSON file or a mapping')
    try:
        return _mapping('content', json.loads(read_file(file)), str(file))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidValueError):
            raise
        raise InvalidValueError('content', str(error), 'JSON', str(file)) from None


def _mapping(what: str, value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidValueError(what, value, 'a mapping by names', place)
    return value


def _check_keys(values: Mapping[str, Any], known: tuple[str, ...], what: str, place: str) -> None:
    for key in values:
        if key not in known:
            raise UnknownNameError(what, key, known, place)


def _made(make: Any, place: str) -> Any:
    """Return the result of `make`; raises InvalidValueError with the place in the library."""
    try:
        return make()
    except InvalidValueError as error:
        raise InvalidValueError(error.quantity, error.value, error.expected, place) from None
