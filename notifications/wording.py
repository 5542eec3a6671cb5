"""Words that are kept in English with their details apart, so that each reader has them in their own language."""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

_NAME = re.compile(r"%\((\w+)\)s")


def fill(text: str, detail: Mapping[str, Any]) -> str:
    """Translate a text and put the details into it, on one line. Knows no failure: a missing detail is a dash."""
    filled = _NAME.sub(lambda found: _value(found[1], detail), gettext(text) if text else "")
    return on_one_line(filled)


def _value(name: str, detail: Mapping[str, Any]) -> str:
    """Return a detail as it is; a reason may be a text of our own, with a translation."""
    value = str(detail.get(name, "–"))
    return gettext(value) if name == "reason" and value else value


def on_one_line(text: str) -> str:
    """Collapse line breaks and other white space: a title goes into a mail's header and into an SMS."""
    return " ".join(text.split())
