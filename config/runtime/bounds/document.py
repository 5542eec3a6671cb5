"""The table as the documentation has it."""

from config.runtime.bounds import calls, pages, parties, workflows
from config.runtime.bounds.bound import Bound
from config.runtime.bounds.fields import field_rows

HEAD = """# What a caller may take

Every bound that a caller meets: bytes, rows, depth, time, rate, connections. This page is printed by
`manage.py show_bounds` from the constants and settings that enforce the bounds, with their defaults; one test keeps it
so, and others go one past each row. What grows inside the product, and what ends its growth, is in
[growth.md](growth.md).

What is *shared* by all callers of a web process is not for the fastest: one caller (a key, a session, else an address)
gets no more than half of what is still free, so alone it has a third, and all who have not yet shown a right key or
session have half together.
"""

TABLE = """## {heading}

| what | at most | for each | past it | setting |
| --- | --- | --- | --- | --- |"""

FIELDS = """## Fields

The largest length, value and count that a call takes in each of its fields and query parameters; past it the answer is
400 `invalid` and names the field.

| call | field | at most |
| --- | --- | --- |"""


def bounds() -> dict[str, list[Bound]]:
    """Return the table by its headings; defaults are shown, whatever this installation has set."""
    return {
        "Connections": calls.connection_bounds(),
        "Calls": calls.call_bounds(),
        "Rates": calls.rate_bounds(),
        "Bodies and answers": calls.content_bounds(),
        "Sign-in": calls.sign_in_bounds(),
        "Sensors": parties.sensor_bounds(),
        "Imports": parties.import_bounds(),
        "Messages and exchange": parties.message_bounds(),
        "Repeat sessions": parties.session_bounds(),
        "Webhooks": parties.webhook_bounds(),
        "Definitions of workflows": workflows.definition_bounds(),
        "Expressions of workflows": workflows.expression_bounds(),
        "Decisions": workflows.decision_bounds(),
        "Running workflows": workflows.instance_bounds(),
        "Coordination": parties.coordination_bounds(),
        "Pages of staff": pages.page_bounds(),
    }


def render() -> str:
    """Write the document."""
    parts = [HEAD]
    for heading, rows in bounds().items():
        parts.append(TABLE.format(heading=heading))
        for row in rows:
            setting = f"`{row.setting}`" if row.setting else ""
            parts.append(f"| {row.what} | {row.limit} | {row.per} | {row.past} | {setting} |")
        parts.append("")
    return "\n".join([*parts, FIELDS, *field_rows(), ""])
