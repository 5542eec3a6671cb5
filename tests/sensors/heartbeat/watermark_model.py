"""A model of the queue, its consumers and the probes, small enough to search every order in which things can happen.

The broker hands messages out in order, into the channel of any consumer that is connected; a consumer reads its channel
frame by frame, gathers, commits. It may be paused, it may die (the broker notices later and takes back what it had), it
may give everything back and begin anew, another may join. The rule under test says up to when all is committed.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from sensors.heartbeat.watermark import proven_time

SIGNAL, PROBE, ANSWER = "signal", "probe", "answer"
UP, PAUSED, DEAD, GONE, ABSENT, READY = "up", "paused", "dead", "gone", "absent", "ready"
WITH_THE_BROKER = (UP, PAUSED, DEAD)
PREFETCH = 2


class Frame(NamedTuple):
    kind: str
    sent: int
    place: int = 0


class Consumer(NamedTuple):
    status: str
    channel: tuple[Frame, ...] = ()
    memory: tuple[Frame, ...] = ()
    asked: int | None = None
    """The time of a question that the broker has not answered yet."""
    answered: int | None = None
    mark: int | None = None
    """The row in the database."""


class State(NamedTuple):
    now: int
    queue: tuple[Frame, ...]
    consumers: tuple[Consumer, ...]
    uncommitted: tuple[int, ...]
    """When the signals were sent that are not committed."""
    probes: tuple[tuple[int, int], ...] = ()
    proven_from: int | None = None
    signals_left: int = 1
    probes_left: int = 2
    troubles_left: int = 1


@dataclass(frozen=True)
class Rule:
    """What the consumers and the listener do for the watermark; each part can be left out, to see what it is for."""

    asks: bool = True
    """A mark is the time of a question that the queue has answered on the channel; else the time of the commit."""
    registers_first: bool = True
    """A consumer has its row before it subscribes; else with its first commit."""
    raises_proven_from: bool = True
    """When messages were given back, earlier probes no longer count; else those that have passed are deleted."""


NEW = Rule()
OLD = Rule(asks=False, registers_first=False, raises_proven_from=False)


def begin(*, probes: int = 1, troubles: int = 0, joining: bool = False) -> State:
    """Return two consumers at work, perhaps a third that may join, and an empty queue."""
    working = Consumer(UP, mark=0)
    third = (Consumer(ABSENT),) if joining else ()
    return State(1, (), (working, working, *third), (), probes_left=probes, troubles_left=troubles)


def watermark(state: State) -> int | None:
    marks = [each.mark for each in state.consumers if each.mark is not None]
    return proven_time(state.probes, marks, proven_from=state.proven_from)


def is_true(state: State) -> bool:
    """Say whether everything is committed that the watermark says is."""
    mark = watermark(state)
    return mark is None or all(sent > mark for sent in state.uncommitted)


def steps(state: State, rule: Rule) -> Iterator[tuple[str, State]]:
    """Return everything that can happen next."""
    if state.signals_left:
        yield "a signal is sent", _send(state, SIGNAL)
    if state.probes_left:
        yield "a probe is sent", _send(state, PROBE)
    for number, consumer in enumerate(state.consumers):
        for name, step in _STEPS:
            after = step(state, number, consumer, rule)
            if after is not None:
                yield f"{number} {name}", after


def _send(state: State, kind: str) -> State:
    place = max((frame.place for frame in _all_frames(state)), default=0) + 1
    sent = state._replace(now=state.now + 1, queue=(*state.queue, Frame(kind, state.now, place)))
    if kind == SIGNAL:
        return sent._replace(uncommitted=(*state.uncommitted, state.now), signals_left=state.signals_left - 1)
    return sent._replace(probes_left=state.probes_left - 1)


def _all_frames(state: State) -> Iterator[Frame]:
    yield from state.queue
    for each in state.consumers:
        yield from each.channel
        yield from each.memory


def _with(state: State, number: int, consumer: Consumer, **changes: Any) -> State:
    consumers = (*state.consumers[:number], consumer, *state.consumers[number + 1 :])
    return state._replace(consumers=consumers, **changes)


def _is_handed(state: State, number: int, it: Consumer, rule: Rule) -> State | None:
    held = sum(frame.kind != ANSWER for frame in it.channel) + len(it.memory)
    if it.status not in WITH_THE_BROKER or not state.queue or held >= PREFETCH:
        return None
    return _with(state, number, it._replace(channel=(*it.channel, state.queue[0])), queue=state.queue[1:])


def _reads(state: State, number: int, it: Consumer, rule: Rule) -> State | None:
    if it.status != UP or not it.channel:
        return None
    frame, rest = it.channel[0], it.channel[1:]
    if frame.kind == ANSWER:
        return _with(state, number, it._replace(channel=rest, answered=frame.sent))
    return _with(state, number, it._replace(channel=rest, memory=(*it.memory, frame)))


def _asks(state: State, number: int, it: Consumer, rule: Rule) -> State | None:
    waits = it.asked is not None or it.answered is not None or any(frame.kind == ANSWER for frame in it.channel)
    if not rule.asks or it.status != UP or waits:
        return None
    return _with(state, number, it._replace(asked=state.now), now=state.now + 1)


def _is_answered(state: State, number: int, it: Consumer, rule: Rule) -> State | None:
    if it.status not in WITH_THE_BROKER or it.asked is None:
        return None
    return _with(state, number, it._replace(asked=None, channel=(*it.channel, Frame(ANSWER, it.asked))))


def _commits(state: State, number: int, it: Consumer, rule: Rule) -> State | None:
    if it.status != UP or (rule.asks and not it.memory and it.answered is None):
        return None
    mark = it.mark
    if not rule.asks:
        mark = state.now
    elif it.answered is not None:
        mark = it.answered
    elif it.mark is None:
        mark = 0  # the row of a consumer that has shown nothing yet
    met = tuple((frame.sent, state.now) for frame in it.memory if frame.kind == PROBE)
    known = {frame.sent for frame in it.memory if frame.kind == SIGNAL}
    left = tuple(sent for sent in state.uncommitted if sent not in known)
    after = it._replace(memory=(), answered=None, mark=mark)
    probes = tuple(sorted({*state.probes, *met}))
    return _with(state, number, after, now=state.now + 1, uncommitted=left, probes=probes)


def _pauses(state: State, number: int, it: Consumer, rule: Rule) -> State | None:
    if it.status != UP or not state.troubles_left:
        return None
    return _with(state, number, it._replace(status=PAUSED), troubles_left=state.troubles_left - 1)


def _goes_on(state: State, number: int, it: Consumer, rule: Rule) -> State | None:
    return _with(state, number, it._replace(status=UP)) if it.status == PAUSED else None


def _dies(state: State, number: int, it: Consumer, rule: Rule) -> State | None:
    if it.status != UP or not state.troubles_left:
        return None
    return _with(state, number, it._replace(status=DEAD), troubles_left=state.troubles_left - 1)


def _is_cut_off(state: State, number: int, it: Consumer, rule: Rule) -> State | None:
    """The broker notices the end of a dead one, or loses patience with a paused one, and takes back what it had.

    To where it stood: that is what RabbitMQ does with messages that are given back.
    """
    if it.status not in (DEAD, PAUSED):
        return None
    back = [frame for frame in (*it.channel, *it.memory) if frame.kind != ANSWER]
    queue = tuple(sorted((*state.queue, *back), key=lambda frame: frame.place))
    return _with(state, number, Consumer(GONE, mark=it.mark), queue=queue)


def _is_dropped(state: State, number: int, it: Consumer, rule: Rule) -> State | None:
    if it.status != GONE or it.mark is None:
        return None
    return _prove_anew(_with(state, number, it._replace(mark=None)), rule)


def _begins_anew(state: State, number: int, it: Consumer, rule: Rule) -> State | None:
    """It gave all back because the database was away, and has its row still."""
    if it.status != GONE or it.mark is None or not rule.raises_proven_from:
        return None
    return _prove_anew(_with(state, number, Consumer(UP, mark=state.now)), rule)


def _prove_anew(state: State, rule: Rule) -> State:
    if rule.raises_proven_from:
        return state._replace(proven_from=state.now, now=state.now + 1)
    return state._replace(probes=())


def _registers(state: State, number: int, it: Consumer, rule: Rule) -> State | None:
    if it.status != ABSENT:
        return None
    mark = state.now if rule.registers_first else None
    return _with(state, number, it._replace(status=READY, mark=mark), now=state.now + 1)


def _subscribes(state: State, number: int, it: Consumer, rule: Rule) -> State | None:
    return _with(state, number, it._replace(status=UP)) if it.status == READY else None


_Step = Callable[[State, int, Consumer, Rule], State | None]
_STEPS: tuple[tuple[str, _Step], ...] = (
    ("is handed a message", _is_handed),
    ("reads a frame", _reads),
    ("asks", _asks),
    ("is answered", _is_answered),
    ("commits", _commits),
    ("pauses", _pauses),
    ("goes on", _goes_on),
    ("dies", _dies),
    ("is cut off", _is_cut_off),
    ("is dropped", _is_dropped),
    ("begins anew", _begins_anew),
    ("registers", _registers),
    ("subscribes", _subscribes),
)


def rank(state: State) -> State:
    """Number the times anew: states that differ in nothing that the rule compares have the same future.

    Times of sending are compared with one another and with `proven_from`; of a mark it only matters which probes had
    passed by then.
    """
    probes = [probe for probe in state.probes if state.proven_from is None or probe[0] >= state.proven_from]
    sent = {frame.sent for frame in _all_frames(state) if frame.kind != ANSWER}
    sent.update(
        state.uncommitted, (time for time, _ in probes), () if state.proven_from is None else (state.proven_from,)
    )
    order = {time: number for number, time in enumerate(sorted(sent), 1)}
    passed = sorted({time for _, time in probes})
    places = {place: number for number, place in enumerate(sorted(frame.place for frame in _all_frames(state)))}

    def mark(time: int | None) -> int | None:
        return None if time is None else bisect_right(passed, time)

    def frames(old: tuple[Frame, ...]) -> tuple[Frame, ...]:
        return tuple(
            Frame(ANSWER, bisect_right(passed, each.sent))
            if each.kind == ANSWER
            else Frame(each.kind, order[each.sent], places[each.place])
            for each in old
        )

    consumers = [
        Consumer(
            each.status,
            frames(each.channel),
            frames(each.memory),
            mark(each.asked),
            mark(each.answered),
            mark(each.mark),
        )
        for each in state.consumers
    ]
    return state._replace(
        now=max(len(order), len(passed)) + 1,
        queue=frames(state.queue),
        consumers=tuple(sorted(consumers, key=_order)),
        uncommitted=tuple(order[time] for time in state.uncommitted),
        probes=tuple(sorted((order[time], bisect_right(passed, end)) for time, end in probes)),
        proven_from=None if state.proven_from is None else order[state.proven_from],
    )


def _order(it: Consumer) -> tuple[object, ...]:
    """Consumers are one another's equals: which of them stands first makes no difference."""
    times = (-1 if time is None else time for time in (it.asked, it.answered, it.mark))
    return (it.status, it.channel, it.memory, *times)


