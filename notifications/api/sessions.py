"""`/sessions/`: a durable "again, later" for anybody, and the themes that say who repeats what."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
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
from notifications.errors import (
    NothingToSign,
    RepeatLimitReached,
    SessionCode,
    SessionNotFound,
    SessionTooLong,
    StaleChange,
    ThemeInUse,
    ThemeNotFound,
    ThemeTaken,
    WrongStatus,
)
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

    @describe_call(
        operation_id="session_themes_list",
        summary="List themes",
        tags=["sessions"],
        parameters=PAGE_PARAMETERS,
        responses=ThemeListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List the themes of repeat sessions, in order of their numbers."""
        found = paginate(request, Theme.objects.all(), order=["number"])
        return Response({"results": [present_theme(theme) for theme in found.results], "next": found.next})

    @describe_call(
        operation_id="session_themes_create",
        summary="Create a theme",
        tags=["sessions"],
        request=ThemeSerializer,
        responses={201: NewThemeSerializer},
        errors=[ThemeTaken],
    )
    def post(self, request: Request) -> Response:
        """Register a theme: who repeats its sessions (a handler in the code, or a URL), how often and how long apart.

        With a URL the answer holds the secret that signs the calls to it; it is shown this once.
        """
        asked = ThemeSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        values = dict(asked.validated_data)
        number = values.pop("theme")
        secret = create_theme(number=number, actor=actor_of(request), **values)
        return Response(_theme(number, secret), status=201)


class ThemeView(SessionApiView):
    scopes = {"GET": Scope.SESSIONS, "PATCH": Scope.SESSIONS, "DELETE": Scope.SESSIONS}

    @describe_call(
        operation_id="session_themes_get",
        summary="Read a theme",
        tags=["sessions"],
        responses=ThemeSerializer,
        errors=[ThemeNotFound],
    )
    def get(self, request: Request, theme: int) -> Response:
        """Return a theme; its secret is not shown again."""
        return Response(_theme(theme, None))

    @describe_call(
        operation_id="session_themes_change",
        summary="Change a theme",
        tags=["sessions"],
        request=ThemeEditSerializer,
        responses=NewThemeSerializer,
        errors=[ThemeNotFound],
    )
    def patch(self, request: Request, theme: int) -> Response:
        """Change the named settings of a theme.

        One that gets a URL for the first time answers its secret, this once.
        """
        asked = ThemeEditSerializer(data=request.data, partial=True, context={"theme": theme})
        asked.is_valid(raise_exception=True)
        values = {name: value for name, value in asked.validated_data.items() if name != "theme"}
        return Response(_theme(theme, update_theme(number=theme, actor=actor_of(request), **values)))

    @describe_call(
        operation_id="session_themes_delete",
        summary="Delete a theme",
        tags=["sessions"],
        responses={204: None},
        errors=[ThemeNotFound, ThemeInUse],
    )
    def delete(self, request: Request, theme: int) -> Response:
        """Delete a theme that has no sessions."""
        delete_theme(number=theme, actor=actor_of(request))
        return Response(status=204)


class RotateThemeSecretView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @describe_call(
        operation_id="session_themes_rotate_secret",
        summary="Rotate the secret of a theme",
        tags=["sessions"],
        request=None,
        responses=ThemeSecretSerializer,
        errors=[ThemeNotFound, NothingToSign],
    )
    def post(self, request: Request, theme: int) -> Response:
        """Replace the secret that signs the calls to the theme's URL; the old one signs beside it for 24 hours."""
        return Response({"secret": rotate_secret(number=theme, actor=actor_of(request))})


