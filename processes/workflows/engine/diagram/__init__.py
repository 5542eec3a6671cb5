"""SVG diagrams of definitions, drawn from the diagram interchange of the file, with the marks of an instance on them.

The page shows the SVG as an image under a content security policy that loads and runs nothing, so it has no script, no
style sheet and no reference, only shapes with presentation attributes. Content of the file gets into it as text or as
numbers within limits.
"""

from processes.workflows.engine.diagram.draw import draw_diagram
from processes.workflows.engine.diagram.heat import Heat
from processes.workflows.engine.diagram.marks import STATES, MarkLabels, Marks, Note, find_shown_state

__all__ = ["STATES", "Heat", "MarkLabels", "Marks", "Note", "draw_diagram", "find_shown_state"]
