"""
Message package generation by the rosidl wheels and a C and C++ compiler.

The rosidl programs write C, C++ and Python. A package's libraries lie beside its Python module,
which is linked to them. Importing the module loads them, so ROS finds them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
import contextlib
from functools import partial
import json
import os
from pathlib import Path
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from sim_bridge.foundation.errors import InterfaceBuildError
from sim_bridge.ros.interfaces import definitions, store
from sim_bridge.ros.interfaces.definitions import Package
from sim_bridge.trust.folders import subfolder, VARIABLE
from sim_bridge.trust.ownership import close_to_others, locked

_HASHES = 'rosidl_generator_type_description'
_GENERATORS = {
    'rosidl_generator_py': ('--typesupport-impls', 'rosidl_typesupport_c'),
    'rosidl_generator_c': (),
    'rosidl_typesupport_fastrtps_c': (),
    'rosidl_typesupport_introspection_c': (),
    'rosidl_typesupport_c': (
        '--typesupports',
        'rosidl_typesupport_fastrtps_c',
        'rosidl_typesupport_introspection_c',
    ),
}
"""Command line options for each generator besides its arguments; the slowest generators first."""

_LIBRARIES = (
    'rosidl_generator_c',
    'rosidl_typesupport_fastrtps_c',
    'rosidl_typesupport_introspection_c',
)
"""Generators whose code becomes a library; other generators' code becomes the Python module."""

# no warnings from generated code, and little optimisation: it takes little of a node's run time
_FLAGS = ('-O1', '-fPIC', '-w')
# packages used by every type with actions and services, besides a package's own dependencies
_IMPLIED = (
    'action_msgs',
    'builtin_interfaces',
    'geometry_msgs',
    'service_msgs',
    'std_msgs',
    'unique_identifier_msgs',
)
_RUNTIME = (
    'fastcdr',
    'rcutils',
    'rmw',
    'rosidl_runtime_c',
    'rosidl_typesupport_c',
    'rosidl_typesupport_fastrtps_c',
    'rosidl_typesupport_fastrtps_cpp',
    'rosidl_typesupport_introspection_c',
)
_CHECK = """\
import importlib, sys
from pathlib import Path
for name in sys.argv[1:]:
    package, kind, stem = name.split('/')
    getattr(importlib.import_module(f'{package}.{kind}'), stem).__import_type_support__()
"""


def build(files: Iterable[Path] | None = None) -> tuple[Path, bool]:
    """
    Return the prefix of the packages defined by `files`, and whether this call generated them.

    files: see `definitions`; this package's own files by default. Concurrent processes wait for
    one of them. Raises InterfaceBuildError.
    """
    files = definitions.files() if files is None else list(files)
    beside = store.wheels()
    if beside is None:
        raise InterfaceBuildError(
            'they are generated beside the ROS wheels from PyPI only. A ROS 2 installation has '
            'them as packages: apt install ros-$ROS_DISTRO-control-msgs '
            'ros-$ROS_DISTRO-controller-manager-msgs '
            'ros-$ROS_DISTRO-simulation-interfaces ros-$ROS_DISTRO-tf2-msgs'
        )
    found = store.find(files)
    if found is not None:
        return found, False
    cache = subfolder(store.FOLDER)
    if cache is None:
        raise InterfaceBuildError(f'there is no cache folder; set {VARIABLE} to a writable one')
    path = cache / store.key_of(files, beside)
    with locked(path.with_suffix('.lock'), wait=True):
        found = store.find(files)
        if found is not None:
            return found, False
        with _work_folder(path) as folder:
            made = folder / 'prefix'
            _Builder(folder, made).build([definitions.read(file) for file in files])
            _close(made)
            _replace(path, made, folder)
    return path, True


