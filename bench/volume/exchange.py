"""Enterprises with their devices and databases, messages, the processes that carried them."""

from bench.volume.sizes import Sizes
from bench.volume.spread import spread
from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.services.totals import count_finished_spans

EACH = 10
"""Messages of a process."""


def fill_parties(sizes: Sizes) -> None:
    parties = max(1, sizes.devices // 10)
    spread(Enterprise(), parties, id="'enterprise-' || n", name="'Enterprise ' || n")
    spread(Subsystem(), parties, id="'sub-' || n", enterprise_id="'enterprise-' || n", name="'Subsystem ' || n")
    spread(
        ExchangeDatabase(), parties, id="'database-' || n", enterprise_id="'enterprise-' || n", name="'Database ' || n"
    )
    spread(
        Device(),
        sizes.devices,
        id="'device-' || n",
        subsystem_id=f"'sub-' || mod(n, {parties}) + 1",
        name="'Device ' || n",
    )


def fill_messages(sizes: Sizes) -> None:
    """One message in ten waits; the others were processed, ten at a time."""
    parties = max(1, sizes.devices // 10)
    party = f"mod(mod(n, {sizes.devices}) + 1, {parties}) + 1"
    at = f"now() - ({sizes.messages} - n) * interval '1 second'"
    spread(
        Message(direction="request", size=200, digest=b"\0" * 32),
        sizes.messages,
        id="n",
        public_id="'message-' || n",
        enterprise_id=f"'enterprise-' || {party}",
        database_id=f"'database-' || {party}",
        subsystem_id=f"'sub-' || {party}",
        device_id=f"'device-' || mod(n, {sizes.devices}) + 1",
        token="gen_random_uuid()",
        status="CASE WHEN mod(n, 10) = 0 THEN 'waiting' ELSE 'processed' END",
        folder="CASE WHEN mod(n, 10) = 0 THEN 'Messages' ELSE 'Log' END",
        created_at=at,
        accepted_at=at,
        arrived_at=at,
        updated_at=at,
        settled_at=f"CASE WHEN mod(n, 10) <> 0 THEN {at} END",
        correlation_id="'correlation-' || n",
    )
    processes = max(1, sizes.messages // EACH)
    # One in a hundred is in doubt, one has failed; of the first fifty every other one, so that their page is full.
    fate = "CASE WHEN n <= 50 THEN mod(n, 2) ELSE mod(n, 100) END"
    spread(
        ExchangeProcess(prepared=b"\0" * 32, lane=[], replies=[]),
        processes,
        id="md5('process' || n)::uuid",
        database_id=f"'database-' || mod(n, {parties}) + 1",
        status=f"CASE {fate} WHEN 0 THEN 'IN_DOUBT' WHEN 1 THEN 'FAILED' ELSE 'DONE' END",
        decision=f"CASE {fate} WHEN 0 THEN '' ELSE 'committed' END",
        started_at="now() - n * interval '1 minute'",
        ready_at="now() - n * interval '1 minute'",
        ended_at=f"CASE WHEN {fate} <> 1 THEN now() - n * interval '1 minute' END",
        correlation_id="'process-' || n",
    )
    spread(
        ProcessMessage(result="PROCESSED"),
        sizes.messages,
        process_id=f"md5('process' || mod(n, {processes}) + 1)::uuid",
        message_id="n",
        place=f"n / {processes}",
    )


def count_totals(sizes: Sizes) -> None:
    """Do what the hourly upkeep has done by then."""
    count_finished_spans()
