"""Read the environment once, typed; a wrong variable stops the start with one line that names it and its rule.

Plain Python on purpose: it runs before Django, and the supervisor uses it without Django's settings. A general
settings library would give its own wording; here the rule of each variable is the message.
"""

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from config.environment.rules import BadVariable
from config.environment.table import Environment, Variable, variable_of


@cache
def environment() -> Environment:
    return read_environment(os.environ)


def read_environment(variables: Mapping[str, str]) -> Environment:
    """Check every variable that the product knows and return the typed values; an empty one counts as unset."""
    values: dict[str, Any] = {}
    for field in fields(Environment):
        variable = variable_of(field)
        text = variables.get(variable.name, "").strip()
        if variable.is_family:
            values[field.name] = _read_family(variable, variables)
        elif text:
            values[field.name] = variable.rule.parse(variable.name, text)
    found = Environment(**values)
    if "public_url" not in values:
        found = replace(found, public_url=urlsplit(f"http://127.0.0.1:{found.port}"))
    if found.sms_method == "GET":
        found = replace(found, sms_body="")
    _check_sms(found)
    return found


def _read_family(variable: Variable, variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the values by the ends of their names in small letters; `main` is the one whose name has no such end."""
    found: dict[str, Any] = {}
    for name in sorted(name for name in variables if name.startswith(variable.name)):
        key = "main" if name == variable.name else name.removeprefix(variable.name + "_").lower()
        if not key.isidentifier():
            raise BadVariable(name, "must end in a name of letters, digits and _")
        text = variables[name].strip()
        if text:
            found[key] = variable.rule.parse(name, text)
    return found


def _check_sms(env: Environment) -> None:
    """Refuse a gateway that would be called without the number or the text."""
    if env.sms_url is not None and not all(name in env.sms_url + env.sms_body for name in ("{to}", "{text}")):
        variable = "SMS_URL" if env.sms_method == "GET" else "SMS_BODY"
        raise BadVariable(variable, "must hold {to} and {text}, where the number and the text go")
