"""Imported before all else by a process that imports a thousand modules: what they make is hardly ever garbage, and to look for some
again and again takes a sixth of the time. Whoever imports this enables the collector again.
"""

import gc

gc.disable()
