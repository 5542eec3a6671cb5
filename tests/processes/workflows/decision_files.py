"""Files of decisions, as tests write them: tables by their texts."""

from collections.abc import Sequence
from html import escape

MODEL = "https://www.omg.org/spec/DMN/20191111/MODEL/"


def dmn(*parts: str, space: str = MODEL) -> bytes:
    inner = "".join(parts)
    return f'<definitions xmlns="{space}" id="file" name="file" namespace="x">\n{inner}</definitions>'.encode()


def decision(key: str, logic: str, *, name: str = "", needs: Sequence[str] = (), variable: str = "") -> str:
    required = "".join(
        f'<informationRequirement><requiredDecision href="#{each}"/></informationRequirement>' for each in needs
    )
    named = f'<variable name="{variable}"/>' if variable else ""
    return f'<decision id="{key}" name="{name or key}">{named}{required}{logic}</decision>\n'


def literal(text: str) -> str:
    return f"<literalExpression><text>{escape(text)}</text></literalExpression>"


def table(
    inputs: Sequence[str],
    outputs: Sequence[str],
    rules: Sequence[Sequence[str]],
    *,
    hit: str = "UNIQUE",
    aggregation: str = "",
    values: str = "",
    default: str = "",
    types: Sequence[str] = (),
) -> str:
    """Write a table; a rule has its entries in the order of the columns, `types` those of the inputs."""
    kinds = [*types, *[""] * len(inputs)]
    columns = "".join(
        f'<input id="in{at}"><inputExpression typeRef="{kinds[at]}"><text>{escape(text)}</text></inputExpression>'
        "</input>"
        for at, text in enumerate(inputs)
    )
    listed = f"<outputValues><text>{escape(values)}</text></outputValues>" if values else ""
    missed = f"<defaultOutputEntry><text>{escape(default)}</text></defaultOutputEntry>" if default else ""
    columns += "".join(
        f'<output id="out{at}" name="{name}">{listed}{missed}</output>' for at, name in enumerate(outputs)
    )
    rows = "".join(_rule(at, rule, len(inputs)) for at, rule in enumerate(rules, start=1))
    return f'<decisionTable hitPolicy="{hit}" aggregation="{aggregation}">{columns}{rows}</decisionTable>'


def _rule(number: int, entries: Sequence[str], inputs: int) -> str:
    kinds = ["inputEntry"] * inputs + ["outputEntry"] * (len(entries) - inputs)
    cells = "".join(f"<{kind}><text>{escape(text)}</text></{kind}>" for kind, text in zip(kinds, entries, strict=True))
    return f'\n<rule id="rule{number}">{cells}</rule>'


DISCOUNT = dmn(
    decision(
        "discount",
        table(
            ["status", "total"],
            ["discount"],
            [['"gold"', "-", "0.15"], ['"silver"', ">= 100", "0.1"], ['"silver"', "< 100", "0.05"]],
            default="0",
        ),
        name="Discount",
    )
)