class SessionsView(SessionApiView):
    scopes = {"GET": Scope.SESSIONS, "POST": Scope.SESSIONS}

    @describe_call(
        operation_id="sessions_list",
        summary="List sessions",
        tags=["sessions"],
        parameters=[SessionQuery, *PAGE_PARAMETERS],
        responses=SessionListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List sessions with their timelines, newest first. A page with long records holds fewer of them."""
        asked = SessionQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        rows = RepeatSession.objects.filter(**asked.validated_data)
        found = paginate_presented(request, rows, order=["-id"], present=present_in_parts)
        return Response({"results": found.results, "next": found.next})

    @describe_call(
        operation_id="sessions_create",
        summary="Create a session",
        tags=["sessions"],
        request=NewSessionSerializer,
        responses={201: SessionSerializer},
        errors=[SessionTooLong],
    )
    def post(self, request: Request) -> Response:
        """Create a session with its first records.

        Untouched for its theme's timeout it is saved by itself; with `repeat_at` or `delay` it is saved at once.
        """
        asked = NewSessionSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        return Response(present_session(create_session(**asked.validated_data)), status=201)


class SessionView(SessionApiView):
    scopes = {"GET": Scope.SESSIONS, "DELETE": Scope.SESSIONS}

    @describe_call(
        operation_id="sessions_get",
        summary="Read a session",
        tags=["sessions"],
        responses=SessionWithTimelineSerializer,
        errors=[SessionNotFound],
    )
    def get(self, request: Request, session_id: int) -> Response:
        """Return a session with its records and its timeline; 404 once it was repeated with success, or deleted."""
        return Response(present_with_timelines([get_session(session_id)])[0])

    @describe_call(
        operation_id="sessions_delete",
        summary="Delete a session",
        tags=["sessions"],
        responses={204: None},
        errors=[SessionNotFound],
    )
    def delete(self, request: Request, session_id: int) -> Response:
        """Delete a session and its timeline, whatever its status."""
        delete_session(session_id=session_id)
        return Response(status=204)


class AppendView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @describe_call(
        operation_id="sessions_append",
        summary="Append records",
        tags=["sessions"],
        request=RecordsSerializer,
        responses=SessionSerializer,
        errors=[SessionNotFound, StaleChange, SessionTooLong],
    )
    def post(self, request: Request, session_id: int) -> Response:
        """Add records at the end.

        `change` is the one last read: if the session has changed since, 409 `stale_change`.
        """
        asked = RecordsSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        append_records(session_id=session_id, **asked.validated_data)
        return Response(present_session(session_id))


class RewriteView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @describe_call(
        operation_id="sessions_rewrite",
        summary="Replace all records",
        tags=["sessions"],
        request=RecordsSerializer,
        responses=SessionSerializer,
        errors=[SessionNotFound, StaleChange, SessionTooLong],
    )
    def post(self, request: Request, session_id: int) -> Response:
        """Replace all records by these.

        `change` is the one last read: if the session has changed since, 409 `stale_change`.
        """
        asked = RecordsSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        rewrite_records(session_id=session_id, **asked.validated_data)
        return Response(present_session(session_id))


class SaveView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @describe_call(
        operation_id="sessions_save",
        summary="Save a session to be repeated",
        tags=["sessions"],
        request=SaveSerializer,
        responses=SessionSerializer,
        errors=[SessionNotFound, StaleChange, RepeatLimitReached],
    )
    def post(self, request: Request, session_id: int) -> Response:
        """Save the session to be repeated: at `repeat_at`, after `delay` seconds, or after its theme's delay."""
        asked = SaveSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        save_session(session_id=session_id, **asked.validated_data)
        return Response(present_session(session_id))


class RepeatNowView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @describe_call(
        operation_id="sessions_repeat_now",
        summary="Repeat a session now",
        tags=["sessions"],
        request=None,
        responses=SessionSerializer,
        errors=[SessionNotFound, WrongStatus],
    )
    def post(self, request: Request, session_id: int) -> Response:
        """Make a saved session due at once."""
        require_moved(session_id, repeat_now(session_ids=_known(session_id), actor=actor_of(request)))
        return Response(present_session(session_id))


class ShiftView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @describe_call(
        operation_id="sessions_shift",
        summary="Move a repeat time",
        tags=["sessions"],
        request=ShiftSerializer,
        responses=SessionSerializer,
        errors=[SessionNotFound, WrongStatus],
    )
    def post(self, request: Request, session_id: int) -> Response:
        """Move the repeat time of a saved session by so many seconds, later or earlier."""
        asked = ShiftSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        moved = shift_sessions(session_ids=_known(session_id), actor=actor_of(request), **asked.validated_data)
        require_moved(session_id, moved)
        return Response(present_session(session_id))


class ReviveView(SessionApiView):
    scopes = {"POST": Scope.SESSIONS}

    @describe_call(
        operation_id="sessions_revive",
        summary="Revive an exhausted session",
        tags=["sessions"],
        request=None,
        responses=SessionSerializer,
        errors=[SessionNotFound, WrongStatus],
    )
    def post(self, request: Request, session_id: int) -> Response:
        """Start an exhausted session anew: its repeats are counted from zero, and it is due at once."""
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
