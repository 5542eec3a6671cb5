"""`/sessions/`: a durable "again, later" for anybody, and the themes that say who repeats what."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.openapi import PAGE_PARAMETERS
from config.common.web.pagination import paginate, paginate_presented
from notifications.api.shapes import (
    NewSessionSerializer,
    NewThemeSerializer,
    RecordsSerializer,
    SaveSerializer,
    SessionListSerializer,
    SessionQuery,
    SessionSerializer,
    SessionWithTimelineSerializer,
    ShiftSerializer,
    ThemeEditSerializer,
    ThemeListSerializer,
    ThemeSecretSerializer,
    ThemeSerializer,
    present_theme,
)
from notifications.errors import SessionCode, ThemeNotFound
from notifications.models import RepeatSession, Theme
from notifications.sessions.lifecycle import (
    append_records,
    create_session,
    delete_session,
    rewrite_records,
    save_session,
)
from notifications.sessions.operator_actions import (
    repeat_now,
    require_moved,
    revive_sessions,
    shift_sessions,
)
from notifications.sessions.presentation import get_session, present_in_parts, present_session, present_with_timelines
from notifications.sessions.themes import create_theme, delete_theme, rotate_secret, update_theme


class SessionApiView(ApiView):
    """Adds to every error what the protocol of sessions calls it."""

    def handle_exception(self, exc: Exception) -> Response:
        answer = super().handle_exception(exc)
        code = SessionCode.INTERNAL if answer.status_code >= 500 else SessionCode.INVALID
        if answer.status_code not in (401, 403, 429):
            answer.data["data"] = {"session_code": int(code), **answer.data["data"]}
        return answer


class ThemesView(SessionApiView):
    scopes = {"GET": Scope.SESSIONS, "POST": Scope.SESSIONS}

    @extend_schema(
        operation_id="session_themes_list",
        tags=["sessions"],
        parameters=PAGE_PARAMETERS,
        responses=ThemeListSerializer,
    )
    def get(self, request: Request) -> Response:
        found = paginate(request, Theme.objects.all(), order=["number"])
        return Response({"results": [present_theme(theme) for theme in found.results], "next": found.next})

    @extend_schema(
        operation_id="session_themes_create",
        tags=["sessions"],
        request=ThemeSerializer,
        responses={201: NewThemeSerializer},
    )
    def post(self, request: Request) -> Response:
        """Register a theme. With a URL the answer holds the secret that signs its calls, this once."""
        asked = ThemeSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        values = dict(asked.validated_data)
        number = values.pop("theme")
        secret = create_theme(number=number, actor=actor_of(request), **values)
        return Response(_theme(number, secret), status=201)


class ThemeView(SessionApiView):
    scopes = {"GET": Scope.SESSIONS, "PATCH": Scope.SESSIONS, "DELETE": Scope.SESSIONS}

    @extend_schema(operation_id="session_themes_get", tags=["sessions"], responses=ThemeSerializer)
    def get(self, request: Request, theme: int) -> Response:
        return Response(_theme(theme, None))

    @extend_schema(
        operation_id="session_themes_change",
        tags=["sessions"],
        request=ThemeEditSerializer,
        responses=NewThemeSerializer,
    )
    def patch(self, request: Request, theme: int) -> Response:
        """Change a theme. One that has a URL for the first time answers its secret, this once."""
        asked = ThemeEditSerializer(data=request.data, partial=True, context={"theme": theme})
        asked.is_valid(raise_exception=True)
        values = {name: value for name, value in asked.validated_data.items() if name != "theme"}
        return Response(_theme(theme, update_theme(number=theme, actor=actor_of(request), **values)))

    @extend_schema(operation_id="session_themes_delete", tags=["sessions"], responses={204: None})
    def delete(self, request: Request, theme: int) -> Response:
        """Delete a theme that has no sessions."""
        delete_theme(number=theme, actor=actor_of(request))
        return Response(status=204)


class RotateThemeSecretView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @extend_schema(
        operation_id="session_themes_rotate_secret", tags=["sessions"], request=None, responses=ThemeSecretSerializer
    )
    def post(self, request: Request, theme: int) -> Response:
        """Replace the secret that signs the calls; the old one signs beside it for 24 hours."""
        return Response({"secret": rotate_secret(number=theme, actor=actor_of(request))})


class SessionsView(SessionApiView):
    scopes = {"GET": Scope.SESSIONS, "POST": Scope.SESSIONS}

    @extend_schema(
        operation_id="sessions_list",
        tags=["sessions"],
        parameters=[SessionQuery, *PAGE_PARAMETERS],
        responses=SessionListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List sessions, newest first. A page with long records holds fewer of them."""
        asked = SessionQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        rows = RepeatSession.objects.filter(**asked.validated_data)
        found = paginate_presented(request, rows, order=["-id"], present=present_in_parts)
        return Response({"results": found.results, "next": found.next})

    @extend_schema(
        operation_id="sessions_create",
        tags=["sessions"],
        request=NewSessionSerializer,
        responses={201: SessionSerializer},
    )
    def post(self, request: Request) -> Response:
        """Begin a session. Untouched for its theme's timeout it is saved by itself; with a time or a delay, at once."""
        asked = NewSessionSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        return Response(present_session(create_session(**asked.validated_data)), status=201)


