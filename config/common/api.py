"""JSON in, JSON out, one shape for every error."""

import re
from collections.abc import Mapping
from datetime import datetime
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
from config.common.failures import Failure, find_failure, internal_failure
from config.common.moments import format_moment
from config.common.text import is_storable

DEEPEST = 200
"""How far JSON may be nested: what comes in is also kept and sent out again, by code that recurses."""

_NUL = re.compile(rb"\\u0000")
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
        return decode(stream.read())


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
        return b"" if data is None else encode(data)


def decode(text: bytes) -> Any:
    """Read JSON that every engine can keep: no NUL, no lone surrogate, nothing that is not a number, not too deep."""
    try:
        value = msgspec.json.decode(text)
    except RecursionError as error:
        raise BadJson(gettext("The JSON is nested too deeply."), deepest=DEEPEST) from error
    except UnicodeDecodeError as error:
        raise _bad_json(text, gettext("The JSON holds a string that is not UTF-8."), None) from error
    except msgspec.MsgspecError as error:
        raise _bad_json(text, str(error), _position(text, str(error))) from error
    if text.count(b"[") + text.count(b"{") > DEEPEST and _is_deeper(value, DEEPEST):
        raise BadJson(gettext("The JSON is nested too deeply."), deepest=DEEPEST)
    nul = _NUL.search(text)
    if nul and not is_storable(value):
        raise _bad_json(text, gettext("A string holds the NUL character."), nul.start())
    return value


def encode(value: Any) -> bytes:
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


def _is_deeper(value: Any, levels: int) -> bool:
    """Go down level by level, without recursion."""
    level = [value]
    for _ in range(levels):
        level = [below for node in level for below in _below(node) if isinstance(below, dict | list)]
        if not level:
            return False
    return True


def _below(node: Any) -> list[Any]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []


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
        return format_moment(value)
    return str(value) if isinstance(value, str | Promise) else value
