"""`/coordination/writer/` and `/coordination/reader/`: changes go to the Writer, reads to either side."""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.permissions import require_scope
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.common.web.pagination import PAGE_BYTES, paginate
from processes.coordination.api import shapes
from processes.coordination.errors import (
    EntityNotFound,
    EventCanceled,
    EventNotFound,
    NotYetHere,
    ReaderAway,
    ReaderNotFound,
    RowNotFound,
)
from processes.coordination.gateway.readers import ask_reader
from processes.coordination.gateway.registry import change_registry
from processes.coordination.gateway.requests import (
    ChangesSerializer,
    get_entity,
    read_changes,
    read_id,
    read_inserts,
    read_update,
)
from processes.coordination.gateway.rows import get_reader_alias, present_rows, reader_rows, weigh_beside, writer_rows
from processes.coordination.gateway.wait import wait_for_event
from processes.coordination.schema.entities import Entity, Op
from processes.coordination.writer.change_sets import RequestedChange, apply_change_set
from sensors.errors import RegistryMoved, SensorExists

ALL = {method: Scope.COORDINATION for method in ("GET", "POST", "PATCH", "DELETE")}


class EntityView(ApiView):
    scopes = ALL

    def entity(self, request: Request, path: str) -> Entity:
        """Return an entity that the caller may use: those of the registry take the right to change it as well."""
        entity = get_entity(path)
        require_registry(request, [entity])
        return entity


class WriterRowsView(EntityView):
    @describe_call(
        operation_id="coordination_writer_list",
        summary="List the Writer's rows",
        tags=["coordination"],
        parameters=PAGE_PARAMETERS,
        responses=shapes.RowListSerializer,
        errors=[EntityNotFound],
    )
    def get(self, request: Request, path: str) -> Response:
        """List the Writer's rows of an entity, in order of id."""
        entity = self.entity(request, path)
        beside = weigh_beside(entity)
        found = paginate(request, writer_rows(entity), order=["id"], weigh_beside=beside, most_bytes=PAGE_BYTES)
        return Response({"results": present_rows(entity, found.results), "next": found.next})

    @describe_call(
        operation_id="coordination_writer_create",
        needs_body=True,
        summary="Add rows",
        tags=["coordination"],
        request={"application/json": {"oneOf": [shapes.ROW, {"type": "array", "items": shapes.ROW}]}},
        responses={202: shapes.AcceptedRowsSerializer},
        errors=[EntityNotFound, SensorExists, RegistryMoved],
    )
    def post(self, request: Request, path: str) -> Response:
        """Add a row, or by a list many as one change set. `event` in the answer leads to how far it is."""
        changes = read_inserts(self.entity(request, path), request.data)
        return accept(request, changes, is_list=isinstance(request.data, list))


class WriterRowView(EntityView):
    @describe_call(
        operation_id="coordination_writer_get",
        summary="Read a row of the Writer",
        tags=["coordination"],
        responses={200: shapes.ROW},
        errors=[EntityNotFound, RowNotFound],
    )
    def get(self, request: Request, path: str, row: str) -> Response:
        """Return one of the Writer's rows."""
        entity = self.entity(request, path)
        found = writer_rows(entity).filter(pk=read_id(entity, row)).first()
        return Response(_one(entity, found))

    @describe_call(
        operation_id="coordination_writer_change",
        needs_body=True,
        summary="Change a row",
        tags=["coordination"],
        request={"application/json": shapes.ROW},
        responses={202: shapes.AcceptedRowsSerializer},
        errors=[EntityNotFound, RowNotFound],
    )
    def patch(self, request: Request, path: str, row: str) -> Response:
        """Change the named fields of a row, as one change set."""
        entity = self.entity(request, path)
        return accept(request, [read_update(entity, _existing(entity, row), request.data)])

    @describe_call(
        operation_id="coordination_writer_delete",
        summary="Delete a row",
        tags=["coordination"],
        responses={202: shapes.AcceptedRowsSerializer},
        errors=[EntityNotFound, RowNotFound],
    )
    def delete(self, request: Request, path: str, row: str) -> Response:
        """Delete a row; a sensor or client is deactivated, as everywhere."""
        entity = self.entity(request, path)
        return accept(request, [RequestedChange(entity, Op.DELETE, _existing(entity, row))])


class ChangesView(ApiView):
    scopes = {"POST": Scope.COORDINATION}

    @describe_call(
        operation_id="coordination_writer_changes",
        summary="Change rows of several entities",
        tags=["coordination"],
        request=ChangesSerializer,
        responses={202: shapes.AcceptedSetSerializer},
        errors=[SensorExists, RegistryMoved],
    )
    def post(self, request: Request) -> Response:
        """Make a set of changes of several rows and entities: one change set, whole or not at all."""
        changes = read_changes(request.data)
        require_registry(request, [each.entity for each in changes])
        return accept(request, changes, is_list=True)


class ReaderRowsView(EntityView):
    scopes = {"GET": Scope.COORDINATION}

    @describe_call(
        operation_id="coordination_reader_list",
        summary="List a reader's rows",
        tags=["coordination"],
        parameters=[shapes.ReaderQuery, *PAGE_PARAMETERS],
        responses=shapes.RowListSerializer,
        errors=[EntityNotFound, ReaderNotFound, EventNotFound, EventCanceled, NotYetHere, ReaderAway],
    )
    def get(self, request: Request, path: str) -> Response:
        """List a reader's rows of an entity, from its own database.

        With `wait` the answer comes when it has that event.
        """
        entity, alias = self.entity(request, path), _alias(request)
        rows, beside = reader_rows(entity, alias=alias), weigh_beside(entity, alias=alias)
        with ask_reader(alias):
            found = paginate(request, rows, order=["id"], weigh_beside=beside, most_bytes=PAGE_BYTES)
            return Response({"results": present_rows(entity, found.results, alias=alias), "next": found.next})


class ReaderRowView(EntityView):
    scopes = {"GET": Scope.COORDINATION}

    @describe_call(
        operation_id="coordination_reader_get",
        summary="Read a row of a reader",
        tags=["coordination"],
        parameters=[shapes.ReaderQuery],
        responses={200: shapes.ROW},
        errors=[EntityNotFound, ReaderNotFound, RowNotFound, EventNotFound, EventCanceled, NotYetHere, ReaderAway],
    )
    def get(self, request: Request, path: str, row: str) -> Response:
        """Return one row from a reader's own database. With `wait` the answer comes when it has that event."""
        entity, alias = self.entity(request, path), _alias(request)
        with ask_reader(alias):
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
