from django.db import models
from django.utils.translation import gettext_lazy as _

from processes.workflows.models.instance import WorkflowInstance


class SearchTerm(models.Model):
    """What an instance that has not ended is found by: an element where it stands, or the value of a variable.

    `search_terms.py` derives the terms from a state; they are written with the head that has this state.
    """

    # The only index, for every step writes it: it answers the filters of the list of instances, newest first.
    pk = models.CompositePrimaryKey("term", "instance_id")
    term = models.CharField(max_length=320)
    # No foreign key in the database: the statement that writes a term holds the row of its instance, and what is
    # deleted has ended and has no terms.
    instance = models.ForeignKey(
        WorkflowInstance,
        verbose_name=_("instance"),
        on_delete=models.DO_NOTHING,
        related_name="search_terms",
        db_index=False,
        db_constraint=False,
    )

    class Meta:
        db_table = "workflows_search_term"
        default_permissions = ()

    def __str__(self) -> str:
        return self.term
