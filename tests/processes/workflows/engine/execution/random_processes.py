"""Random processes made of blocks, each with one way in and one way out, and how often each part must have run."""

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies

from processes.workflows.engine.definition import Definition, NodeKind
from tests.processes.workflows.engine.builder import (
    Part,
    again,
    call,
    catch,
    condition,
    duration,
    each,
    event_based,
    exclusive,
    inclusive,
    message,
    node,
    parallel,
    process,
    script,
    sub,
    user,
)

Block = tuple[Any, ...]
_LEAVES = strategies.sampled_from([("user",), ("auto",), ("timer",), ("call",), ("condition",)])
_COUNTS = strategies.integers(0, 3)


def blocks() -> strategies.SearchStrategy[Block]:
    return strategies.recursive(_LEAVES, _larger, max_leaves=9)


def _larger(inner: strategies.SearchStrategy[Block]) -> strategies.SearchStrategy[Block]:
    several = strategies.lists(inner, min_size=2, max_size=3)
    return strategies.one_of(
        strategies.tuples(strategies.just("sequence"), several),
        strategies.tuples(strategies.just("exclusive"), several, strategies.integers(0, 2)),
        strategies.tuples(strategies.just("parallel"), several),
        strategies.tuples(strategies.just("inclusive"), several, strategies.integers(0, 7)),
        strategies.tuples(strategies.just("events"), several),
        strategies.tuples(strategies.just("circle"), inner, strategies.integers(1, 3)),
        strategies.tuples(strategies.just("sub"), inner),
        strategies.tuples(strategies.just("repeat"), inner, strategies.integers(1, 3)),
        strategies.tuples(strategies.just("each"), inner, _COUNTS, strategies.booleans()),
    )


@dataclass
class BlockPlan:
    """A process and, for every element whose runs are known beforehand, how to find them out."""

    called: Definition
    definition: Definition = None
    count: int = 0
    expected: list[tuple[str, int, str | None]] = field(default_factory=list)
    """An element runs so many times as often as another (None: the process) does."""
    choices: list[tuple[list[str], str | None, int]] = field(default_factory=list)
    """Of some elements one runs, so many times as often as another does."""

    def key(self, name: str) -> str:
        self.count += 1
        return f"{name}{self.count}"


def plan_of(block: Block) -> BlockPlan:
    plan = BlockPlan(process(user("q"), "start > q > end", key="Q"))
    parts: list[Part | str] = []
    first, last = _add(plan, parts, block, None, 1, False)
    plan.definition = process(*parts, f"start > {first}", f"{last} > end")
    return plan


def verify(plan: BlockPlan, runs: Counter[str]) -> None:
    """Fail when an element ran more or less often than the blocks say."""
    for element, times, per in plan.expected:
        assert runs[element] == times * (runs[per] if per else 1), (element, times, per)
    for elements, per, times in plan.choices:
        assert sum(runs[element] for element in elements) == times * (runs[per] if per else 1), (elements, per)


def _add(
    plan: BlockPlan, parts: list[Part | str], block: Block, per: str | None, times: int, is_shared: bool
) -> tuple[str, str]:
    """Add a block that runs `times` for every run of `per`; give its first and its last element.

    `is_shared` says that rounds of it may run at once, so that it has no variable of its own in the process.
    """
    kind = block[0]
    if kind == "sequence":
        return _add_sequence(plan, parts, block, per, times, is_shared)
    if kind in ("exclusive", "parallel", "inclusive"):
        return _add_branches(plan, parts, block, per, times, is_shared)
    if kind == "events":
        return _add_events(plan, parts, block, per, times, is_shared)
    if kind == "circle" and not is_shared:
        return _add_circle(plan, parts, block, per, times)
    if kind in ("sub", "repeat", "each", "circle"):
        return _add_sub(plan, parts, block, per, times, is_shared)
    key = plan.key(kind)
    parts.append(_leaf(kind, key))
    plan.expected.append((key, times, per))
    return key, key


def _leaf(kind: str, key: str) -> Part:
    if kind == "user":
        return user(key)
    if kind == "timer":
        return catch(key, duration("PT1H"))
    if kind == "call":
        return call(key, "Q")
    if kind == "condition":
        return catch(key, condition("true"))
    return node(NodeKind.TASK, key)


