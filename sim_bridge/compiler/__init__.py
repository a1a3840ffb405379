"""
A compiler for kernels: functions in a small, strict subset of Python, made into machine code.

It imports numpy, llvmlite and nothing else of this project. Kernels import `kernel`, `entry`,
`stage`, `arrays` and `table`; docs/kernels.md describes the subset and what every operation means.
"""
