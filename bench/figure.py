"""A figure: this product against a yardstick, measured in turns in one run, as a ratio of medians."""

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

ROUNDS = 5


@dataclass(frozen=True)
class Figure:
    name: str
    unit: str
    ours: float
    yardstick: float
    ratio: float
    must: float
    aims: float
    at_most: bool
    """Whether the ratio must stay below the bar (growth), not reach it."""

    @property
    def holds(self) -> bool:
        return self.ratio <= self.must if self.at_most else self.ratio >= self.must

    def __str__(self) -> str:
        sign = "≤" if self.at_most else "≥"
        verdict = "holds" if self.holds else "FAILS"
        return (
            f"{self.name:22} {self.ratio:6.2f}  (must {sign} {self.must:g}, aims {sign} {self.aims:g}: {verdict})"
            f"   ours {self.ours:,.1f}, yardstick {self.yardstick:,.1f} {self.unit}"
        )


def compare(
    name: str,
    unit: str,
    *,
    ours: Callable[[], float],
    yardstick: Callable[[], float],
    must: float,
    aims: float,
) -> Figure:
    """Measure both in turns and return the ratio of their medians."""
    pairs = [(ours(), yardstick()) for _ in range(ROUNDS)]
    mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    return report(name, unit, mine, theirs, must=must, aims=aims, at_most=False)


def report(
    name: str, unit: str, ours: float, yardstick: float, *, must: float, aims: float, at_most: bool = True
) -> Figure:
    """Make the figure of two medians and print it."""
    figure = Figure(name, unit, ours, yardstick, ours / yardstick, must, aims, at_most)
    print(figure, flush=True)
    return figure


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def save(figures: list[Figure], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(figure) | {"holds": figure.holds} for figure in figures], indent=1))


def load(path: Path) -> list[Figure]:
    """Read what `save` has written."""
    names = {field.name for field in fields(Figure)}
    return [Figure(**{name: row[name] for name in names}) for row in json.loads(path.read_text())]
