"""The functions of FEEL by name. The modules beside this one add theirs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Function:
    usage: str
    parameters: tuple[str, ...]
    least: int
    call: Callable[..., Any]
    """Called with the run and the arguments; returns None where they have no meaning."""
    takes_any: bool = False
    """It takes any number of arguments, or one list."""

    def takes(self, count: int, names: Sequence[str]) -> bool:
        if names:
            return set(self.parameters[: self.least]) <= set(names) <= set(self.parameters)
        return self.takes_any or self.least <= count <= len(self.parameters)

    def arrange(self, arguments: Sequence[Any], names: Sequence[str]) -> Sequence[Any]:
        """Return the arguments in their order; named ones that are absent are null."""
        if not names:
            return arguments
        given = dict(zip(names, arguments, strict=True))
        last = max(self.parameters.index(name) for name in given)
        return [given.get(name) for name in self.parameters[: last + 1]]


FUNCTIONS: dict[str, Function] = {}


def define(
    usage: str, *, least: int | None = None, takes_any: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a function under the name that its usage begins with; the words in brackets are its parameters."""
    name, _, rest = usage.partition("(")
    parameters = tuple(part.strip() for part in rest.rstrip(")").split(",") if part.strip())

    def add(call: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS[name] = Function(usage, parameters, len(parameters) if least is None else least, call, takes_any)
        return call

    return add
