"""The views that all four kinds of party share: list and register, get, change and end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.common.errors import ApplicationError, Conflict, NotFound
from config.common.web.pagination import paginate
from messaging.api.shapes import NothingQuery, PartySerializer

READ = {"GET": Scope.PARTIES_READ}
WRITE = {method: Scope.PARTIES_WRITE for method in ("POST", "PATCH", "DELETE")}


class PartiesView(ApiView):
    scopes = {**READ, **WRITE}
    serializer: ClassVar[type[PartySerializer]]
    query: ClassVar[type[Serializer[Any]]] = NothingQuery

    def select(self, **filters: str) -> QuerySet[Any]:
        raise NotImplementedError

    def present(self, row: Any) -> object:
        raise NotImplementedError

    def register(self, party_id: str | None, actor: str, **values: Any) -> object:
        """Register a party and return the answer."""
        raise NotImplementedError

    def get(self, request: Request) -> Response:
        asked = self.query(data=request.query_params)
        asked.is_valid(raise_exception=True)
        found = paginate(request, self.select(**asked.validated_data), order=["id"])
        return Response({"results": [self.present(row) for row in found.results], "next": found.next})

    def post(self, request: Request) -> Response:
        asked = self.serializer(data=request.data)
        asked.is_valid(raise_exception=True)
        party_id = asked.validated_data.pop("id", None)
        return Response(self.register(party_id, actor_of(request), **asked.validated_data), status=201)


class PartyView(ApiView):
    scopes = {**READ, **WRITE}
    serializer: ClassVar[type[PartySerializer]]

    def read(self, party_id: str) -> object:
        """Return the answer about a party."""
        raise NotImplementedError

    def change(self, party_id: str, actor: str, **edits: Any) -> None:
        raise NotImplementedError

    def end(self, party_id: str, actor: str) -> None:
        """Deactivate a party, or delete what has nothing to deactivate."""
        raise NotImplementedError

    def get(self, request: Request, party_id: str) -> Response:
        return Response(self.read(party_id))

    def patch(self, request: Request, party_id: str) -> Response:
        asked = self.serializer(data=request.data, partial=True, context={"id": party_id})
        asked.is_valid(raise_exception=True)
        asked.validated_data.pop("id", None)
        self.change(party_id, actor_of(request), **asked.validated_data)
        return Response(self.read(party_id))

    def delete(self, request: Request, party_id: str) -> Response:
        self.end(party_id, actor_of(request))
        return Response(status=204)


@dataclass(frozen=True)
class PartyWords:
    """How a kind of party is called in the OpenAPI document, and the errors that are about it."""

    tag: str
    one: str
    """With its article."""
    many: str
    not_found: type[NotFound]
    exists: Sequence[type[Conflict]]


def describe_parties(
    words: PartyWords, listed: type[Serializer[Any]], made: type[Serializer[Any]], *, registers: str, lists: str
) -> Any:
    """Describe a `PartiesView` in the OpenAPI document."""

    def decorate(view: type[PartiesView]) -> type[PartiesView]:
        parameters: list[Any] = [*([] if view.query is NothingQuery else [view.query]), *PAGE_PARAMETERS]
        described = extend_schema_view(
            get=describe_call(
                operation_id=f"{words.tag}_list",
                summary=f"List {words.many}",
                description=lists,
                tags=[words.tag],
                parameters=parameters,
                responses=listed,
            ),
            post=describe_call(
                operation_id=f"{words.tag}_create",
                summary=f"Register {words.one}",
                description=registers,
                tags=[words.tag],
                request=view.serializer,
                responses={201: made},
                errors=words.exists,
            ),
        )
        return described(view)

    return decorate


def describe_party(
    words: PartyWords, *, end: str, ends: str, changes: str, errors: Sequence[type[ApplicationError]] = ()
) -> Any:
    """Describe a `PartyView` in the OpenAPI document; `errors` are those of its end alone."""

    def decorate(view: type[PartyView]) -> type[PartyView]:
        shape = view.serializer
        described = extend_schema_view(
            get=describe_call(
                operation_id=f"{words.tag}_get",
                summary=f"Read {words.one}",
                description=f"Return {words.one} by its id.",
                tags=[words.tag],
                responses=shape,
                errors=[words.not_found],
            ),
            patch=describe_call(
                operation_id=f"{words.tag}_change",
                summary=f"Change {words.one}",
                description=changes,
                tags=[words.tag],
                request=shape,
                responses=shape,
                errors=[words.not_found],
            ),
            delete=describe_call(
                operation_id=f"{words.tag}_{end}",
                summary=f"{end.title()} {words.one}",
                description=ends,
                tags=[words.tag],
                responses={204: None},
                errors=[words.not_found, *errors],
            ),
        )
        return described(view)

    return decorate
