import itertools
import threading
import time
from dataclasses import dataclass

from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of, principal_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.common.correlation import correlation_id
from config.common.web.pagination import paginate
from config.common.web.serializers import TimestampField
from config.common.web.streaming import stream


class GroupSerializer(serializers.Serializer[Group]):
    name = serializers.CharField(max_length=20)
    at = TimestampField(required=False)
    order = serializers.ListField(child=serializers.IntegerField(), required=False)


class GroupsView(ApiView):
    scopes = {"GET": Scope.REGISTRY_READ, "POST": Scope.REGISTRY_WRITE}

    def get(self, request: Request) -> Response:
        found = paginate(request, Group.objects.values("id", "name"), order=["name"])
        return Response({"results": found.results, "next": found.next})

    def post(self, request: Request) -> Response:
        asked = GroupSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        group = Group.objects.create(name=asked.validated_data["name"])
        status = 422 if group.name == "refused" else 201
        return Response({"id": group.pk, "name": group.name, "actor": actor_of(request)}, status=status)


class GroupView(ApiView):
    scopes = {"GET": Scope.REGISTRY_READ}

    def get(self, request: Request, group_id: int) -> Response:
        return Response({"name": Group.objects.get(pk=group_id).name})


class PermissionsView(ApiView):
    """Two columns in opposite directions, objects instead of dictionaries."""

    scopes = {"GET": Scope.REGISTRY_READ}

    def get(self, request: Request) -> Response:
        found = paginate(request, Permission.objects.all(), order=["-content_type", "codename"])
        return Response({"results": [row.codename for row in found.results], "next": found.next})


class ClosedView(ApiView):
    """Declares nothing."""

    def get(self, request: Request) -> Response:
        return Response({})


class DeviceView(ApiView):
    key_kinds = {"GET": {"device"}}

    def get(self, request: Request) -> Response:
        return Response({"subject": principal_of(request).subject})


class FailingView(ApiView):
    scopes = {"GET": Scope.OPERATIONS}

    def get(self, request: Request, how: str) -> Response:
        fail(how)
        return Response({})


def failing_page(request: HttpRequest, how: str) -> HttpResponse:
    fail(how)
    return HttpResponse()


def fail(how: str) -> None:
    """Fail as a real engine does: PostgreSQL with the state of the failure, SQLite by its own limits."""
    if how == "bug":
        raise ZeroDivisionError("the secret detail")
    if how == "missing":
        Group.objects.get(pk=-1)
    if how == "out_of_range":
        Group.objects.bulk_create([Group(pk=2**70, name="large")])
    if how == "twice":
        Group.objects.bulk_create([Group(name="twice"), Group(name="twice")])
    failures = {"postgresql": _fail_postgresql, "sqlite": _fail_sqlite}
    failures[connection.vendor](how)


def _fail_postgresql(how: str) -> None:
    states = {"database_away": "57P01", "disk_full": "53100", "read_only": "25006", "deadlock": "40P01"}
    with connection.cursor() as cursor:
        cursor.execute(f"DO $$ BEGIN RAISE EXCEPTION 'drill' USING ERRCODE = '{states[how]}'; END $$")


def _fail_sqlite(how: str) -> None:
    limit, lifted, statement = {
        "database_away": ("query_only = 1", "query_only = 0", "DELETE FROM auth_group"),
        "disk_full": (
            "max_page_count = 1",
            "max_page_count = 4294967294",
            "CREATE TABLE filler AS SELECT zeroblob(10000000) AS text",
        ),
    }[how]
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {limit}")
        try:
            cursor.execute(statement)
        finally:
            cursor.execute(f"PRAGMA {lifted}")


def slow(request: HttpRequest, seconds: str) -> HttpResponse:
    time.sleep(float(seconds))
    return HttpResponse("done")


def large(request: HttpRequest, size: int) -> HttpResponse:
    return HttpResponse(b"x" * size)


def endless(request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse(stream(itertools.repeat(b"x" * 65_536)))


@csrf_exempt
def echo(request: HttpRequest) -> HttpResponse:
    """Tell what arrived."""
    return JsonResponse(
        {
            "length": len(request.body),
            "correlation_id": correlation_id(),
            "thread": threading.current_thread().name,
        }
    )


@dataclass(frozen=True)
class Device:
    active: bool


def find_device(subject: str) -> Device | None:
    return {"works": Device(active=True), "stopped": Device(active=False)}.get(subject)
