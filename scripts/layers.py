# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The layers of src/, and circles of what is in them. For scripts/check-layers and check-circles."""

RANK = {"base": 0, "port": 1, "page": 2, "core": 3, "tiny": 3, "heap": 4, "debug": 5, "guard": 6, "stats": 7, "malloc": 8}
# Which layer has the headers that the build chooses by the include path.
BY_PATH = {"port_impl.h": "port", "raw_lock.h": "port", "percpu.h": "port", "vfork.h": "port", "backing_impl.h": "page", "tiny_config.h": "tiny", "malloc_front.h": "malloc"}


def layer_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def circles(edges):
    """The strongly connected components of several nodes (Tarjan 1972); edges: {node: {node: what ties them}}."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for target in sorted(edges.get(node, ())):
            if target not in number:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == number[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(edges):
        if node not in number:
            visit(node)
    return found


def ties(circle, edges):
    """One line for each two nodes of a circle that are tied."""
    return ["%s -> %s: %s" % (node, target, " ".join(sorted(edges[node][target])))
            for node in circle for target in sorted(edges.get(node, ())) if target in circle]
