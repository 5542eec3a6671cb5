"""JSON in, JSON out, one shape for every error."""

import re
from array import array
from collections.abc import Mapping
from datetime import datetime
from itertools import accumulate
from typing import IO, Any

import msgspec
import structlog
from django.utils.functional import Promise
from django.utils.translation import gettext
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.response import Response

from config.common.errors import ApplicationError
from config.common.text import has_escaped_nul
from config.common.times import format_time
from config.common.web.failures import Failure, find_failure, internal_failure

DEEPEST = 200
"""How far JSON may be nested: what comes in is also kept and sent out again, by code that recurses."""

MOST_CONTAINERS = 1_000_000
"""Lists and objects of one JSON text: each is an object of its own, in twenty megabytes there is room for ten times
as many, and they would take seconds and a gigabyte."""
MOST_VALUES = 5_000_000

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*(\\u0000)")
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_STEPS = bytes.maketrans(b"[]", b"\x01\xff")  # a step down and a step up, as signed bytes
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_PIECE = 16_384
_ROUNDS = 8
_BYTE = re.compile(r"\(byte (\d+)\)")

log = structlog.get_logger(__name__)


class BadJson(ApplicationError):
    """The body is not JSON in UTF-8."""


class JSONParser(BaseParser):
    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        encoding = (parser_context or {}).get("encoding", "utf-8")
        if encoding.lower().replace("-", "") != "utf8":
            raise UnsupportedMediaType(media_type or self.media_type)
        return decode_json(stream.read())


class JSONRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return b"" if data is None else encode_json(data)


def decode_json(text: bytes) -> Any:
    """Read JSON that every engine can keep: no NUL, no lone surrogate, nothing that is not a number, not too deep."""
    check_bounds(text)
    try:
        value = msgspec.json.decode(text)
    except RecursionError as error:
        raise _too_deep(DEEPEST) from error
    except UnicodeDecodeError as error:
        raise _bad_json(text, gettext("The JSON contains a string that is not UTF-8."), None) from error
    except msgspec.MsgspecError as error:
        raise _bad_json(text, str(error), _position(text, str(error))) from error
    check_nul(text)
    return value


def check_bounds(text: bytes, *, deepest: int = DEEPEST) -> None:
    """Refuse JSON with more in it than anybody needs, by its bytes alone: nothing of it has been read yet.

    What is not JSON at all may be refused here for the wrong reason; it is refused.
    """
    containers = text.count(b"[") + text.count(b"{")
    if containers <= deepest and text.count(b",") + containers <= MOST_VALUES:
        return
    bare = _outside_strings(text)
    containers = bare.count(b"[") + bare.count(b"{")
    if containers > MOST_CONTAINERS:
        words = gettext("The JSON contains more than %(limit)d lists and objects.") % {"limit": MOST_CONTAINERS}
        raise BadJson(words, most_containers=MOST_CONTAINERS)
    if bare.count(b",") + containers > MOST_VALUES:
        raise _too_many_values()
    if _depth(bare.translate(_ONE_KIND, _NO_BRACKETS)) > deepest:
        raise _too_deep(deepest)


def _depth(brackets: bytes) -> int:
    """Return how far the brackets are nested.

    The innermost pairs are taken out first, which makes what is left flatter by one: most JSON is wide, not deep, and
    what is left after a few such rounds is little. That is walked through piece by piece: in one go a million steps
    would keep every other thread waiting.
    """
    for rounds in range(_ROUNDS):
        outer = brackets.replace(b"[]", b"")
        if len(outer) == len(brackets):
            return rounds + _walk(array("b", brackets.translate(_STEPS)))
        brackets = outer
    return _ROUNDS + _walk(array("b", brackets.translate(_STEPS)))


def _walk(steps: "array[int]") -> int:
    level = lowest = 0
    for start in range(0, len(steps), _PIECE):
        levels = list(accumulate(steps[start : start + _PIECE], initial=level))
        level, lowest = levels[-1], max(lowest, max(levels))
    return lowest


def check_nul(text: bytes) -> None:
    """Refuse JSON whose strings hold NUL, which no database stores, and say where it is."""
    if has_escaped_nul(text):
        nul = _NUL.search(text)
        raise _bad_json(text, gettext("The text contains the character NUL."), nul.start(1) if nul else None)


def _outside_strings(text: bytes) -> bytes:
    """Return what stands between the strings."""
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 4 * MOST_VALUES:  # two for each string; a value has a name at most
        raise _too_many_values()
    return b"".join(plain.split(b'"')[::2])


def encode_json(value: Any) -> bytes:
    return msgspec.json.encode(_plain(value), enc_hook=str)


def answer_exception(error: Exception, context: Mapping[str, Any]) -> Response:
    """Answer whatever a view raised; a bug is told to the log, never to the caller."""
    failure = find_failure(error)
    log_failure(error, failure)
    failure = failure or internal_failure()
    request = context.get("request")
    if request is not None:  # an error is JSON, also where the answer would be YAML or CSV
        request.accepted_renderer, request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
    return Response(failure.body(), status=failure.status, headers=failure.headers)


def log_failure(error: BaseException, failure: Failure | None) -> None:
    if failure is None:
        log.error("api.failed", exc_info=error)
    elif failure.status >= 500:
        log.warning("api.unavailable", code=failure.code, error=str(error))
    elif failure.status == 409:
        log.info("api.conflict", code=failure.code, error=str(error))


def _bad_json(text: bytes, message: str, position: int | None) -> BadJson:
    if position is None:
        return BadJson(message)
    before = text[:position]
    line = before.count(b"\n") + 1
    return BadJson(message, line=line, column=position - (before.rfind(b"\n") + 1) + 1)


def _position(text: bytes, message: str) -> int | None:
    if "truncated" in message:
        return len(text)
    found = _BYTE.search(message)
    return int(found[1]) if found else None


def _too_deep(deepest: int) -> BadJson:
    return BadJson(gettext("The JSON is nested too deeply."), deepest=deepest)


def _too_many_values() -> BadJson:
    words = gettext("The JSON contains more than %(limit)d values.") % {"limit": MOST_VALUES}
    return BadJson(words, most_values=MOST_VALUES)


def _plain(value: Any) -> Any:
    """Write times as the contract has them; what the encoder knows by itself passes as it is."""
    kind = type(value)
    if value is None or kind is str or kind is int or kind is bool or kind is float:
        return value
    if isinstance(value, dict):
        return {str(name): _plain(below) for name, below in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(below) for below in value]
    if isinstance(value, datetime):
        return format_time(value)
    return str(value) if isinstance(value, str | Promise) else value
