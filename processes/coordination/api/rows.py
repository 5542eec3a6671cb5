"""`/coordination/writer/` and `/coordination/reader/`: changes go to the Writer, reads to either side."""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.permissions import require_scope
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.openapi import PAGE_PARAMETERS
from config.common.web.pagination import paginate
from processes.coordination.api import shapes
from processes.coordination.errors import RowNotFound
from processes.coordination.gateway.registry import change_registry
from processes.coordination.gateway.requests import (
    ChangesSerializer,
    get_entity,
    read_changes,
    read_id,
    read_inserts,
    read_update,
)
from processes.coordination.gateway.rows import get_reader_alias, present_rows, reader_rows, writer_rows
from processes.coordination.gateway.wait import wait_for_event
from processes.coordination.schema.entities import Entity, Op
from processes.coordination.writer.change_sets import RequestedChange, apply_change_set

ALL = {method: Scope.COORDINATION for method in ("GET", "POST", "PATCH", "DELETE")}


class EntityView(ApiView):
    scopes = ALL

    def entity(self, request: Request, path: str) -> Entity:
        """Return an entity that the caller may use: those of the registry take the right to change it as well."""
        entity = get_entity(path)
        require_registry(request, [entity])
        return entity


class WriterRowsView(EntityView):
    @extend_schema(
        operation_id="coordination_writer_list",
        tags=["coordination"],
        parameters=PAGE_PARAMETERS,
        responses=shapes.RowListSerializer,
    )
    def get(self, request: Request, path: str) -> Response:
        """List the Writer's rows of an entity."""
        entity = self.entity(request, path)
        found = paginate(request, writer_rows(entity), order=["id"])
        return Response({"results": present_rows(entity, found.results), "next": found.next})

    @extend_schema(
        operation_id="coordination_writer_create",
        tags=["coordination"],
        request={"application/json": {"oneOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]}},
        responses={202: shapes.AcceptedRowsSerializer},
    )
    def post(self, request: Request, path: str) -> Response:
        """Add a row, or by a list many as one event."""
        changes = read_inserts(self.entity(request, path), request.data)
        return accept(request, changes, is_list=isinstance(request.data, list))


class WriterRowView(EntityView):
    @extend_schema(operation_id="coordination_writer_get", tags=["coordination"], responses={200: {"type": "object"}})
    def get(self, request: Request, path: str, row: str) -> Response:
        entity = self.entity(request, path)
        found = writer_rows(entity).filter(pk=read_id(entity, row)).first()
        return Response(_one(entity, found))

    @extend_schema(
        operation_id="coordination_writer_change",
        tags=["coordination"],
        request={"application/json": {"type": "object"}},
        responses={202: shapes.AcceptedRowsSerializer},
    )
    def patch(self, request: Request, path: str, row: str) -> Response:
        """Change what is named of a row."""
        entity = self.entity(request, path)
        return accept(request, [read_update(entity, _existing(entity, row), request.data)])

    @extend_schema(
        operation_id="coordination_writer_delete", tags=["coordination"], responses={202: shapes.AcceptedRowsSerializer}
    )
    def delete(self, request: Request, path: str, row: str) -> Response:
        """Delete a row; a sensor or client is deactivated, as everywhere."""
        entity = self.entity(request, path)
        return accept(request, [RequestedChange(entity, Op.DELETE, _existing(entity, row))])


class ChangesView(ApiView):
    scopes = {"POST": Scope.COORDINATION}

    @extend_schema(
        operation_id="coordination_writer_changes",
        tags=["coordination"],
        request=ChangesSerializer,
        responses={202: shapes.AcceptedSetSerializer},
    )
    def post(self, request: Request) -> Response:
        """Make a set of changes of several rows and entities: one event, whole or not at all."""
        changes = read_changes(request.data)
        require_registry(request, [each.entity for each in changes])
        return accept(request, changes, is_list=True)


class ReaderRowsView(EntityView):
    scopes = {"GET": Scope.COORDINATION}

    @extend_schema(
        operation_id="coordination_reader_list",
        tags=["coordination"],
        parameters=[shapes.ReaderQuery, *PAGE_PARAMETERS],
        responses=shapes.RowListSerializer,
    )
    def get(self, request: Request, path: str) -> Response:
        """List a reader's rows of an entity, from its own database."""
        entity, alias = self.entity(request, path), _alias(request)
        found = paginate(request, reader_rows(entity, alias=alias), order=["id"])
        return Response({"results": present_rows(entity, found.results, alias=alias), "next": found.next})


class ReaderRowView(EntityView):
    scopes = {"GET": Scope.COORDINATION}

    @extend_schema(
        operation_id="coordination_reader_get",
        tags=["coordination"],
        parameters=[shapes.ReaderQuery],
        responses={200: {"type": "object"}},
    )
    def get(self, request: Request, path: str, row: str) -> Response:
        entity, alias = self.entity(request, path), _alias(request)
        found = reader_rows(entity, alias=alias).filter(pk=read_id(entity, row)).first()
        return Response(_one(entity, found, alias=alias))


def require_registry(request: Request, entities: Sequence[Entity]) -> None:
    if any(not entity.is_undone for entity in entities):
        require_scope(request.user, Scope.REGISTRY_WRITE)


def accept(request: Request, changes: list[RequestedChange], *, is_list: bool = False) -> Response:
    """Make the changes and answer with the ids of the rows and the event."""
    if changes[0].entity.is_undone:
        changed = apply_change_set(changes, at=timezone.now())
        return Response(_accepted(changed.ids, changed.event, [], is_list=is_list), status=202)
    done = change_registry(changes, actor=actor_of(request))
    return Response(_accepted(done.ids, done.event, done.secrets, is_list=is_list), status=202)


def _accepted(ids: list[Any], event: int | None, secrets: list[str], *, is_list: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {"id": ids if is_list else ids[0], "event": event}
    if secrets:
        answer["secret"] = secrets if is_list else secrets[0]
    return answer


def _existing(entity: Entity, text: str) -> Any:
    id = read_id(entity, text)
    if not writer_rows(entity).filter(pk=id).exists():
        raise RowNotFound
    return id


def _alias(request: Request) -> str:
    asked = shapes.ReaderQuery(data=request.query_params)
    asked.is_valid(raise_exception=True)
    alias = get_reader_alias(asked.validated_data["reader"])
    if "wait" in asked.validated_data:
        wait_for_event(asked.validated_data["wait"], alias=alias)
    return alias


def _one(entity: Entity, row: dict[str, Any] | None, *, alias: str = "") -> dict[str, Any]:
    if row is None:
        raise RowNotFound
    return present_rows(entity, [row], alias=alias)[0]
