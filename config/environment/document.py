"""The page of the documentation that lists every variable: `manage.py show_configuration` prints it."""

from dataclasses import Field, fields
from inspect import getdoc
from typing import Any

from config.environment.table import SECTIONS, Environment, variable_of

HEAD = """# Configuration

Postern is configured by variables of the environment and by nothing else. This page is printed by
`manage.py show_configuration` from the table that reads them (`config/environment/table.py`), and one test keeps it so.
An empty variable counts as unset. A wrong value stops the start with one line that names the variable and its rule.
"""

TABLE = """| variable | meaning | must be | default |
| --- | --- | --- | --- |"""


DEFAULTS = Environment()
URLS = ("postgresql://", "amqp://", "redis://", "clickhouse://", "http://", "smtp://")


def render_configuration() -> str:
    """Return the page, in Markdown."""
    parts = [HEAD]
    for section in SECTIONS:
        title, _, text = (getdoc(section) or "").partition("\n\n")
        parts += [f"## {title}", "", *([text, ""] if text else []), TABLE]
        parts += [_row(each) for each in fields(section)]
        parts.append("")
    return "\n".join(parts)


def _row(declared: "Field[Any]") -> str:
    variable = variable_of(declared)
    names = [variable.name, f"{variable.name}_<NAME>"] if variable.is_family else [variable.name]
    # A URL in plain text would become a link, and its brackets another one.
    rule = f"`{variable.rule.words}`" if variable.rule.words.startswith(URLS) else variable.rule.words
    default = variable.unset or f"`{getattr(DEFAULTS, declared.name)}`"
    return f"| {', '.join(f'`{name}`' for name in names)} | {variable.meaning} | {rule} | {default} |"
