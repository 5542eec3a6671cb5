"""What members of staff meet on the pages of the admin."""

from config.admin_base import confirm_many, counts, lists, mute, saved_filters
from config.runtime.bounds.bound import Bound, count, span
from notifications.services import resend
from processes.workflows.admin.version_tree import layout


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
