"""x"""


def worker_result(a: str, b: object) -> str:
    return a
