"""
Live page: separate process that shows a running simulation in browsers.

`records` declares the page's data, `channel` transfers it, `guard` checks access. `process` is
the program; only `server` and the files with widgets import viser. Imports `foreign` and
`foundation` alone: the process must not load the engine, and starts before any compilation.
"""
