"""
Many worlds alike, stepped by compiled code on all processors.

`Batch` takes a world and makes n of it; what differs between them is in arrays with a row for each
world. Imports `world` and what is below it.
"""
