"""`/exchange/processes/`: API_1 to API_7, and what became of the processes."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, cast
from uuid import UUID

import msgspec
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import Principal, principal_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.common.times import truncate_to_milliseconds
from config.common.web.pagination import paginate_presented
from config.common.web.streaming import stream
from config.records.models import AccessKey
from messaging.files.envelope import VERSION
from messaging.models import ExchangeDatabase
from messaging.protocol import Body, UnsupportedVersion, read_body
from messaging.services.readability import stream_files
from processes.exchange.api import shapes
from processes.exchange.errors import DifferentRepeat, ProcessNotFound
from processes.exchange.models import ExchangeProcess
from processes.exchange.selectors import get_process, present_processes
from processes.exchange.services.decisions import (
    Abandon,
    Accept,
    Interrupt,
    Resolve,
    RollBack,
    abandon_process,
    accept_messages,
    commit_process,
    end_undelivered,
    interrupt_process,
    resolve_process,
    roll_back_process,
)
from processes.exchange.services.prepare import Prepare, prepare_process
from processes.exchange.services.start import Busy, Start, Started, start_process

DATABASE = {AccessKey.Kind.DATABASE}
BodyT = TypeVar("BodyT", bound=Body)


class ProcessesView(ApiView):
    key_kinds = {"GET": DATABASE, "POST": DATABASE}
    scopes = {"GET": Scope.OPERATIONS}
    idempotent = False  # a process has an id of its own, and its answer is streamed
    reads_body_itself = True

    @describe_call(
        operation_id="exchange_list",
        summary="List exchange processes",
        tags=["exchange"],
        parameters=PAGE_PARAMETERS,
        responses=shapes.ProcessListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List processes, newest first: a database's own, or with `operations` all."""
        database = _own_database(request)
        rows = ExchangeProcess.objects.all() if database is None else ExchangeProcess.objects.filter(database=database)
        found = paginate_presented(request, rows, order=["-started_at"], present=present_processes)
        return Response({"results": found.results, "next": found.next})

    @describe_call(
        operation_id="exchange_start",
        summary="API_1: start a process",
        tags=["exchange"],
        request=shapes.StartSerializer,
        responses=shapes.StartedSerializer,
        errors=[UnsupportedVersion],
    )
    def post(self, request: Request) -> HttpResponseBase:
        """API_1: begin a process with the oldest messages; IDLE when none waits, BUSY while the lane is held.

        Asked again with the same `request_id` while that process is STARTED, the answer is the same process with the
        same messages. Protocol outcomes are HTTP 200 with a `status`: 4xx is a mistake in the call.
        """
        body = read_body(request._request.body, Start)
        database = database_of(request)
        outcome = start_process(database=database, body=body, at=_now())
        if isinstance(outcome, Started):
            return _answer_messages(outcome)
        if isinstance(outcome, Busy):
            return Response({"version": VERSION, "status": "BUSY", "process_id": str(outcome.process_id)})
        return Response({"version": VERSION, "status": "IDLE"})


class ProcessView(ApiView):
    key_kinds = {"GET": DATABASE}
    scopes = {"GET": Scope.OPERATIONS}

    @describe_call(
        operation_id="exchange_get",
        summary="Read an exchange process",
        tags=["exchange"],
        responses=shapes.ProcessSerializer,
        errors=[ProcessNotFound],
    )
    def get(self, request: Request, process_id: UUID) -> Response:
        """Return a process: its status, its messages with their results, its replies and its log."""
        process = get_process(process_id, database=_own_database(request))
        return Response(present_processes([process])[0])


class _StepView(ApiView):
    """A call about a process that is under way: the outcome is a status, whatever it is."""

    key_kinds = {"POST": DATABASE}
    idempotent = False  # each call may be repeated as it is
    reads_body_itself = True


class AcceptView(_StepView):
    @describe_call(
        operation_id="exchange_accept",
        summary="API_2: accept messages",
        tags=["exchange"],
        request=shapes.AcceptSerializer,
        responses=shapes.OutcomeSerializer,
        errors=[UnsupportedVersion, ProcessNotFound],
    )
    def post(self, request: Request, process_id: UUID) -> Response:
        """API_2: name the messages that will be processed; the others are free at once.

        An empty list ends the process. It may only narrow: an id that the process does not have is 400.
        """
        return _step(request, Accept, process_id, accept_messages)


class PrepareView(_StepView):
    @describe_call(
        operation_id="exchange_prepare",
        summary="API_3: prepare the commit",
        tags=["exchange"],
        request=shapes.PrepareSerializer,
        responses=shapes.OutcomeSerializer,
        errors=[UnsupportedVersion, ProcessNotFound, DifferentRepeat],
    )
    def post(self, request: Request, process_id: UUID) -> Response:
        """API_3: give the result of each message, exactly once, and the replies; commit only after OK.

        The same body may be sent again; another one is 409 `different_repeat`. `error_text` is required with
        PROCESSED_INCORRECT.
        """
        return _step(request, Prepare, process_id, partial(prepare_process, text=request._request.body))


