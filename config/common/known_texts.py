"""Texts that plain code builds in English: known by their templates, they are said in the language of the reader."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from django.utils.translation import gettext

from config.common.earlier_texts import TODAY

_PLACE = re.compile(r"%\\\((\w+)\\\)s")


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

    @cached_property
    def _patterns(self) -> list[tuple[str, re.Pattern[str]]]:
        # The longest first: what says more must not be taken for a value inside of what says less.
        by_length = sorted(self._templates, key=lambda template: len(_PLACE.sub("", re.escape(template))), reverse=True)
        return [
            (template, re.compile(_PLACE.sub(r"(?P<\1>.+)", re.escape(template)), re.DOTALL)) for template in by_length
        ]
