"""What all tests share: what was imported and collected is not looked at by every garbage collection."""

import gc


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
