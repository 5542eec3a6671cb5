"""The version of the product, as `/api/v1/schema/`, `/metrics` and `manage.py --version` say it."""

VERSION = "1.1.0"
