"""
Compiler for kernels: translates functions in a small, strict subset of Python to machine code.

It imports numpy and llvmlite, and nothing else from this project. Kernels import `kernel`,
`entry`, `stage`, `arrays` and `table`; docs/kernels.md describes the subset and defines every
operation.
"""
