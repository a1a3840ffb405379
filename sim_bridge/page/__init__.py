"""
The live page: a process of its own that shows a running simulation in browsers.

`records` declares what it is told, `channel` how that travels, `guard` who may look. `process` is
the program; only `server` and what builds widgets import viser. Imports `foreign` and `foundation`
alone: the process must not load the engine, and starts before anything is compiled.
"""
