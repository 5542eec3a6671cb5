"""What members of staff meet on the pages of the admin."""

from config.admin_base import confirm_many, counts, lists, mute, saved_filters
from config.runtime.bounds.bound import Bound, count, size, span
from messaging.admin import requeue
from notifications.admin import alerts, deliveries, session_forms, session_records
from notifications.services import resend
from notifications.sessions import operator_actions
from processes.workflows.admin import drafts, values
from processes.workflows.admin.decisions import table_editor
from processes.workflows.admin.tasks import form as task_form
from processes.workflows.admin.version_tree import layout
from sensors.admin import clients, sensors


def page_bounds() -> list[Bound]:
    narrow = "asked to narrow the list"
    return [
        Bound(
            "page.rows",
            "rows counted, and reached page by page",
            count(lists.MOST_COUNTED),
            "list",
            "“more than 10,000”",
        ),
        Bound(
            "page.sorted",
            "rows sorted by a column without an index",
            count(lists.MOST_COUNTED),
            "list",
            f"the usual order; {narrow}",
        ),
        Bound(
            "page.undelivered",
            "undelivered messages counted by receiver",
            count(resend.MOST_COUNTED),
            "page",
            "the oldest are counted, “10,000 +”",
        ),
        Bound("page.export", "rows exported", count(lists.MOST_EXPORTED), "list", narrow),
        Bound("page.batch", "rows of one step of an action", count(confirm_many.BATCH), "call", "the next step"),
        *_action_bounds(),
        Bound(
            "page.filters",
            "saved filters",
            count(saved_filters.MOST_OF_A_LIST),
            "person and list",
            "asked to delete one",
        ),
        Bound("page.mute", "time to a mute's end", span(mute.LONGEST), "mute", "refused by the form"),
        Bound("page.badge", "count of a badge of the menu", count(counts.MOST_ON_A_BADGE - 1), "entry", "“99+”"),
        Bound(
            "page.tree",
            "newest versions drawn in the tree of an instance",
            count(layout.NEWEST),
            "page",
            "a number that leads to the list",
        ),
        Bound("page.branches", "returns drawn in it", count(layout.MOST_BRANCHES), "page", "the newest are drawn"),
    ]


def _action_bounds() -> list[Bound]:
    """What is chosen for one action of a list, and how much is typed into a form."""
    refused, first = "asked to narrow the list", "the first are done"
    characters = "characters"
    return [
        Bound("action.sensors", "sensors", count(sensors.MOST_AT_ONCE), "action of their list", refused),
        Bound("action.clients", "clients", count(clients.MOST_AT_ONCE), "action of their list", first),
        Bound("action.deliveries", "deliveries", count(deliveries.MOST_AT_ONCE), "action of their list", first),
        Bound("action.alerts", "alerts", count(alerts.MOST_AT_ONCE), "action of their list", first),
        Bound("action.messages", "messages", count(requeue.MOST_AT_ONCE), "action of their list", first),
        Bound("action.sessions", "sessions", count(operator_actions.MOST_AT_ONCE), "action of their list", refused),
        Bound(
            "action.sessions_deleted",
            "sessions that are deleted",
            count(operator_actions.MOST_DELETED_AT_ONCE),
            "action of their list",
            refused,
        ),
        Bound("form.shift", "time by which sessions are moved", span(session_forms.LONGEST_SHIFT), "form", "refused"),
        Bound("form.text", "text of an answer", count(task_form.LONGEST_TEXT, characters), "field", "refused"),
        Bound("form.number", "digits of an answer", count(task_form.MOST_DIGITS), "field", "refused"),
        Bound("form.table", "decision table", count(table_editor.LONGEST_TABLE, characters), "edit", "refused"),
        Bound("form.drawing", "drawing, as JSON", size(drafts.LARGEST_CALL), "call", "413"),
        Bound(
            "form.records",
            "records of a session that can be edited",
            size(session_records.LONGEST_EDITED),
            "session",
            "not offered",
        ),
        Bound(
            "form.variables", "variables that can be edited", count(values.LONGEST_EDITED, characters), "form", "empty"
        ),
    ]
