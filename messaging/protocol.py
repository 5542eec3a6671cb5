"""Bodies of the messaging and exchange calls: version first, then the shape; payloads stay the bytes that were sent."""

import re
from typing import Annotated, Any, TypeVar

import msgspec
from django.conf import settings
from django.utils.translation import gettext

from config.common.errors import ApplicationError, Invalid
from config.common.web.json_codec import DEEPEST, BadJson, check_bounds, check_nul, decode_json
from messaging.files.envelope import VERSION
from messaging.models.parties import PARTY_ID

Id = Annotated[str, msgspec.Meta(pattern=rf"^{PARTY_ID}\Z")]
ERROR_LENGTH = 10_000
"""Of what an ERP says of a failure, in characters."""
Error = Annotated[str, msgspec.Meta(max_length=ERROR_LENGTH)]
REASON_LENGTH = 200
"""Of why a person decided something by hand, in characters: it stands in the log and in receipts."""

StructT = TypeVar("StructT", bound=msgspec.Struct)

ENVELOPE_DEPTH = 3
"""What stands around a payload: the body, its list of replies, the reply."""

_PLACE = re.compile(r" - at `(.*)`$")
# A number that no double can hold has three digits in its exponent, or hundreds before it. All digits are made alike,
# so that these are plain strings to look for: a pattern takes seconds for what somebody has made to be slow.
_DIGITS = bytes.maketrans(b"012345678E", b"999999999e")
_HUGE_NUMBERS = (b"9e999", b"9e+999", b"9" * 300)


class UnsupportedVersion(ApplicationError):
    """The body must say "version": 1."""

    sample = {"supported": [1]}


class _Versioned(msgspec.Struct):
    version: Any = None


class Body(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The field that every body has."""

    version: int


BodyT = TypeVar("BodyT", bound=Body)


def read_body(text: bytes, shape: type[BodyT]) -> BodyT:
    """Decode a body into a struct; raise `Invalid` with field and rule where it does not fit."""
    _check_text(text)
    check_bounds(text, deepest=DEEPEST + ENVELOPE_DEPTH)
    check_nul(text)
    try:
        body = _decode(text or b"{}", shape)
    except Invalid:
        # Whoever speaks another version is told that, and not what is wrong with it in this one.
        require_version(_decode(text or b"{}", _Versioned).version)
        raise
    require_version(body.version)
    return body


def require_version(version: Any) -> None:
    """Raise `UnsupportedVersion` for a body of another version, before anything else in it is looked at."""
    if version != VERSION or type(version) is not int:
        raise UnsupportedVersion(supported=[VERSION])


def check_payload(payload: bytes) -> None:
    """Refuse a payload that some JSON reader could not take; only one that looks odd is parsed for that."""
    check_bounds(payload)
    alike = payload.translate(_DIGITS)
    if any(number in alike for number in _HUGE_NUMBERS):
        decode_json(payload)


def megabytes(count: float) -> int:
    return int(count * settings.MB)


def _decode(text: bytes, shape: type[StructT]) -> StructT:
    try:
        return msgspec.json.decode(text, type=shape)
    except msgspec.ValidationError as error:
        message = str(error)
        place = _PLACE.search(message)
        field = place[1].removeprefix("$").removeprefix(".") if place else ""
        named = re.search(r"field `([^`]*)`", message)  # a message about the whole object names the field so
        raise Invalid({field or (named[1] if named else "body"): [_PLACE.sub("", message)]}) from error
    except (msgspec.MsgspecError, RecursionError):
        decode_json(text)  # words the error with its line and column
        raise


def _check_text(text: bytes) -> None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise BadJson(gettext("The body is not UTF-8.")) from error
