"""Every bound that a caller meets, in one table made from the constants and settings that enforce it.

`manage.py show_bounds` prints it; `docs/bounds.md` is what it prints, and a test keeps it so. Others go one past each
row. The limits of single fields are read off the OpenAPI document, where they are written for callers anyway.
"""

from config.runtime.bounds.bound import Bound
from config.runtime.bounds.document import bounds, render
from config.runtime.bounds.fields import FieldBound, field_bounds

__all__ = ["Bound", "FieldBound", "bounds", "field_bounds", "render"]
