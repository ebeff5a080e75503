"""What leads to each other in a circle: the strongly connected groups of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def groups(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The groups of nodes that lead to each other, each after all groups that it leads to (Tarjan's
    algorithm, without a recursion that a long chain of imports would exhaust). What is no key of
    the graph is not followed. Members are sorted, so that no group hangs on where it was entered.
    """
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    open_nodes: set[str] = set()
    found: list[list[str]] = []
    for start in graph:
        if start in order:
            continue
        order[start] = low[start] = len(order)
        stack.append(start)
        open_nodes.add(start)
        work = [(start, iter(graph[start]))]
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in graph:
                    continue
                if other not in order:
                    order[other] = low[other] = len(order)
                    stack.append(other)
                    open_nodes.add(other)
                    work.append((other, iter(graph[other])))
                    break
                if other in open_nodes:
                    low[node] = min(low[node], order[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    at = stack.index(node)
                    found.append(sorted(stack[at:]))
                    open_nodes.difference_update(stack[at:])
                    del stack[at:]
    return found
