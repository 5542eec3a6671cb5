"""The simulated broker keeps what the real one promises: order, redelivery, and no acknowledgement of the dead."""

from pika.spec import BasicProperties

from config.engines.publisher import NotPublished
from tests.simulation.broker import SimulatedBroker
from tests.simulation.nature import Nature, draw_nature
from tests.simulation.scheduler import Scheduler


class TestSimulatedBroker:
    def test_what_a_dead_consumer_had_comes_again_in_its_place(self) -> None:
        scheduler = Scheduler(draw_nature(0, faults=()))
        broker, seen = SimulatedBroker(scheduler, {}), list[tuple[bytes, bool]]()
        _publish(broker, b"one", b"two", b"three")

        def consume() -> None:
            connection = broker.connect()
            channel = connection.channel()
            channel.queue_declare("queue")
            channel.basic_consume("queue", lambda _, method, __, body: seen.append((body, method.redelivered)))
            connection.process_data_events(5.0)
            if len(seen) == 3:
                channel.basic_ack(1)
                scheduler.kill(scheduler.process())
                scheduler.point("is dead by now")

        scheduler.start("consumer", consume)
        scheduler.let_run(lambda: len(seen) >= 5, 60.0)
        scheduler.stop_all()
        assert seen == [(b"one", False), (b"two", False), (b"three", False), (b"two", True), (b"three", True)]

    def test_whoever_has_lost_the_connection_is_told_at_the_next_step(self) -> None:
        scheduler = Scheduler(Nature(0, {"broker": 2.0}, 0.0))
        broker, errors = SimulatedBroker(scheduler, {}), list[str]()

        def connect() -> None:
            try:
                broker.connect().channel()
            except Exception as error:  # noqa: BLE001  (which one is what is asked)
                errors.append(type(error).__name__)

        scheduler.start("consumer", connect)
        scheduler.let_run(lambda: bool(errors), 60.0)
        scheduler.stop_all()
        assert errors == ["AMQPConnectionError"]
        assert broker.connections == []

    def test_what_is_lost_on_its_way_is_not_confirmed(self) -> None:
        scheduler = Scheduler(draw_nature(0, faults=()))
        broker = SimulatedBroker(scheduler, {})
        outcomes = list[bool]()

        def publish() -> None:
            sent = [broker.send(b"x", exchange="", routing_key="queue") for _ in range(200)]
            scheduler.sleep(10.0)
            outcomes.extend(isinstance(each.outcome.exception(0), NotPublished) for each in sent)

        scheduler.start("publisher", publish)
        scheduler.let_run(lambda: bool(outcomes), 60.0)
        scheduler.stop_all()
        arrived = len(broker.queues["queue"].ready)
        assert outcomes.count(True) > 0
        assert outcomes.count(False) <= arrived < len(outcomes)


def _publish(broker: SimulatedBroker, *bodies: bytes) -> None:
    broker.scheduler.is_calm = True  # nothing is lost on its way
    for body in bodies:
        broker.send(body, exchange="", routing_key="queue", properties=BasicProperties())
    broker.scheduler.let_run(lambda: False, 4.0)
