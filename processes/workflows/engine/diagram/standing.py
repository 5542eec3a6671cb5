"""What the marks of an instance say of each shape."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from processes.workflows.engine.diagram.colours import ACTIVE, BROKEN, FINISHED, PLAIN, ShapeStyle
from processes.workflows.engine.diagram.item_states import LOOKS, STATES, find_shown_state
from processes.workflows.engine.diagram.marks import MarkLabels, Marks


@dataclass(frozen=True, slots=True)
class ShapeMarks:
    """What the marks say of the shapes, those of undrawn elements counted where they are shown."""

    tokens: Mapping[str, int]
    incidents: frozenset[str]
    done: frozenset[str]
    items: Mapping[str, Mapping[str, int]]
    """Of plan items that are drawn: how many are in which state."""
    failed: frozenset[str]
    """Where something has failed that the shown state does not tell: an undrawn item, or an earlier one of several."""

    def get_look(self, key: str) -> ShapeStyle:
        if key in self.incidents:
            return BROKEN
        state = self.find_state(key)
        if state is not None:
            return LOOKS[state[0]]
        if key in self.tokens:
            return ACTIVE
        return FINISHED if key in self.done else PLAIN

    def find_state(self, key: str) -> tuple[str, int] | None:
        """Find the state that is shown of a plan item, and how many are in it."""
        return find_shown_state(self.items.get(key, {}))

    def has_badges(self, key: str) -> bool:
        is_marked = key in self.tokens or key in self.incidents or key in self.failed
        return is_marked or self.find_state(key) is not None

    def describe(self, key: str, words: MarkLabels) -> str:
        """Say in words what the badges of a shape show; nothing when there are none."""
        parts = [words.incident] if key in self.incidents else []
        counts = self.items.get(key, {})
        parts += [say_count(words.say_state(state), counts[state]) for state in STATES if counts.get(state, 0) > 0]
        if key in self.failed and not counts.get("failed"):
            parts.append(words.say_state("failed"))
        if key in self.tokens:
            parts.append(f"{words.tokens}: {self.tokens[key]}")
        if not parts and key in self.done:
            parts.append(words.done)
        return ", ".join(parts)


def assign_marks(marks: Marks, shown_by: Mapping[str, str]) -> ShapeMarks:
    tokens: Counter[str] = Counter()
    for key, count in marks.active.items():
        if key in shown_by and count > 0:
            tokens[shown_by[key]] += count
    items = {key: counts for key, counts in marks.items.items() if shown_by.get(key) == key}
    return ShapeMarks(
        tokens=dict(tokens),
        incidents=frozenset(shown_by[key] for key in marks.incidents if key in shown_by),
        # A part that is done does not make the whole done: only what is drawn itself.
        done=frozenset(key for key in marks.done if shown_by.get(key) == key),
        items=items,
        failed=frozenset(_find_failed(marks.items, shown_by)),
    )


def say_count(word: str, count: int) -> str:
    return word if count == 1 else f"{word}: {count}"


def _find_failed(items: Mapping[str, Mapping[str, int]], shown_by: Mapping[str, str]) -> Iterator[str]:
    for key, counts in items.items():
        state = find_shown_state(counts)
        is_told = shown_by.get(key) == key and state is not None and state[0] == "failed"
        if key in shown_by and counts.get("failed", 0) > 0 and not is_told:
            yield shown_by[key]
