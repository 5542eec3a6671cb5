"""Lists of the admin: counted as far as anybody reads, sorted by any column while that is cheap, exported as shown."""

import math
from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar, cast

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.formats import number_format
from django.utils.functional import Promise, cached_property
from django.utils.translation import get_language, gettext
from unfold.views import ChangeList

from config.admin_base.exports import export_list
from config.admin_base.saved_filters import FilterMenu, find_filters
from config.admin_base.theme import ModelAdmin
from config.common.web.tables import answer_table

MOST_COUNTED = 10_000
"""Rows that a list counts, sorts by a column without an index, and leads to page by page."""
MOST_EXPORTED = 100_000
M = TypeVar("M", bound=Model)


def count_rows(rows: QuerySet[Any], most: int | None = None) -> int:
    """Return how many rows there are; one more than `most` stands for any larger number."""
    most = MOST_COUNTED if most is None else most
    return rows.order_by()[: most + 1].count()


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Pages of a list that may hold millions: no count and no offset goes further than `MOST_COUNTED`."""

    template_name = "unfold/helpers/pagination_bounded.html"

    @cached_property
    def count(self) -> int:
        return count_rows(self.object_list)  # type: ignore[arg-type]

    @property
    def is_more(self) -> bool:
        return self.count > MOST_COUNTED

    @cached_property
    def num_pages(self) -> int:
        return max(1, math.ceil(min(self.count, MOST_COUNTED) / self.per_page))


class ListPage(ChangeList):  # type: ignore[misc]
    """One page of a list, with what stands around it."""

    is_too_long_to_sort = False
    """Whether a sorting was asked for that only a shorter list has."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self.request = request
        super().__init__(request, *args, **kwargs)

    def get_queryset(self, request: HttpRequest, exclude_parameters: list[str | None] | None = None) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        if ORDER_VAR not in self.params or self._has_index(rows) or count_rows(rows) <= MOST_COUNTED:
            return rows
        self.is_too_long_to_sort = True
        del self.params[ORDER_VAR]
        return rows.order_by(*self.get_ordering(request, rows))

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.model_admin.complete_rows(self.result_list)

    @property
    def count_words(self) -> str:
        """Say how many rows there are, and which of them the page shows."""
        first = (self.page_num - 1) * self.list_per_page + 1
        values = {
            "first": _grouped(first),
            "last": _grouped(first + len(self.result_list) - 1),
            "total": _grouped(min(self.result_count, MOST_COUNTED)),
        }
        if self.paginator.is_more:
            return gettext("%(first)s–%(last)s of more than %(total)s") % values
        if self.result_count > self.list_per_page:
            return gettext("%(first)s–%(last)s of %(total)s") % values
        return gettext("Total: %(total)s") % values

    @property
    def has_next(self) -> bool:
        return bool(self.page_num < self.paginator.num_pages)

    @property
    def next_number(self) -> int:
        return int(self.page_num) + 1

    @property
    def previous_number(self) -> int:
        return int(self.page_num) - 1

    @property
    def export_address(self) -> str:
        page = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_export")
        return f"{page}{self.get_query_string({PAGE_VAR: None})}"

    @property
    def filter_menu(self) -> FilterMenu:
        return find_filters(self.request, page=str(self.opts.label_lower))

    def _has_index(self, rows: QuerySet[Any]) -> bool:
        first = str(rows.query.order_by[0]).lstrip("-") if rows.query.order_by else "pk"
        return first in ("pk", "id", self.opts.pk.name, *self.model_admin.sorted_by_index)


class ListAdmin(ModelAdmin[M]):
    list_per_page = 50
    list_max_show_all = 0
    list_filter_submit = True
    empty_value_display = "–"
    paginator = BoundedPaginator
    show_full_result_count = False
    sorted_by_index: ClassVar[tuple[str, ...]] = ()
    """Columns of the table, as queries name them, by which a list of any length is sorted: each is led by an index."""
    empty_text: ClassVar[str | Promise] = ""
    """What to do while the list is empty."""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return ListPage

    def complete_rows(self, rows: Iterable[M]) -> None:
        """Look up for many rows at once what their columns show beside their own values."""

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_export"
        return [path("export/", self.admin_site.admin_view(self.export_view), name=name), *super().get_urls()]

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """Answer all rows of the list as its filters have it, on all its pages, as CSV."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        address = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        try:
            page = self.get_changelist_instance(request)
        except IncorrectLookupParameters:
            return HttpResponseRedirect(f"{address}?e=1")
        if count_rows(page.queryset, MOST_EXPORTED) > MOST_EXPORTED:
            words = gettext("At most %(most)s rows can be exported at a time: narrow down the list first.")
            messages.error(request, words % {"most": _grouped(MOST_EXPORTED)})
            return HttpResponseRedirect(f"{address}?{request.GET.urlencode()}")
        return answer_table(self.export_rows(request, cast(ListPage, page)), name=f"{self.opts.model_name}.csv")

    def export_rows(self, request: HttpRequest, page: ListPage) -> Any:
        """Yield the table in pieces."""
        return export_list(self, request, page.queryset, page.list_display, language=get_language() or "en")


def _grouped(number: int) -> str:
    return number_format(number, force_grouping=True)
