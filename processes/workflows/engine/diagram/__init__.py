"""The drawing of a definition: SVG made from the diagram interchange of its file, with the work of an instance on it.

The page shows it as an image, under a policy that loads nothing and runs nothing: so it carries no script, no style
sheet and no reference, only shapes with presentation attributes. What stands in the file reaches it as text or as a
number within limits.
"""

from processes.workflows.engine.diagram.draw import draw_diagram
from processes.workflows.engine.diagram.marks import STATES, MarkLabels, Marks, find_shown_state

__all__ = ["STATES", "MarkLabels", "Marks", "draw_diagram", "find_shown_state"]