def _add_sequence(
    plan: BlockPlan, parts: list[Part | str], block: Block, per: str | None, times: int, is_shared: bool
) -> tuple[str, str]:
    ends = [_add(plan, parts, inner, per, times, is_shared) for inner in block[1]]
    for before, after in itertools.pairwise(ends):
        parts.append(f"{before[1]} > {after[0]}")
    return ends[0][0], ends[-1][1]


def _add_branches(
    plan: BlockPlan, parts: list[Part | str], block: Block, per: str | None, times: int, is_shared: bool
) -> tuple[str, str]:
    kind, inner = block[0], block[1]
    make = {"exclusive": exclusive, "parallel": parallel, "inclusive": inclusive}[kind]
    fork, join = plan.key("fork"), plan.key("join")
    parts.extend((make(fork), make(join)))
    wanted = [_is_taken(block, index) for index in range(len(inner))]
    for index, branch in enumerate(inner):
        is_default = kind != "parallel" and index == len(inner) - 1
        is_taken = wanted[index] and not (is_default and any(wanted[:-1]))
        is_taken = is_taken or (is_default and not any(wanted[:-1]))
        first, last = _add(plan, parts, branch, per, times if is_taken else 0, is_shared)
        if is_default:
            parts.append(f"{fork} > {first} default")
        elif kind == "parallel":
            parts.append(f"{fork} > {first}")
        else:
            parts.append(f"{fork} > {first} : {'true' if wanted[index] else 'false'}")
        parts.append(f"{last} > {join}")
    return fork, join


def _is_taken(block: Block, index: int) -> bool:
    if block[0] == "exclusive":
        return bool(index == block[2])
    return block[0] == "parallel" or bool(block[2] >> index & 1)


def _add_events(
    plan: BlockPlan, parts: list[Part | str], block: Block, per: str | None, times: int, is_shared: bool
) -> tuple[str, str]:
    gateway, join = plan.key("first"), plan.key("merge")
    parts.extend((event_based(gateway), exclusive(join)))
    catches = []
    for index, branch in enumerate(block[1]):
        key = plan.key("catch")
        catches.append(key)
        parts.append(catch(key, duration("PT1H") if index == 0 else message(key)))
        first, last = _add(plan, parts, branch, key, 1, is_shared)
        parts.extend((f"{gateway} > {key}", f"{key} > {first}", f"{last} > {join}"))
    plan.choices.append((catches, per, times))
    return gateway, join


def _add_circle(plan: BlockPlan, parts: list[Part | str], block: Block, per: str | None, times: int) -> tuple[str, str]:
    begin, merge, count, decide = (plan.key(name) for name in ("begin", "merge", "count", "decide"))
    parts.extend((script(begin, **{merge: "0"}), script(count, **{merge: f"{merge} + 1"})))
    parts.extend((exclusive(merge), exclusive(decide)))
    first, last = _add(plan, parts, block[1], per, times * block[2], False)
    out = plan.key("auto")
    parts.append(node(NodeKind.TASK, out))
    parts.extend((f"{begin} > {merge} > {first}", f"{last} > {count} > {decide}"))
    parts.extend((f"{decide} > {merge} : {merge} < {block[2]}", f"{decide} > {out} default"))
    return begin, out


def _add_sub(
    plan: BlockPlan, parts: list[Part | str], block: Block, per: str | None, times: int, is_shared: bool
) -> tuple[str, str]:
    kind, key, loop, rounds = block[0], plan.key("sub"), None, 1
    if kind in ("repeat", "circle"):
        rounds = block[2]
        loop = again(f"loopCounter < {rounds}")
    elif kind == "each":
        rounds = block[2]
        loop = each(cardinality=str(rounds), is_sequential=block[3])
        is_shared = is_shared or not block[3]
    inside: list[Part | str] = []
    first, last = _add(plan, inside, block[1], per, times * rounds, is_shared)
    parts.append(sub(key, *inside, f"start_{key} > {first}", f"{last} > end_{key}", loop=loop))
    plan.expected.append((key, times * rounds, per))
    return key, key
