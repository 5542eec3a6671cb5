"""Texts that plain code builds in English: known by their templates, they are said in the language of the reader."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext

from config.common.earlier_texts import TODAY

_PLACE = re.compile(r"%\\\((\w+)\\\)s")
_VALUE = re.compile(r"%\(\w+\)s")
_LEAST_LETTERS = 3
"""Of a piece that tells texts apart."""


@dataclass(frozen=True)
class StoredWords:
    """What a stored text holds all of, if a reader finds in it what they are looking for."""

    pieces: tuple[str, ...]


class KnownTexts:
    def __init__(self, templates: Iterable[str], values: Mapping[str, Callable[[str], str]] | None = None) -> None:
        today = tuple(templates)
        # What an earlier version stored is known too, and said as it is said today.
        self._templates = (*today, *(old for old, new in TODAY.items() if new in today))
        self._values = values or {}
        """How the values of some places are said in words."""

    def translate(self, text: str) -> str:
        """Return a text in the current language; one that no template knows stays as it is."""
        for template, pattern in self._patterns:
            if found := pattern.fullmatch(text):
                values = {name: self._values.get(name, str)(value) for name, value in found.groupdict().items()}
                return gettext(TODAY.get(template, template)) % values
        return text

    def find_stored(self, part: str) -> Iterator[StoredWords]:
        """Yield by which English words the texts are stored that hold this part in the current language.

        The part may lie in the words of a template, or begin or end in one of its values.
        """
        wanted = part.casefold()
        for template in self._templates:
            shown = gettext(TODAY.get(template, template))
            if shown == template:
                continue  # the stored text itself holds the part
            stored = tuple(piece for piece in _pieces(template) if len(piece) >= _LEAST_LETTERS)
            for piece in _pieces(shown) if stored else ():
                value = _find_value(wanted, piece.casefold())
                if value is not None:
                    yield StoredWords((*stored, value) if value else stored)

    @cached_property
    def _patterns(self) -> list[tuple[str, re.Pattern[str]]]:
        # The longest first: what says more must not be taken for a value inside of what says less.
        by_length = sorted(self._templates, key=lambda template: len(_PLACE.sub("", re.escape(template))), reverse=True)
        return [
            (template, re.compile(_PLACE.sub(r"(?P<\1>.+)", re.escape(template)), re.DOTALL)) for template in by_length
        ]


def _pieces(template: str) -> list[str]:
    """Return what stands between the places of a template."""
    return [piece.strip() for piece in _VALUE.split(template) if piece.strip()]


def _find_value(part: str, piece: str) -> str | None:
    """Return what of a part a value beside these words must hold: nothing if they hold it all, None if none of it."""
    if part in piece:
        return ""
    for length in range(len(part) - 1, _LEAST_LETTERS - 1, -1):
        if piece.endswith(part[:length].rstrip()):
            return part[length:].strip()
        if piece.startswith(part[-length:].lstrip()):
            return part[:-length].strip()
    return None
