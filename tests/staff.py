"""Members of staff for the tests of pages."""

from django.contrib.auth.models import Group, User
from django.test import Client


def member_of(group: str, name: str = "olga") -> User:
    person = User.objects.create_user(name, is_staff=True)
    person.groups.add(Group.objects.get(name=group))
    return person


def signed_in(group: str, name: str = "olga") -> Client:
    """Return the browser of a new member of the group."""
    client = Client()
    client.force_login(member_of(group, name))
    return client