class SessionView(SessionApiView):
    scopes = {"GET": Scope.SESSIONS, "DELETE": Scope.SESSIONS}

    @extend_schema(operation_id="sessions_get", tags=["sessions"], responses=SessionWithTimelineSerializer)
    def get(self, request: Request, session_id: int) -> Response:
        return Response(present_with_timelines([get_session(session_id)])[0])

    @extend_schema(operation_id="sessions_delete", tags=["sessions"], responses={204: None})
    def delete(self, request: Request, session_id: int) -> Response:
        """Delete a session and its timeline, whatever its state."""
        delete_session(session_id=session_id)
        return Response(status=204)


class AppendView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @extend_schema(
        operation_id="sessions_append", tags=["sessions"], request=RecordsSerializer, responses=SessionSerializer
    )
    def post(self, request: Request, session_id: int) -> Response:
        """Add records at the end."""
        asked = RecordsSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        append_records(session_id=session_id, **asked.validated_data)
        return Response(present_session(session_id))


class RewriteView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @extend_schema(
        operation_id="sessions_rewrite", tags=["sessions"], request=RecordsSerializer, responses=SessionSerializer
    )
    def post(self, request: Request, session_id: int) -> Response:
        """Put these records in the place of all that were there."""
        asked = RecordsSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        rewrite_records(session_id=session_id, **asked.validated_data)
        return Response(present_session(session_id))


class SaveView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @extend_schema(operation_id="sessions_save", tags=["sessions"], request=SaveSerializer, responses=SessionSerializer)
    def post(self, request: Request, session_id: int) -> Response:
        """Save the session for repetition: at a time, after a delay, or after its theme's delay."""
        asked = SaveSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        save_session(session_id=session_id, **asked.validated_data)
        return Response(present_session(session_id))


class RepeatNowView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @extend_schema(operation_id="sessions_repeat_now", tags=["sessions"], request=None, responses=SessionSerializer)
    def post(self, request: Request, session_id: int) -> Response:
        """Let a saved session be due at once."""
        require_moved(session_id, repeat_now(session_ids=_known(session_id), actor=actor_of(request)))
        return Response(present_session(session_id))


class ShiftView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @extend_schema(
        operation_id="sessions_shift", tags=["sessions"], request=ShiftSerializer, responses=SessionSerializer
    )
    def post(self, request: Request, session_id: int) -> Response:
        """Move the repeat time of a saved session, later or earlier."""
        asked = ShiftSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        moved = shift_sessions(session_ids=_known(session_id), actor=actor_of(request), **asked.validated_data)
        require_moved(session_id, moved)
        return Response(present_session(session_id))


class ReviveView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @extend_schema(operation_id="sessions_revive", tags=["sessions"], request=None, responses=SessionSerializer)
    def post(self, request: Request, session_id: int) -> Response:
        """Let an exhausted session begin anew, due at once."""
        require_moved(session_id, revive_sessions(session_ids=_known(session_id), actor=actor_of(request)))
        return Response(present_session(session_id))


def _known(session_id: int) -> list[int]:
    return [get_session(session_id).pk]


def _theme(number: int, secret: str | None) -> dict[str, Any]:
    theme = Theme.objects.filter(pk=number).first() if number < 2**31 else None
    if theme is None:
        raise ThemeNotFound
    shown = present_theme(theme)
    return shown if secret is None else {**shown, "secret": secret}
