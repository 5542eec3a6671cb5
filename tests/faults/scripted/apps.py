from datetime import timedelta

from django.apps import AppConfig

LEASE_SECONDS = 2


class ScriptedConfig(AppConfig):
    name = "tests.faults.scripted"

    def ready(self) -> None:
        from notifications.sessions import claims, repeat, repeater
        from notifications.sessions.handlers import register_handler
        from tests.faults.scripted.handler import ScriptedHandler

        register_handler("scripted", ScriptedHandler)
        # A drill cannot wait half a minute for each worker that it kills.
        claims.LEASE = repeat.LEASE = timedelta(seconds=LEASE_SECONDS)  # type: ignore[attr-defined]
        repeater.RENEW_SECONDS = LEASE_SECONDS / 3