class CommitView(_StepView):
    @describe_call(
        operation_id="exchange_commit",
        summary="API_4: confirm the commit",
        tags=["exchange"],
        request=shapes.VersionSerializer,
        responses=shapes.OutcomeSerializer,
        errors=[UnsupportedVersion, ProcessNotFound],
    )
    def post(self, request: Request, process_id: UUID) -> Response:
        """API_4: the ERP's transaction has been committed. Answered when the decision is durable; the files follow."""
        read_body(request._request.body, Body)
        return _outcome(commit_process(database=database_of(request), process_id=process_id, at=_now()))


class RollBackView(_StepView):
    @describe_call(
        operation_id="exchange_rollback",
        summary="API_5: report a rollback",
        tags=["exchange"],
        request=shapes.RollBackSerializer,
        responses=shapes.OutcomeSerializer,
        errors=[UnsupportedVersion, ProcessNotFound],
    )
    def post(self, request: Request, process_id: UUID) -> Response:
        """API_5: the ERP's transaction could not be committed; the messages are offered again."""
        body = read_body(request._request.body, RollBack)
        back = partial(roll_back_process, database=database_of(request), process_id=process_id, at=_now())
        return _outcome(back(error_text=body.error_text))


class InterruptView(_StepView):
    @describe_call(
        operation_id="exchange_interrupt",
        summary="API_6: interrupt a process",
        tags=["exchange"],
        request=shapes.InterruptSerializer,
        responses=shapes.OutcomeSerializer,
        errors=[UnsupportedVersion, ProcessNotFound],
    )
    def post(self, request: Request, process_id: UUID) -> Response:
        """API_6: stop before anything has been prepared; the messages are offered again."""
        body = read_body(request._request.body, Interrupt)
        stop = partial(interrupt_process, database=database_of(request), process_id=process_id, at=_now())
        return _outcome(stop(text=body.text))


class AbandonView(_StepView):
    @describe_call(
        operation_id="exchange_abandon",
        summary="Abandon a process",
        tags=["exchange"],
        request=shapes.AbandonSerializer,
        responses=shapes.OutcomeSerializer,
        errors=[UnsupportedVersion, ProcessNotFound],
    )
    def post(self, request: Request, process_id: UUID) -> Response:
        """Give up a process, however far it had come: as API_6 in STARTED, as API_5 in READY_TO_COMMIT.

        For an ERP that has committed nothing and does not know how far the process had come.
        """
        body = read_body(request._request.body, Abandon)
        stop = partial(abandon_process, database=database_of(request), process_id=process_id, at=_now())
        return _outcome(stop(text=body.text))


class ResolveView(_StepView):
    @describe_call(
        operation_id="exchange_resolve",
        summary="API_7: resolve a process in doubt",
        tags=["exchange"],
        request=shapes.ResolveProcessSerializer,
        responses=shapes.OutcomeSerializer,
        errors=[UnsupportedVersion, ProcessNotFound],
    )
    def post(self, request: Request, process_id: UUID) -> Response:
        """API_7: say whether the transaction of a process in doubt was committed."""
        body = read_body(request._request.body, Resolve)
        resolve = partial(resolve_process, database=database_of(request), process_id=process_id, at=_now())
        return _outcome(resolve(committed=body.committed))


def database_of(request: Request) -> ExchangeDatabase:
    return cast(ExchangeDatabase, principal_of(request).holder)


def _own_database(request: Request) -> ExchangeDatabase | None:
    """Return the database that calls; operators see every database's processes."""
    caller: Any = request.user
    holder = caller.holder if isinstance(caller, Principal) else None
    return holder if isinstance(holder, ExchangeDatabase) else None


def _answer_messages(started: Started) -> StreamingHttpResponse:
    """Stream the files. An answer that the ERP did not get whole ends the process: it cannot go on from a part.

    Where the ERP hung up, a message may be why; where our disk failed, none of them is.
    """
    process_id, fence = started.process.pk, started.process.fence
    head = {"version": VERSION, "status": "OK", "process_id": str(process_id)}

    def end(*, was_silent: bool) -> None:
        end_undelivered(process_id=process_id, fence=fence, was_silent=was_silent, at=_now())

    before = msgspec.json.encode(head)[:-1] + b',"messages":['
    chunks = stream_files(before, started.messages, b"]}", release=partial(end, was_silent=False))
    return StreamingHttpResponse(stream(chunks, partial(end, was_silent=True)), content_type="application/json")


def _step(request: Request, shape: type[BodyT], process_id: UUID, service: Callable[..., bool]) -> Response:
    body = read_body(request._request.body, shape)
    return _outcome(service(database=database_of(request), process_id=process_id, body=body, at=_now()))


def _outcome(is_ok: bool) -> Response:
    return Response({"version": VERSION, "status": "OK" if is_ok else "CANCELLED"})


def _now() -> datetime:
    return truncate_to_milliseconds(timezone.now())
