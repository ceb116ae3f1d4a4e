"""Tasks that wait for tasks: no circles, and what can be begun."""

from collections.abc import Collection, Iterable, Mapping, Sequence

Graph = Mapping[int, Collection[int]]
"""By task, those it waits for."""


def graph_of(links: Iterable[tuple[int, int]]) -> dict[int, set[int]]:
    """By task those it waits for, of pairs of blocker and blocked."""
    found = dict[int, set[int]]()
    for blocker, blocked in links:
        found.setdefault(blocked, set()).add(blocker)
    return found


def circle(graph: Graph) -> tuple[int, ...]:
    """The tasks of one circle in the order in which each waits for the next, the first one again at its end; empty where there is
    none. The same graph has the same answer."""
    settled = set[int]()
    for start in sorted(graph):
        path, place = list[int](), dict[int, int]()
        stack = [(start, iter(sorted(graph.get(start, ()))))]
        if start in settled:
            continue
        path.append(start)
        place[start] = 0
        while stack:
            node, waits_for = stack[-1]
            following = next(waits_for, None)
            if following is None:
                stack.pop()
                settled.add(path.pop())
                del place[node]
            elif following in place:
                return (*path[place[following] :], following)
            elif following not in settled:
                place[following] = len(path)
                path.append(following)
                stack.append((following, iter(sorted(graph.get(following, ())))))
    return ()


def circle_with(graph: Graph, blocked: int, blockers: Iterable[int]) -> tuple[int, ...]:
    """The circle that there would be if a task waited for these too; empty where there would be none."""
    wider = {node: set(waits_for) for node, waits_for in graph.items()}
    wider.setdefault(blocked, set()).update(blockers)
    return circle(wider)


def waits_for(graph: Graph, task: int, done: Collection[int]) -> tuple[int, ...]:
    """Those that a task still waits for, in the order of their numbers."""
    return tuple(sorted(item for item in graph.get(task, ()) if item not in done))


def unblocks(graph: Graph, tasks: Sequence[int]) -> dict[int, int]:
    """By task, how many others wait for it, directly or through others."""
    blocked_by = dict[int, set[int]]()
    for node, blockers in graph.items():
        for blocker in blockers:
            blocked_by.setdefault(blocker, set()).add(node)
    return {task: len(_after(blocked_by, task)) for task in tasks}


def _after(blocked_by: Mapping[int, Collection[int]], task: int) -> set[int]:
    found, left = set[int](), list(blocked_by.get(task, ()))
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left.extend(blocked_by.get(node, ()))
    return found - {task}
