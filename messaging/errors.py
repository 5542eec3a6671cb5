from config.common.errors import Conflict, NotFound


class EnterpriseNotFound(NotFound):
    """There is no such enterprise."""


class SubsystemNotFound(NotFound):
    """There is no such subsystem."""


class DeviceNotFound(NotFound):
    """There is no such device."""


class DatabaseNotFound(NotFound):
    """There is no such database."""


class EnterpriseExists(Conflict):
    """There is an enterprise with this id already."""


class SubsystemExists(Conflict):
    """There is a subsystem with this id already."""


class DeviceExists(Conflict):
    """There is a device with this id already; devices and databases share their ids."""


class DatabaseExists(Conflict):
    """There is a database with this id already; devices and databases share their ids."""


class SubsystemInUse(Conflict):
    """Devices or messages belong to this subsystem. Move its devices to another one; one with messages stays."""


class MessageNotFound(NotFound):
    """There is no such message for you."""


class IdTaken(Conflict):
    """Another message has this id. Use a new one, or repeat exactly what you sent."""


class NotRequeuable(Conflict):
    """Only a message that ended in Error can go back to the queue; one in doubt is settled with its process."""


class NotWaiting(Conflict):
    """Only a message that waits for a database can be set aside; end the process that holds it first."""


class AlreadySetAside(Conflict):
    """This message is set aside already."""


class NotSetAside(Conflict):
    """This message is not set aside."""


class FileStillMissing(Conflict):
    """The file of this message is still in none of its folders."""


class FileNotAsWritten(Conflict):
    """The file that lies there is not as this message was written."""
