"""Functions of lists. Those that sum up take one list, or the values themselves; positions count from 1."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, DecimalException
from functools import cmp_to_key
from typing import Any

from processes.workflows.engine.feel.functions.registry import define
from processes.workflows.engine.feel.limits import MAX_ITEMS
from processes.workflows.engine.feel.run import Run
from processes.workflows.engine.feel.values import NUMBERS, Closure, all_of, any_of, check_number, compare, is_equal


def _spread(run: Run, arguments: Sequence[Any]) -> list[Any]:
    """Return the items of the one list, or the arguments as a list."""
    items = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else list(arguments)
    run.meter.spend_items(len(items))
    return items


def _numbers(run: Run, arguments: Sequence[Any]) -> list[Decimal] | None:
    items = _spread(run, arguments)
    return items if items and all(isinstance(item, Decimal) for item in items) else None


def as_list(value: Any) -> list[Any]:
    """Return a list; any other value is the one item of a list."""
    return value if isinstance(value, list) else [value]


def sum_up(run: Run, *arguments: Any) -> Decimal | None:
    numbers = _numbers(run, arguments)
    return None if numbers is None else _total(numbers)


def _total(numbers: Sequence[Decimal]) -> Decimal | None:
    total = Decimal(0)
    try:
        for number in numbers:
            total = NUMBERS.add(total, number)
    except DecimalException:
        return None
    return check_number(total)


def find_extreme(run: Run, arguments: Sequence[Any], operator: str) -> Any:
    """Return the least (`<`) or greatest (`>`) of the values; None where they have no order."""
    items = _spread(run, arguments)
    if not items:
        return None
    found = items[0]
    for item in items[1:]:
        is_beyond = compare(operator, item, found)
        if is_beyond is None:
            return None
        found = item if is_beyond else found
    return found if compare("<=", found, found) else None


@define("count(list)")
def _count(run: Run, items: Any) -> Decimal:
    return Decimal(len(as_list(items)))


@define("sum(list)", takes_any=True)
def _sum(run: Run, *arguments: Any) -> Decimal | None:
    return sum_up(run, *arguments)


@define("min(list)", takes_any=True)
def _min(run: Run, *arguments: Any) -> Any:
    return find_extreme(run, arguments, "<")


@define("max(list)", takes_any=True)
def _max(run: Run, *arguments: Any) -> Any:
    return find_extreme(run, arguments, ">")


@define("mean(list)", takes_any=True)
def _mean(run: Run, *arguments: Any) -> Decimal | None:
    numbers = _numbers(run, arguments)
    total = None if numbers is None else _total(numbers)
    return None if total is None or numbers is None else NUMBERS.divide(total, Decimal(len(numbers)))


@define("median(list)", takes_any=True)
def _median(run: Run, *arguments: Any) -> Decimal | None:
    numbers = _numbers(run, arguments)
    if numbers is None:
        return None
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return NUMBERS.divide(NUMBERS.add(ordered[middle - 1], ordered[middle]), Decimal(2))


@define("product(list)", takes_any=True)
def _product(run: Run, *arguments: Any) -> Decimal | None:
    numbers = _numbers(run, arguments)
    if numbers is None:
        return None
    product = Decimal(1)
    try:
        for number in numbers:
            product = NUMBERS.multiply(product, number)
    except DecimalException:
        return None
    return check_number(product)


@define("all(list)", takes_any=True)
def _all(run: Run, *arguments: Any) -> bool | None:
    return all_of(_spread(run, arguments))


@define("any(list)", takes_any=True)
def _any(run: Run, *arguments: Any) -> bool | None:
    return any_of(_spread(run, arguments))


@define("list contains(list, element)")
def _contains(run: Run, items: Any, element: Any) -> bool | None:
    return None if items is None else bool(_positions(run, as_list(items), element))


@define("index of(list, match)")
def _index_of(run: Run, items: Any, match: Any) -> list[Decimal] | None:
    return None if items is None else [Decimal(at) for at in _positions(run, as_list(items), match)]


def _positions(run: Run, items: list[Any], wanted: Any) -> list[int]:
    run.meter.spend_items(len(items))
    return [at for at, item in enumerate(items, start=1) if is_equal(item, wanted, run.meter)]


@define("sublist(list, start position, length)", least=2)
def _sublist(run: Run, items: Any, start: Any, length: Any = None) -> list[Any] | None:
    if not isinstance(items, list) or not isinstance(start, Decimal) or start == 0:
        return None
    begin = int(start) - 1 if start > 0 else max(len(items) + int(start), 0)
    if length is None:
        return items[begin:]
    return items[begin : begin + int(length)] if isinstance(length, Decimal) and length >= 0 else None


@define("append(list, item)", takes_any=True)
def _append(run: Run, *arguments: Any) -> list[Any]:
    return _joined(run, as_list(arguments[0]) if arguments else [], list(arguments[1:]))


@define("concatenate(list)", takes_any=True)
def _concatenate(run: Run, *arguments: Any) -> list[Any]:
    return _joined(run, *map(as_list, arguments))


def _joined(run: Run, *lists: list[Any]) -> list[Any]:
    run.meter.spend_items(sum(map(len, lists)))
    return [item for items in lists for item in items]


@define("insert before(list, position, newItem)")
def _insert(run: Run, items: Any, position: Any, item: Any) -> list[Any] | None:
    at = _place(items, position)
    return None if at is None else _joined(run, items[:at], [item], items[at:])


@define("remove(list, position)")
def _remove(run: Run, items: Any, position: Any) -> list[Any] | None:
    at = _place(items, position)
    return None if at is None else _joined(run, items[:at], items[at + 1 :])


def _place(items: Any, position: Any) -> int | None:
    """Return the index of a position in a list; None where it has none."""
    if not isinstance(items, list) or not isinstance(position, Decimal) or abs(position) > len(items) or not position:
        return None
    return int(position) - 1 if position > 0 else len(items) + int(position)


@define("reverse(list)")
def _reverse(run: Run, items: Any) -> list[Any] | None:
    return _joined(run, items)[::-1] if isinstance(items, list) else None


@define("distinct values(list)")
def _distinct(run: Run, items: Any) -> list[Any]:
    found: list[Any] = []
    for item in as_list(items):
        run.meter.spend(1 + len(found))
        if not any(is_equal(item, known, run.meter) for known in found):
            found.append(item)
    return found


@define("union(list)", takes_any=True)
def _union(run: Run, *arguments: Any) -> list[Any]:
    distinct: list[Any] = _distinct(run, _concatenate(run, *arguments))
    return distinct


@define("flatten(list)")
def _flatten(run: Run, items: Any) -> list[Any]:
    found: list[Any] = []
    rest = [items]
    while rest:
        run.meter.spend(1)
        item = rest.pop()
        if isinstance(item, list):
            run.meter.spend_items(len(item))
            rest.extend(reversed(item))
        else:
            found.append(item)
    return found


@define("sort(list, precedes)", least=1)
def _sort(run: Run, items: Any, precedes: Any = None) -> list[Any] | None:
    """Sort ascending, or by a function that says of two whether the first precedes; None where there is no order."""
    if not isinstance(items, list):
        return None
    if precedes is not None:
        return _sort_by(run, items, precedes)
    run.meter.spend(len(items) * 4)
    if any(compare("<=", item, items[0]) is None for item in items):
        return None
    return sorted(items, key=cmp_to_key(lambda one, other: -1 if compare("<", one, other) else one != other))


def _sort_by(run: Run, items: list[Any], precedes: Any) -> list[Any] | None:
    if not isinstance(precedes, Closure) or len(precedes.parameters) != 2:
        return None
    run.meter.spend_items(len(items))

    def order(one: Any, other: Any) -> int:
        # One call for each comparison, counted by the function itself; equal ones keep their places.
        return -1 if precedes.call(run, (one, other)) is True else 1 if precedes.call(run, (other, one)) is True else 0

    return sorted(items, key=cmp_to_key(order))


@define("list replace(list, position, newItem)")
def _list_replace(run: Run, items: Any, position: Any, item: Any) -> list[Any] | None:
    """Replace the item at a position, or those that a function of the item and the new one picks."""
    if isinstance(position, Closure) and isinstance(items, list) and len(position.parameters) == 2:
        return [item if position.call(run, (each, item)) is True else each for each in _joined(run, items)]
    at = _place(items, position)
    return None if at is None else _joined(run, items[:at], [item], items[at + 1 :])


@define("duplicate values(list)")
def _duplicates(run: Run, items: Any) -> list[Any]:
    found: list[Any] = []
    listed = as_list(items)
    for place, item in enumerate(listed):
        run.meter.spend(1 + len(listed))
        is_known = any(is_equal(item, known, run.meter) for known in found)
        if not is_known and any(is_equal(item, other, run.meter) for other in listed[place + 1 :]):
            found.append(item)
    return found


@define("partition(list, size)")
def _partition(run: Run, items: Any, size: Any) -> list[Any] | None:
    if not isinstance(items, list) or not isinstance(size, Decimal) or not 1 <= size <= MAX_ITEMS:
        return None
    run.meter.spend_items(len(items))
    return [items[at : at + int(size)] for at in range(0, len(items), int(size))]


@define("is empty(list)")
def _is_empty(run: Run, items: Any) -> bool | None:
    return not items if isinstance(items, list) else None


@define("mode(list)", takes_any=True)
def _mode(run: Run, *arguments: Any) -> list[Decimal] | None:
    """Return the numbers that occur most often, in ascending order."""
    numbers = _spread(run, arguments)
    if not all(isinstance(number, Decimal) for number in numbers):
        return None
    counts = Counter(numbers)
    most = max(counts.values(), default=0)
    return sorted(number for number, count in counts.items() if count == most)


@define("stddev(list)", takes_any=True)
def _deviation(run: Run, *arguments: Any) -> Decimal | None:
    """Return the standard deviation of a sample."""
    numbers = _numbers(run, arguments)
    if numbers is None or len(numbers) < 2:
        return None
    try:
        total = _total(numbers)
        if total is None:
            return None
        mean = NUMBERS.divide(total, Decimal(len(numbers)))
        squares = [NUMBERS.power(NUMBERS.subtract(number, mean), Decimal(2)) for number in numbers]
        spread = _total(squares)
        return None if spread is None else check_number(NUMBERS.sqrt(NUMBERS.divide(spread, Decimal(len(numbers) - 1))))
    except DecimalException:
        return None
