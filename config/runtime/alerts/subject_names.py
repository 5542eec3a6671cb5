"""Names of what the alerts of a node are about: engines, disks, background work."""

from collections.abc import Collection

from django.urls import reverse
from django.utils.translation import gettext

from config.runtime.alerts.engines import NAMES
from notifications.names import Named, Names, parts_of, register_names

ENGINES, DISKS, VOLUMES, THREADS = "engine/", "disk/", "volume/", "thread/"


def name_subjects(subjects: Collection[str]) -> dict[str, Named]:
    start_page = reverse("admin:index")
    engines = parts_of(subjects, ENGINES).items()
    found = {subject: Named(NAMES[engine], start_page) for subject, engine in engines if engine in NAMES}
    words_of = {
        DISKS: gettext("disk of %(name)s"),
        VOLUMES: gettext("message volume on %(name)s"),
        THREADS: gettext("background work “%(name)s”"),
    }
    for prefix, words in words_of.items():
        for subject, name in parts_of(subjects, prefix).items():
            found[subject] = Named(words % {"name": name}, start_page)
    return found


def register_node_names() -> None:
    register_names(Names(name_subjects))
