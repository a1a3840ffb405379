"""
Compilation from LLVM text to machine code, and loading into this process.

Worker processes run this file alone (see `build`), so it imports nothing else from the package. It
is the only file that imports llvmlite, and does so at first use.
"""

from __future__ import annotations

import ctypes
from functools import cache
import os
import re
import sys
import threading
from typing import Any, BinaryIO

# Passes up to inlining, mem2reg, loop-invariant code motion and unrolling. Higher levels double
# the compile time and make steps slower (figures in docs/decisions/0015). Vectorizers run only
# for units with lanes.
_LEVEL = 1
_CODE_LEVEL = 2

LANES = '; lanes'
"""First line of an LLVM text to be vectorized: equal operations side by side become one."""

# vector width: wider vectors slow the processor down for a while after their first use
_WIDTH = '"prefer-vector-width"="256" "min-legal-vector-width"="0"'

# earlier versions contain an LLVM with another syntax
_LEAST_VERSION = 0, 45
_REMEDY = "pip install 'llvmlite>=0.45'"

# C library functions called by kernels, directly or as LLVM's replacement for other code
MATHEMATICS = (
    'sin',
    'cos',
    'tan',
    'asin',
    'acos',
    'atan',
    'atan2',
    'exp',
    'log',
    'pow',
    'fma',
    'sincos',
    'memcpy',
    'memmove',
    'memset',
)


@cache
def _binding() -> Any:
    try:
        import llvmlite
        import llvmlite.binding as binding
    except ImportError as error:
        raise ImportError(
            f'kernels are compiled by llvmlite, which cannot be imported ({error}): {_REMEDY}'
        ) from error
    version = tuple(int(digits) for digits in re.findall(r'\d+', llvmlite.__version__)[:2])
    if version < _LEAST_VERSION:
        raise ImportError(
            f'llvmlite {llvmlite.__version__} in {llvmlite.__path__[0]} is too old '
            f'for the kernels: {_REMEDY}'
        )
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@cache
def machine_name() -> str:
    """Return the names of compiler and target processor."""
    import llvmlite

    binding = _binding()
    return ' '.join(
        [
            f'llvmlite {llvmlite.__version__}',
            f'passes {_LEVEL} {_CODE_LEVEL}',
            binding.get_process_triple(),
            *_processor(),
        ]
    )


def _processor() -> tuple[str, str]:
    """Return this machine's processor name and features in LLVM's terms."""
    binding = _binding()
    return binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


def _machine(processor: tuple[str, str]) -> Any:
    binding = _binding()
    name, features = processor
    return binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        cpu=name, features=features, opt=_CODE_LEVEL, reloc='pic', codemodel='small'
    )


def compile_text(
    text: str, processor: tuple[str, str] | None = None, level: int = _LEVEL
) -> bytes:
    """
    Return a module's object file; raises RuntimeError if LLVM rejects the text.

    processor: name and features of the target in LLVM's terms; None for this machine. level:
    optimisation level, 0 to 3.
    """
    binding, machine = _binding(), _machine(processor or _processor())
    if text.startswith(LANES):
        text = text.replace(' nounwind {', f' nounwind {_WIDTH} {{')
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    options = binding.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization, options.slp_vectorization = False, text.startswith(LANES)
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


@cache
def _linker() -> Any:
    binding = _binding()
    # process functions are resolved; the C library's mathematics may be a separate library
    return binding.create_lljit_compiler(_machine(_processor()), use_jit_link=True)


# linked objects by name; these references keep their machine code loaded
_loaded: dict[str, tuple[Any, ...]] = {}
_loading = threading.Lock()
if hasattr(os, 'register_at_fork'):
    # a process is forked between two objects, never while LLVM holds its own locks
    os.register_at_fork(
        before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release
    )


def load(
    code: bytes,
    symbol: str,
    name: str,
    functions: tuple[str, ...] = MATHEMATICS,
    callbacks: dict[str, Any] | None = None,
) -> int:
    """
    Link an object file into this process; return the address of one of its symbols.

    name: name of the content; each object is linked once. functions: C library functions that the
    code may call. callbacks: other functions, as ctypes objects.
    """
    callbacks = callbacks or {}
    with _loading:
        if name not in _loaded:
            builder = _binding().JITLibraryBuilder().add_object_img(code).export_symbol(symbol)
            for function, address in _addresses_of(functions).items():
                builder.import_symbol(function, address)
            for function, callback in callbacks.items():
                builder.import_symbol(function, _address_of(callback))
            _loaded[name] = builder.link(_linker(), name), callbacks
        return _loaded[name][0][symbol]


@cache
def _addresses_of(names: tuple[str, ...]) -> dict[str, int]:
    """Return C library function addresses by name."""
    library = ctypes.CDLL(None)
    if not hasattr(library, 'sin'):
        library = ctypes.CDLL('libm.so.6')
    return {name: _address_of(getattr(library, name)) for name in names}


def _address_of(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _serve(source: BinaryIO, target: BinaryIO) -> None:
    """Compile texts from a stream until it ends; each text is preceded by its length."""
    while size := source.read(8):
        text = source.read(int.from_bytes(size, 'little')).decode()
        try:
            code, status = compile_text(text), b'\0'
        except RuntimeError as error:
            code, status = str(error).encode(), b'\1'
        target.write(status + len(code).to_bytes(8, 'little') + code)
        target.flush()


if __name__ == '__main__':
    _serve(sys.stdin.buffer, sys.stdout.buffer)