@contextlib.contextmanager
def _work_folder(path: Path) -> Iterator[Path]:
    """Make a private folder beside a path, and delete it in the end."""
    with tempfile.TemporaryDirectory(
        dir=path.parent, prefix=f'{path.name}.', ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def _close(made: Path) -> None:
    """Take the write permission of others from a tree, and make the folders for bytecode."""
    for folder, _, names in os.walk(made):
        if any(name.endswith('.py') for name in names):
            # made by a later import, it would have the modes of that process's umask
            Path(folder, '__pycache__').mkdir(exist_ok=True)
    for each in (made, *made.rglob('*')):
        close_to_others(each)


def _replace(path: Path, made: Path, aside: Path) -> None:
    """Move a tree to its place; one there, refused by `store.find`, goes to a work folder."""
    try:
        if os.path.lexists(path):
            path.rename(aside / 'refused')
        made.rename(path)
    except OSError as error:
        raise InterfaceBuildError(
            f'{path} cannot be replaced: {error.strerror}; remove it'
        ) from None


class _Builder:
    """Generates and compiles packages in a work folder; installs the results into `prefix`."""

    def __init__(self, folder: Path, prefix: Path) -> None:
        """Find compilers and headers; raises InterfaceBuildError if one is missing."""
        self._folder, self._prefix = folder, prefix
        self._wheels = Path(sys.prefix)
        self._cc, self._cxx = _compiler('CC', 'gcc', 'cc'), _compiler('CXX', 'g++', 'c++')
        import numpy

        headers = self._wheels / 'include'
        python = Path(sysconfig.get_path('include'))
        for file, remedy in (
            (python / 'Python.h', 'apt install python3-dev'),
            (
                headers / 'rosidl_runtime_c',
                ('the ROS wheels contain it: reinstall them (make clean, then make run)'),
            ),
        ):
            if not file.exists():
                raise InterfaceBuildError(f'there is no {file}: {remedy}')
        self._includes = [
            f'-I{each}'
            for each in (
                *(folder / name for name in _GENERATORS),
                python,
                numpy.get_include(),
                headers,
                *sorted(each for each in headers.iterdir() if each.is_dir()),
            )
        ]
        # the generators find each other's templates through it; the wheels do not set it
        self._environment = {**os.environ, 'AMENT_PREFIX_PATH': str(self._wheels), 'LC_ALL': 'C'}

    def build(self, packages: list[Package]) -> None:
        """Build all packages on all processors."""
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:

            def all_of(calls: Iterable[Callable[[], None]]) -> None:
                for future in [pool.submit(call) for call in calls]:
                    future.result()

            all_of(partial(self._describe, each) for each in packages)
            # largest packages first, so no processor waits long for the last one
            ordered = sorted(packages, key=lambda each: -len(each.interfaces))
            all_of(partial(self._generate, each, one) for one in _GENERATORS for each in ordered)
            all_of(
                partial(self._run, each)
                for package in ordered
                for each in self._compilations(package)
            )
            all_of(partial(self._install, each) for each in packages)
        self._check(packages)

    # --- steps of a package ----------------------------------------------------------------------

    def _describe(self, package: Package) -> None:
        """Write a package's interface definitions in ROS form, as IDL, and with type hashes."""
        share = self._share(package)
        for file, text in package.interfaces.items():
            path = share / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding='utf-8')
        self._run(
            [
                sys.executable,
                '-c',
                'import sys; from pathlib import Path; from rosidl_adapter import convert_to_idl\n'
                'share = Path(sys.argv[1])\n'
                'for file in sys.argv[3:]: convert_to_idl(share, sys.argv[2], Path(file), share)',
                str(share),
                package.name,
                *package.interfaces,
            ]
        )
        depends = sorted({*package.dependencies, *_IMPLIED})
        self._generator(
            package,
            _HASHES,
            share,
            include_paths=[f'{name}:{self._wheels / "share" / name}' for name in depends],
        )

    def _generate(self, package: Package, generator: str) -> None:
        """Run one code generator on a package."""
        output, share = self._sources(package, generator), self._share(package)
        told = {}
        if generator == 'rosidl_generator_c':
            told = {
                'type_description_tuples': [
                    f'{idl}:{(share / idl).with_suffix(".json")}' for idl in _idls(package)
                ],
                'ros_interface_files': [str(share / file) for file in package.interfaces],
            }
        self._generator(package, generator, output, *_GENERATORS[generator], **told)
        template = f'{generator}__visibility_control.h'
        resource = self._wheels / 'share' / generator / 'resource' / f'{template}.in'
        if resource.is_file():
            text = resource.read_text(encoding='utf-8')
            text = text.replace('@PROJECT_NAME_UPPER@', package.name.upper())
            (output / 'msg').mkdir(parents=True, exist_ok=True)
            (output / 'msg' / template).write_text(
                text.replace('@PROJECT_NAME@', package.name), encoding='utf-8'
            )

    def _compilations(self, package: Package) -> list[list[str]]:
        """
        Return the commands for compiling a package.

        All files from one generator are compiled as one, since the headers take most of the time.
        Type description files are compiled separately, since they define equal names.
        """
        commands = []
        for generator in _GENERATORS:
            folder = self._objects(package, generator)
            folder.mkdir(parents=True)
            for suffix, compiler in (('.c', self._cc), ('.cpp', [*self._cxx, '-std=c++17'])):
                sources = sorted(self._sources(package, generator).rglob(f'*{suffix}'))
                alone = [each for each in sources if each.stem.endswith('__description')]
                together = [each for each in sources if each not in alone]
                if together:
                    joint = folder / f'all{suffix}'
                    joint.write_text(''.join(f'#include "{each}"\n' for each in together))
                    alone.append(joint)
                commands += [
                    [
                        *compiler,
                        *_FLAGS,
                        '-c',
                        str(source),
                        '-o',
                        str(folder / f'{number}{suffix}.o'),
                        *self._includes,
                    ]
                    for number, source in enumerate(alone)
                ]
        return commands

    def _install(self, package: Package) -> None:
        """Link a package, and install its results into the prefix."""
        folder = store.python_path(self._prefix) / package.name
        shutil.copytree(
            self._sources(package, 'rosidl_generator_py'),
            folder,
            ignore=shutil.ignore_patterns('*.c'),
        )
        (folder / '__init__.py').touch()
        depends = sorted({*package.dependencies, *_IMPLIED})
        used = [
            '-Wl,--as-needed',
            f'-L{self._wheels / "lib"}',
            *(f'-l{name}' for name in _RUNTIME),
        ]
        own: list[str] = []
        for generator in _LIBRARIES:
            name = f'lib{package.name}__{generator}.so'
            self._link(
                package,
                [generator],
                folder / name,
                [
                    f'-Wl,-soname,{name}',
                    *own[:1],
                    *used,
                    *(f'-l{depend}__{generator}' for depend in depends),
                ],
            )
            own.append(str(folder / name))
        others = [name for name in _GENERATORS if name not in _LIBRARIES]
        module = f'{package.name}_s__rosidl_typesupport_c{sysconfig.get_config_var("EXT_SUFFIX")}'
        self._link(
            package,
            others,
            folder / module,
            [
                '-Wl,--no-as-needed',
                *own,
                *used,
                *(
                    f'-l{depend}__{name}'
                    for depend in depends
                    for name in (
                        'rosidl_generator_c',
                        'rosidl_generator_py',
                        'rosidl_typesupport_c',
                    )
                ),
            ],
        )
        self._share(package).joinpath('package.xml').write_text(
            f'<package format="3"><name>{package.name}</name>'
            f'<version>{package.version}</version></package>\n'
        )
        files = [*package.interfaces, *_idls(package)]
        index = self._prefix / 'share' / 'ament_index' / 'resource_index'
        for kind, text in (('packages', ''), ('rosidl_interfaces', '\n'.join(sorted(files)))):
            (index / kind).mkdir(parents=True, exist_ok=True)
            (index / kind / package.name).write_text(text)

    def _link(
        self, package: Package, generators: list[str], library: Path, options: list[str]
    ) -> None:
        found = sorted(
            path for each in generators for path in self._objects(package, each).glob('*.o')
        )
        self._run(
            [
                *self._cxx,
                '-shared',
                '-o',
                str(library),
                *map(str, found),
                '-Wl,-rpath,$ORIGIN',
                *options,
            ]
        )

    def _check(self, packages: list[Package]) -> None:
        """Load every type in a separate process; raises InterfaceBuildError."""
        names = [
            f'{package.name}/{Path(file).with_suffix("").as_posix()}'
            for package in packages
            for file in package.interfaces
        ]
        path = os.pathsep.join(
            [
                str(store.python_path(self._prefix)),
                *filter(None, [os.environ.get('PYTHONPATH', '')]),
            ]
        )
        self._environment['PYTHONPATH'] = path
        self._run([sys.executable, '-c', _CHECK, *names])

    # --- helpers ---------------------------------------------------------------------------------

    def _generator(
        self, package: Package, generator: str, output: Path, *options: str, **told: object
    ) -> None:
        share = self._share(package)
        depends = sorted({*package.dependencies, *_IMPLIED})
        arguments = self._folder / f'{generator}-{package.name}.json'
        arguments.write_text(
            json.dumps(
                {
                    'package_name': package.name,
                    'idl_tuples': [f'{share}:{idl}' for idl in _idls(package)],
                    'ros_interface_dependencies': [
                        f'{name}:{path}'
                        for name in depends
                        for path in sorted((self._wheels / 'share' / name).glob('*/*.idl'))
                    ],
                    'output_dir': str(output),
                    'template_dir': str(self._wheels / 'share' / generator / 'resource'),
                    'target_dependencies': [str(share / idl) for idl in _idls(package)],
                    **told,
                }
            )
        )
        self._run(
            [
                sys.executable,
                str(self._wheels / 'lib' / generator / generator),
                '--generator-arguments-file',
                str(arguments),
                *options,
            ]
        )

    def _share(self, package: Package) -> Path:
        return self._prefix / 'share' / package.name

    def _sources(self, package: Package, generator: str) -> Path:
        return self._folder / generator / package.name

    def _objects(self, package: Package, generator: str) -> Path:
        return self._folder / 'objects' / package.name / generator

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(
            command,
            # other users may have put modules into this process's working directory
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors='replace',
            check=False,
        )
        if done.returncode:
            raise InterfaceBuildError(
                f'{shlex.join(command)[:300]} … ended with {done.returncode}:\n'
                f'{done.stdout[-3000:]}'
            )


def _idls(package: Package) -> list[str]:
    return [Path(file).with_suffix('.idl').as_posix() for file in package.interfaces]


def _compiler(variable: str, *names: str) -> list[str]:
    """Return a compiler command: from the environment variable, or the first one installed."""
    with contextlib.suppress(KeyError):
        return shlex.split(os.environ[variable])
    for name in names:
        if found := shutil.which(name):
            return [found]
    raise InterfaceBuildError(
        f'there is no compiler: neither {variable} in the environment nor {" or ".join(names)}. '
        'Install one: apt install g++ python3-dev'
    )
