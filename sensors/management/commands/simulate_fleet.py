import sys
import time
from argparse import ArgumentParser
from typing import Any
from urllib.error import URLError

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from sensors.models import Sensor
from sensors.services.sensors import create_sensor
from sensors.simulation.fleet import Fleet, Message
from sensors.simulation.senders import AmqpSender, RestSender, Sender

ACTOR = "simulate_fleet"
TICK = 0.25


class Command(BaseCommand):
    help = "Send the signals of a simulated fleet to RabbitMQ, or with --url and --key to a server's REST API."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sensors", type=int, default=200, help="how many doors (default 200)")
        parser.add_argument("--rate", type=float, default=50, help="signals a second (default 50)")
        parser.add_argument("--seconds", type=float, default=60, help="how long (default 60; 0 = until stopped)")
        parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same signals")
        parser.add_argument("--url", help="send by REST to this server")
        parser.add_argument("--key", help="its key with the scope signals:write")
        parser.add_argument("--no-register", action="store_true", help="do not register missing sensors first")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["url"]) != bool(options["key"]):
            raise CommandError("--url and --key go together.")
        if not options["url"] and not settings.AMQP_URL:
            raise CommandError("Set AMQP_URL, or give --url and --key.")
        fleet = Fleet(options["sensors"], seed=options["seed"])
        if not options["no_register"]:
            self._register(fleet)
        sender: Sender = RestSender(options["url"], options["key"]) if options["url"] else AmqpSender()
        try:
            with sender:
                sent = self._send(fleet, sender, options["rate"], options["seconds"])
        except URLError as error:
            raise CommandError(f"{options['url']} takes no signals: {error.reason}") from error
        self.stdout.write(f"{sent} signals sent")

    def _register(self, fleet: Fleet) -> None:
        there = set(Sensor.objects.filter(pk__in=fleet.sensor_ids).values_list("pk", flat=True))
        for number, sensor_id in enumerate(fleet.sensor_ids):
            if sensor_id not in there:
                create_sensor(sensor_id=sensor_id, address=f"Simulated Street {number + 1}", actor=ACTOR)

    def _send(self, fleet: Fleet, sender: Sender, rate: float, seconds: float) -> int:
        """Send in ticks of a quarter of a second; what a slow server holds up is not made up for."""
        began, sent, due = time.monotonic(), 0, 0.0
        while not seconds or time.monotonic() - began < seconds:
            due += rate * TICK
            messages: list[Message] = []
            while due >= 1:
                due -= 1
                messages += fleet.signals(timezone.now())
            sender.send(messages)
            sent += len(messages)
            self._show(sent, time.monotonic() - began, seconds)
            time.sleep(max(0.0, TICK - (time.monotonic() - began) % TICK))
        rest = fleet.rest()
        sender.send(rest)
        return sent + len(rest)

    def _show(self, sent: int, passed: float, seconds: float) -> None:
        if sys.stderr.isatty():
            share = f"{min(1, passed / seconds):4.0%}" if seconds else f"{passed:.0f} s"
            self.stderr.write(f"\r{share}  {sent} signals", ending="")
