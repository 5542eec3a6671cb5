from config.common.errors import Conflict, NotFound


class EnterpriseNotFound(NotFound):
    """Enterprise not found."""


class SubsystemNotFound(NotFound):
    """Subsystem not found."""


class DeviceNotFound(NotFound):
    """Device not found."""


class DatabaseNotFound(NotFound):
    """Database not found."""


class EnterpriseExists(Conflict):
    """An enterprise with this id already exists."""

    sample = {"id": "acme"}


class SubsystemExists(Conflict):
    """A subsystem with this id already exists."""

    sample = {"id": "acme-sales"}


class DeviceExists(Conflict):
    """A device with this id already exists; devices and databases share their ids."""

    sample = {"id": "acme-phone"}


class DatabaseExists(Conflict):
    """A database with this id already exists; devices and databases share their ids."""

    sample = {"id": "acme-erp"}


class SubsystemInUse(Conflict):
    """This subsystem has devices or messages. Move its devices to another one; a subsystem with messages cannot be
    deleted.
    """


class MessageNotFound(NotFound):
    """Message not found."""


class IdTaken(Conflict):
    """Another message has this id. Use a new id, or repeat exactly what you sent."""


class NotRequeuable(Conflict):
    """Only a message in Error can be put back into the queue; one in doubt is settled with its process."""


class NotWaiting(Conflict):
    """Only a message that is waiting for a database can be set aside; end the process that holds it first."""


class AlreadySetAside(Conflict):
    """This message has already been set aside."""


class NotSetAside(Conflict):
    """This message has not been set aside."""


class FileStillMissing(Conflict):
    """The file of this message is still in none of its folders."""


class FileNotAsWritten(Conflict):
    """The file found differs from this message as it was written."""
