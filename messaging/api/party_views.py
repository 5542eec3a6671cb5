"""The views that all four kinds of party share: list and register, get, change and end."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.openapi import PAGE_PARAMETERS
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


def describe_parties(name: str, listed: type[Serializer[Any]], made: type[Serializer[Any]]) -> Any:
    """Describe a `PartiesView` in the OpenAPI document."""

    def decorate(view: type[PartiesView]) -> type[PartiesView]:
        parameters: list[Any] = [*([] if view.query is NothingQuery else [view.query]), *PAGE_PARAMETERS]
        described = extend_schema_view(
            get=extend_schema(operation_id=f"{name}_list", tags=[name], parameters=parameters, responses=listed),
            post=extend_schema(
                operation_id=f"{name}_create", tags=[name], request=view.serializer, responses={201: made}
            ),
        )
        return described(view)

    return decorate


def describe_party(name: str, *, end: str) -> Any:
    """Describe a `PartyView` in the OpenAPI document."""

    def decorate(view: type[PartyView]) -> type[PartyView]:
        shape = view.serializer
        described = extend_schema_view(
            get=extend_schema(operation_id=f"{name}_get", tags=[name], responses=shape),
            patch=extend_schema(operation_id=f"{name}_change", tags=[name], request=shape, responses=shape),
            delete=extend_schema(operation_id=f"{name}_{end}", tags=[name], responses={204: None}),
        )
        return described(view)

    return decorate
