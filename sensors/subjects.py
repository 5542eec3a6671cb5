"""What a sensor is called in events, deliveries and alerts: `sensor/{id}`."""

PREFIX = "sensor/"


def subject_of(sensor_id: str) -> str:
    return f"{PREFIX}{sensor_id}"


def find_sensor_id(subject: str) -> str | None:
    """Return the id of the sensor that a subject names, or None where it names something else."""
    return subject.removeprefix(PREFIX) if subject.startswith(PREFIX) else None
