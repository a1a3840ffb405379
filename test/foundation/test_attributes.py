"""Undeclared attributes are refused with a hint."""

from __future__ import annotations

import copy

import pytest

from sim_bridge.foundation.attributes import DeclaredAttributes, unknown_attribute


class Spring(DeclaredAttributes):
    """Class with slots, properties and an internal name."""

    __slots__ = ('_damping', '_rest', 'place')

    internal_names = DeclaredAttributes.internal_names | {'owner_only'}
    advice = {'place': 'move what it hangs on', 'wire': 'make another Spring'}

    def __init__(self):
        """Begin without a rest length."""
        self._damping = 0.5
        self.place = 'here'

    @property
    def damping(self):
        """Return a settable value."""
        return self._damping

    @damping.setter
    def damping(self, value):
        self._damping = float(value)

    @property
    def m(self):
        """Return the value called mass by newcomers."""
        return 1.0

    @property
    def lower(self):
        """Read a limit."""
        return 0.0

    @property
    def upper(self):
        """Read the other one."""
        return 1.0

    @property
    def rest(self):
        """Return a slot that may be empty."""
        return self._rest

    @property
    def wrong(self):
        """Fail inside."""
        return self.damping.unit

    def owner_only(self):
        """Do nothing."""


@pytest.mark.parametrize(
    'attempt', [lambda spring: spring.dampin, lambda spring: setattr(spring, 'dampin', 1.0)]
)
def test_a_close_name_is_suggested(attempt):
    """Name the attribute probably meant, when reading and when setting."""
    with pytest.raises(AttributeError) as caught:
        attempt(Spring())
    assert str(caught.value) == "Spring has no attribute 'dampin'; did you mean 'damping'?"


@pytest.mark.parametrize(
    ('name', 'hint'),
    [
        ('mass', "; did you mean 'm'?"),
        ('limits', "; did you mean 'lower' and 'upper'?"),
        ('joint_limits', "; did you mean 'lower' and 'upper'?"),
        ('position', ''),
        ('dump', ''),
        ('damp', "; did you mean 'damping'?"),
        ('wire', ': make another Spring'),
    ],
)
def test_usual_words_are_known(name, hint):
    """Suggest the class's equivalent of a usual word, but no dissimilar name."""
    assert str(unknown_attribute(Spring(), name)) == f'Spring has no attribute {name!r}{hint}'


@pytest.mark.parametrize(
    ('name', 'message'),
    [
        ('place', 'Spring.place cannot be set: move what it hangs on'),
        ('m', 'Spring.m cannot be set'),
        ('owner_only', 'Spring.owner_only cannot be set'),
    ],
)
def test_facts_are_read_only(name, message):
    """Refuse to set filled public slots, properties without setter, and methods."""
    spring = Spring()
    before = getattr(spring, name)
    with pytest.raises(AttributeError) as caught:
        setattr(spring, name, 2.0)
    assert str(caught.value) == message
    assert getattr(spring, name) == before
    with pytest.raises(AttributeError, match='cannot be set'):
        del spring.place


def test_attributes_with_setter_are_set():
    """Set properties repeatedly, and pass on errors from their setters."""
    spring = Spring()
    for value in (1.0, 2.0):
        spring.damping = value
        assert spring.damping == value
    with pytest.raises(ValueError, match='much'):
        spring.damping = 'much'


def test_other_names_are_refused_without_a_hint():
    """Refuse dissimilar names, and names looked up by Python itself."""
    assert str(unknown_attribute(Spring(), 'q')) == "Spring has no attribute 'q'"
    assert not hasattr(Spring(), '__array__')
    with pytest.raises(AttributeError, match='has no attribute'):
        Spring().extra = 1.0
    with pytest.raises(AttributeError, match='rest cannot be set'):
        Spring().rest = 1.0


def test_errors_inside_properties_are_unchanged():
    """Name the missing attribute, not the property that needs it."""
    with pytest.raises(AttributeError, match="'float' object has no attribute 'unit'"):
        _ = Spring().wrong
    with pytest.raises(AttributeError, match='_rest'):
        _ = Spring().rest


def test_dir_lists_public_attributes():
    """List public slots and properties, and nothing internal."""
    assert sorted(dir(Spring())) == ['damping', 'lower', 'm', 'place', 'rest', 'upper', 'wrong']


def test_objects_are_copied():
    """Let copy and weak references work as for other objects."""
    assert copy.copy(Spring()).damping == 0.5
