"""
Many worlds alike, stepped by compiled code on all processors.

`Batch` takes a world and makes n of it; what differs between them is in arrays with a row for each
world. May import everything below `trajectory`, `drives`, `contact`, `laws` and `view`.
"""
