"""
Visuals, as cameras see them.

`visual` declares a visual surface on a body, `read_visuals` makes visuals from a link's
description, `scenery` makes arrays from visuals, and `renderer` renders arrays at
body poses. Imports `engine`, `description` and the packages below; knows no World.
"""
