from config.common.errors import ApplicationError, Conflict, NotFound


class DefinitionNotFound(NotFound):
    """Workflow definition not found."""


class RevisionNotFound(NotFound):
    """Revision not found."""


class InstanceNotFound(NotFound):
    """Workflow instance not found."""


class VersionNotFound(NotFound):
    """Version not found."""


class TaskNotFound(NotFound):
    """Task not found."""


class NotExecutable(ApplicationError):
    """This file cannot be executed; the data name each element, its line and what is wrong with it."""

    sample = {
        "problems": [{"element": "check", "line": 12, "message": "There is no way on from here.", "name": "Check"}]
    }


class ScenariosFailed(Conflict):
    """This file does not do what the scenarios of its definition expect. Change the file, or the scenarios first."""

    sample = {"failures": [{"scenario": "a large order", "failure": "Step 2: it did not pass refuse."}]}


class KeyTaken(Conflict):
    """A definition with this key belongs to another enterprise or to none. Give the process another id."""


class KindDiffers(Conflict):
    """This key is that of a decision and the file is not, or the other way round. Give the element another id."""

    sample = {"key": "discount"}


class RevisionConflict(Conflict):
    """Another revision has been published since. Look at it and make the change there; its number is in the data."""

    sample = {"revision": 4}


class PublishedBefore(Conflict):
    """This file has been published before, as the revision in the data: there is nothing new to try."""

    sample = {"revision": 3}


class NothingBeside(Conflict):
    """A shadow runs beside the current revision of a process or case, and there is none. Publish the file instead."""


class ShadowExists(Conflict):
    """Another revision of this definition is on trial. Promote or discard it first; its number is in the data."""

    sample = {"revision": 5}


class TooManyShadows(Conflict):
    """Too many revisions are on trial at once. Promote or discard some first."""

    sample = {"most": 20}


class ShadowNotFound(NotFound):
    """No revision of this definition is on trial. It may have been promoted or discarded."""


class DecisionFailed(Conflict):
    """The decision has no result for these variables; the data name the decision and the reason."""

    sample = {
        "decision": "discount",
        "reason": "The rules 1, 2 match at once, …",
    }


class NoDecision(Conflict):
    """This definition is not a decision: it cannot be evaluated."""


class VersionConflict(Conflict):
    """The instance has changed since. Read it again; its latest version is in the data."""

    sample = {"version": 7}


class NotPossible(Conflict):
    """The instance cannot do that now; the reason is in the data."""

    sample = {"reason": "The task is not open any more."}


class Abandoned(Conflict):
    """The instance has been returned to an earlier version: this task is no longer needed."""


class TaskTaken(Conflict):
    """Somebody else has this task; who it is stands in the data."""

    sample = {"assignee": "anna"}


class NotLocked(Conflict):
    """This worker does not hold the task: its lock has expired, and another worker may have taken it."""


class DraftNotFound(NotFound):
    """Draft not found. It may have been published or discarded."""


class DraftChanged(Conflict):
    """The draft has been saved in another window since. Reload the page to go on from there."""

    sample = {"version": 7}


class TooManyDrafts(Conflict):
    """There are too many drafts. Publish or discard some first."""

    sample = {"most": 200}


class BatchNotFound(NotFound):
    """Batch not found. It may have been too old to be kept."""


class TooManyInstances(Conflict):
    """These are more instances than one batch may have. Narrow down the filter."""

    sample = {"most": 10_000}


class TooManyBatches(Conflict):
    """There are too many batches. Wait until one has ended, or for the old ones to expire."""

    sample = {"most": 20}