@dataclass(frozen=True)
class Searched:
    states: set[State]
    moves: int
    lie: tuple[str, ...] | None
    """The shortest way to a state in which the watermark says what is not so."""


def search(start: State, rule: Rule) -> Searched:
    """Go through all that can happen, breadth first, until the watermark lies or there is nothing new."""
    first = rank(start)
    came: dict[State, tuple[State, str] | None] = {first: None}
    layer, moves = [first], 0
    while layer:
        following: list[State] = []
        for state in layer:
            for name, after in steps(state, rule):
                moves += 1
                after = rank(after)
                if after in came:
                    continue
                came[after] = (state, name)
                if not is_true(after):
                    return Searched(set(came), moves, _way(came, after))
                following.append(after)
        layer = following
    return Searched(set(came), moves, None)


def _way(came: dict[State, tuple[State, str] | None], state: State) -> tuple[str, ...]:
    names: list[str] = []
    while (step := came[state]) is not None:
        state, name = step
        names.append(name)
    return tuple(reversed(names))


def settle(state: State, rule: Rule) -> State:
    """Let the trouble end and everyone work, a new probe included."""
    calm = state._replace(signals_left=0, probes_left=1, troubles_left=0)
    calm = _until_still(calm, rule, (_goes_on, _is_cut_off, _is_dropped, _subscribes, *_WORK))
    return _until_still(_send(calm, PROBE), rule, _WORK, rounds=2)


_WORK: tuple[_Step, ...] = (_is_handed, _reads)


def _until_still(state: State, rule: Rule, moves: tuple[_Step, ...], rounds: int = 1) -> State:
    for _ in range(rounds):
        state = _exhaust(state, rule, moves)
        for step in (_commits, _asks, _is_answered, _reads, _reads, _reads, _commits):
            for number in range(len(state.consumers)):
                state = step(state, number, state.consumers[number], rule) or state
        state = _exhaust(state, rule, moves)
    return state


def _exhaust(state: State, rule: Rule, moves: tuple[_Step, ...]) -> State:
    moved = True
    while moved:
        moved = False
        for number in range(len(state.consumers)):
            for step in moves:
                after = step(state, number, state.consumers[number], rule)
                if after is not None:
                    state, moved = after, True
    return state
