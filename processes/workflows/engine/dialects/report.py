"""What becomes of a file: what runs, what was translated and how, what is only drawn."""

from dataclasses import dataclass, field

from processes.workflows.engine.dialects.drafts import Draft

MOST_ENTRIES = 2_000
"""Of each list; how many there are beyond it is counted."""
MAX_TEXT = 300


@dataclass(frozen=True, slots=True)
class Ran:
    """An element that runs as it stands in the file."""

    element: str
    line: int
    name: str
    what: str
    """The type of the element, as BPMN or CMMN calls it."""


@dataclass(frozen=True, slots=True)
class Translated:
    """A part of an element that runs as something else, side by side."""

    element: str
    line: int
    name: str
    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """An element, or a part of one, that has no effect here."""

    element: str
    line: int
    name: str
    what: str
    why: str
    is_picture: bool = False
    """It is nothing but a picture in the standard itself, too."""
    is_whole: bool = False
    """The element itself, not a part of it."""


@dataclass(slots=True)
class Report:
    """Gathers the three lists of a file while it is translated."""

    runs: list[Ran] = field(default_factory=list)
    translated: list[Translated] = field(default_factory=list)
    drawn: list[Drawn] = field(default_factory=list)
    more: int = 0
    """Entries beyond `MOST_ENTRIES`, of all lists together."""

    def add_run(self, element: str, line: int, name: str, what: str) -> None:
        if self._has_room(self.runs):
            self.runs.append(Ran(element[:200], line, _cut(name), what))

    def translate(self, element: Draft, what: str, before: str, after: str, *, of: Draft | None = None) -> None:
        """Note that a part of an element was translated; `of` is the element that people know, if it is another."""
        holder = of or element
        entry = Translated(holder.id[:200], element.line, _name(holder), what[:100], _cut(before), _cut(after))
        if self._has_room(self.translated) and entry not in self.translated[-20:]:
            self.translated.append(entry)

    def draw(self, element: Draft, what: str, why: str, *, of: Draft | None = None, is_picture: bool = False) -> None:
        """Note that an element, or a part of one, is only drawn."""
        holder = of or element
        if self._has_room(self.drawn):
            is_whole = holder is element and what.isalnum()
            self.drawn.append(
                Drawn(holder.id[:200], element.line, _name(holder), what[:100], why, is_picture, is_whole)
            )

    def sort(self) -> None:
        """Put every list into the order of the file."""
        self.runs.sort(key=lambda entry: entry.line)
        self.translated.sort(key=lambda entry: entry.line)
        self.drawn.sort(key=lambda entry: entry.line)

    def _has_room(self, entries: list[Ran] | list[Translated] | list[Drawn]) -> bool:
        has_room = len(entries) < MOST_ENTRIES
        self.more += not has_room
        return has_room


def _name(element: Draft) -> str:
    return _cut(element.get("name"))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_TEXT else f"{line[: MAX_TEXT - 1]}…"
