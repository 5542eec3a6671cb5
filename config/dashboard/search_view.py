"""The answers of the search palette: what a text names, group by group, as far as this person may see it."""

from itertools import count

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext

from config.admin_base.search import LONGEST, MOST, Found, Rank, SearchGroup, SearchHit, search, sort_groups
from config.audit.trace import is_traced
from config.common.correlation import PATTERN
from config.dashboard.menu import find_entries


def search_view(request: HttpRequest) -> HttpResponse:
    """Answer `?s=`: rows by id, name or address, the trace of a correlation id, pages of the menu."""
    text = request.GET.get("s", "")[:LONGEST].strip()
    groups = search(text, may=request.user.has_perm)
    entries = find_entries(request, text)[:MOST] if text else []
    hits = [SearchHit(str(entry.title), str(group), reverse(entry.page)) for group, entry in entries]
    pages = SearchGroup(gettext("Pages"), "web_asset", Rank.PAGES, Found(hits))
    found = sort_groups([*groups, _trace(request, text), pages])
    # Numbered through: the palette's arrow keys go over all groups.
    number = count(1)
    answers = [(group, [(next(number), hit) for hit in group.found.hits]) for group in found]
    return TemplateResponse(request, "dashboard/search_results.html", {"asked": text, "answers": answers})


def _trace(request: HttpRequest, text: str) -> SearchGroup:
    hits = []
    if PATTERN.fullmatch(text) and is_traced(text, may=request.user.has_perm):
        page = reverse("trace-page", query={"id": text})
        hits = [SearchHit(text, gettext("everything with this correlation id"), page, is_exact=True)]
    return SearchGroup(gettext("Trace"), "timeline", Rank.TRACE, Found(hits))
