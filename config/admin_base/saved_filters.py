"""Filters of a list that a person has kept by a name."""

from dataclasses import dataclass

from django import forms
from django.apps import apps
from django.contrib import admin, messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, QueryDict
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext

from config.records.models import SavedFilter

MOST_OF_A_LIST = 20
NOT_KEPT = frozenset({"p", "e", "all", "_popup", "_to_field", "_changelist_filters"})


@dataclass(frozen=True)
class FilterMenu:
    page: str
    query: str
    """What the list is filtered and sorted by now; empty: by nothing."""
    saved: list[SavedFilter]

    @property
    def current(self) -> SavedFilter | None:
        """Return the saved filter that the list shows."""
        return next((each for each in self.saved if each.query == self.query), None)

    @property
    def is_full(self) -> bool:
        return len(self.saved) >= MOST_OF_A_LIST


def find_filters(request: HttpRequest, *, page: str) -> FilterMenu:
    """Return what a person has kept for a list, in the order of the names."""
    saved = SavedFilter.objects.filter(user=request.user.pk, page=page).order_by("name")
    return FilterMenu(page, clean_query(request.GET), list(saved[:MOST_OF_A_LIST]))


def clean_query(parameters: QueryDict) -> str:
    """Return the query string of a filter: without what belongs to the moment, in one order."""
    kept = QueryDict(mutable=True)
    for name in sorted(parameters):
        values = [value for value in parameters.getlist(name) if value]
        if name not in NOT_KEPT and values:
            kept.setlist(name, values)
    return kept.urlencode()


class SavedFilterForm(forms.Form):
    page = forms.CharField(max_length=100)
    name = forms.CharField(max_length=60)
    query = forms.CharField(max_length=2000)

    def clean_page(self) -> str:
        page: str = self.cleaned_data["page"]
        try:
            if apps.get_model(page) in admin.site._registry:
                return page
        except (LookupError, ValueError):
            pass
        raise forms.ValidationError("no list")

    def clean_query(self) -> str:
        return clean_query(QueryDict(self.cleaned_data["query"]))


def save_filter_view(request: HttpRequest) -> HttpResponse:
    """Keep the filters of a list under a name; one of the same name is replaced."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    form = SavedFilterForm(request.POST)
    if not form.is_valid():
        is_long = any(error.code == "max_length" for error in form.errors.as_data().get("query", ()))
        name_wanted = gettext("The filter was not saved: enter a name of at most 60 characters.")
        messages.error(request, gettext("The filter is too long to be saved.") if is_long else name_wanted)
        shown = clean_query(QueryDict(request.POST.get("query", "")))
        return HttpResponseRedirect(_list_address(request.POST.get("page", ""), shown))
    page, name, query = (form.cleaned_data[field] for field in ("page", "name", "query"))
    if _save(request, page, name, query):
        messages.success(request, gettext("Filter “%(name)s” saved.") % {"name": name})
    else:
        words = gettext("A list has at most %(most)d saved filters: delete one first.")
        messages.error(request, words % {"most": MOST_OF_A_LIST})
    return HttpResponseRedirect(_list_address(page, query))


def delete_filter_view(request: HttpRequest, filter_id: int) -> HttpResponse:
    """Delete a filter of one's own; that of another person is not found."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    found = SavedFilter.objects.filter(pk=filter_id, user=request.user.pk).first()
    if found is None:
        return HttpResponseRedirect(reverse("admin:index"))
    found.delete()
    messages.success(request, gettext("Filter “%(name)s” deleted.") % {"name": found.name})
    return HttpResponseRedirect(_list_address(found.page, ""))


def _save(request: HttpRequest, page: str, name: str, query: str) -> bool:
    assert request.user.pk is not None  # pages of the admin are for those who have signed in
    mine = SavedFilter.objects.filter(user=request.user.pk, page=page)
    if mine.filter(name=name).update(query=query):
        return True
    if mine.count() >= MOST_OF_A_LIST:
        return False
    try:
        with transaction.atomic():
            SavedFilter.objects.create(user_id=request.user.pk, page=page, name=name, query=query)
    except IntegrityError:  # the same form was sent twice at once
        mine.filter(name=name).update(query=query)
    return True


def _list_address(page: str, query: str) -> str:
    try:
        address = reverse(f"admin:{page.replace('.', '_')}_changelist")
    except NoReverseMatch:
        return reverse("admin:index")
    return f"{address}?{query}" if query else address
