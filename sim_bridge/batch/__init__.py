"""
Many worlds with the same structure, stepped by compiled code on all processors.

`Batch` copies a world n times; the differences between the copies are in arrays with a row for
each world. Imports `world` and everything below it.
"""
