"""Fields declare the results they make stale, and are written only through `Staleness`."""

import ast
from pathlib import Path

import pytest

import sim_bridge as sb
from sim_bridge.engine.data.contact_materials import ContactMaterials
from sim_bridge.engine.data.fields import Fields
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.loops import AxisValues, Loops
from sim_bridge.engine.data.model import Model
from sim_bridge.engine.data.parts import arrays_of
from sim_bridge.engine.data.state import State
from sim_bridge.engine.data.user_contacts import UserContacts
from sim_bridge.simulation.staleness import closure, FIELDS, PARTS, REST, STEPPER

ROOT = Path(sb.__file__).parent
PARTS_OF_WORLDS = (Model, State, Loops, Geometry, ContactMaterials, Fields, UserContacts)
NAMES = {name for part in PARTS_OF_WORLDS for name in arrays_of(part)}
# views returned by backends and slots
VIEWS = {
    'parameters',
    'states',
    'positions',
    'velocities',
    'efforts',
    'toughness',
    'heights',
    'dq',
}
# arrays of one call, not used by any result
SCRATCH = {'workspace', 'ws', 'frame'}
# user views of fields compared by steps and the observer
PUBLIC = {'robot.q', 'robot.dq', 'robot.u'}
PACKAGES = (
    'batch',
    'control',
    'drives',
    'gym',
    'identification',
    'laws',
    'ode',
    'robots',
    'ros',
    'simulation',
    'trajectory',
    'tuning',
    'view',
    'world',
)
# Functions by file that build arrays, or fill the arrays of one call; '' for a whole file.
BUILDERS = {
    'robots/body_type.py': ['_with_other_base'],
    'robots/joints/constraint.py': ['__init__', 'bind'],
    'simulation/assembly.py': [''],
    'simulation/cache.py': ['begin_joints', 'separate_joints'],
    'simulation/contact_arrays.py': ['write_groups'],
    'simulation/contact_energy.py': ['energy_in_contacts'],
    'simulation/contact_listeners.py': ['part'],
    'simulation/contact_terms.py': [''],
    'simulation/force_fields.py': ['parts', '_find_gravity', '_find_forces'],
    'simulation/friction_calls.py': [''],
    'simulation/link_medium.py': ['with_media'],
    'simulation/observer_call.py': ['forget'],
    'simulation/part.py': ['start_part'],
    'simulation/robot_arrays.py': [''],
    'simulation/rollback.py': ['_take_back'],
    'simulation/slots.py': ['with_pulled'],
    'simulation/step_runner.py': ['_drop_pushes'],
    'simulation/user_contacts.py': [''],
}


def test_parameters_are_declared():
    """Every array that can change while a world runs declares the results it makes stale."""
    for part in (Model, Loops, Geometry):
        changeable = {name for name, field in arrays_of(part).items() if field.dims.is_parameter}
        # derived from the geometries' collision groups; see GROUPS
        derived = {'group', 'mask'} if part is Geometry else set()
        of_axes = {'passive', 'limits', 'motor', 'stop'} if part is Loops else set()
        assert changeable - derived - of_axes <= FIELDS[part].keys(), part
        assert of_axes <= FIELDS[AxisValues].keys()


def test_declared_fields_exist():
    """Every declaration names an existing field, and includes all dependent results."""
    for part, fields in FIELDS.items():
        known = getattr(part, '_fields', None)
        if known is not None:
            assert fields.keys() <= set(known), part
        for name, stale in fields.items():
            assert stale == closure(stale), f'{part.__name__}.{name}'
    assert closure(PARTS) & STEPPER
    assert not closure(PARTS) & REST


def test_undeclared_field_cannot_be_written():
    """Writing an undeclared field raises KeyError, and writes nothing."""
    world = sb.World()
    world.add_body(sb.Sphere(0.1))
    world.step()
    model = world.simulation.cache.model
    before = model.kind.copy()
    with pytest.raises(KeyError, match='kind'):
        world.simulation.write(model, 'kind', 0, 3)
    assert (model.kind == before).all()


class Writes(ast.NodeVisitor):
    """Finds assignments into fields: (function, line, text)."""

    def __init__(self):
        self.found = []
        self._function, self._aliases = [], [set()]

    def visit_FunctionDef(self, node):
        self._function.append(node.name)
        self._aliases.append(set())
        self.generic_visit(node)
        self._aliases.pop()
        self._function.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Assign(self, node):
        for target in node.targets:
            self._check(target)
            self._note(target, node.value)
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        self._check(node.target)
        self.generic_visit(node)

    def visit_Call(self, node):
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in ('fill', 'put', 'sort'):
            self._check_array(function.value, node)
        if isinstance(function, ast.Attribute) and function.attr in ('copyto', 'putmask'):
            self._check_array(node.args[0], node)
        for keyword in node.keywords:
            if keyword.arg == 'out':
                self._check_array(keyword.value, node)
        self.generic_visit(node)

    def _check(self, target):
        if isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self._check(each)
        elif isinstance(target, ast.Subscript):
            self._check_array(target.value, target)

    def _check_array(self, array, node):
        if self._is_field(array):
            name = self._function[-1] if self._function else ''
            self.found.append((name, node.lineno, ast.unparse(node)))

    def _is_field(self, array):
        while isinstance(array, ast.Subscript):
            array = array.value
        if isinstance(array, ast.Name):
            return array.id in self._aliases[-1]
        if isinstance(array, ast.Call) and isinstance(array.func, ast.Attribute):
            return array.func.attr in VIEWS
        if not isinstance(array, ast.Attribute) or array.attr not in NAMES | VIEWS:
            return False
        owner = array.value
        name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, 'id', '')
        return name not in SCRATCH and f'{name}.{array.attr}' not in PUBLIC

    def _note(self, target, value):
        """Note names that alias a field."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, other in zip(target.elts, value.elts, strict=False):
                self._note(one, other)
        elif isinstance(target, ast.Name):
            change = set.add if self._is_field(value) else set.discard
            change(self._aliases[-1], target.id)


def writes():
    """Return all assignments into fields outside the engine: file, function, line, text."""
    found = []
    for path in sorted(ROOT.rglob('*.py')):
        file = path.relative_to(ROOT).as_posix()
        if not file.startswith(tuple(f'{each}/' for each in PACKAGES)):
            continue
        visitor = Writes()
        visitor.visit(ast.parse(path.read_text()))
        found += [(file, *each) for each in visitor.found]
    return found


def test_fields_are_written_in_one_way():
    """Only `Staleness` and array builders assign into a field."""
    strange, builders = [], set()
    for file, function, line, text in writes():
        permitted = BUILDERS.get(file, [])
        if '' in permitted or function in permitted:
            builders |= {(file, ''), (file, function)} & {(file, each) for each in permitted}
        else:
            strange.append(f'{file}:{line} {function}: {text}')
    assert not strange, '\n'.join(strange)
    assert builders == {(file, each) for file, own in BUILDERS.items() for each in own}


def test_the_scan_finds_aliases_and_views():
    """A field is found behind a name, a view, a tuple, a sum and a call that writes it."""
    text = """
def f(seat, model):
    rows = seat.parameters('stop')
    a, rows[0, 1] = 1, 2
    model.inertia[3] += 1
    part.model.frame[:] = 0
    workspace.q[:] = 0
    np.copyto(state.target[:, 0], 1)
    wrench = state.wrench[1]
    wrench[:3] = 0
    other = np.zeros(3)
    other[0] = 1
"""
    visitor = Writes()
    visitor.visit(ast.parse(text))
    assert [line for _, line, _ in visitor.found] == [4, 5, 6, 8, 10]
