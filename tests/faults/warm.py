"""What the campaign's fork server has ready before the first daemon: all that one imports, also what libraries import late.

Nothing of it is looked at again by a daemon's garbage collection.
"""

import gc
import importlib

LATE = (
    "tests.faults.cut",
    "anyio._backends._asyncio",
    "certifi",
    "concurrent.futures.thread",
    "httpcore",
    "httpcore._backends.anyio",
    "importlib.readers",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.h11_impl",
)

for name in LATE:
    importlib.import_module(name)
gc.freeze()
