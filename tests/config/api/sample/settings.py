"""The product's own settings with the views of the frame: for servers that a test starts as processes."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "tests.config.api.sample.urls"
