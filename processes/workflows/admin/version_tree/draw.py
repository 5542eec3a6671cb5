"""The tree of versions as SVG: each version a link, returns as branches, the head marked, in the page's colours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from lxml import etree

from processes.workflows.admin.version_tree.layout import Node
from processes.workflows.engine.diagram.svg import SVG, add_element, add_text, format_number

ROW = 46.0
RADIUS = 8.0
MARGIN = 26.0
LETTER = 7.0
"""The width of a digit, as far as one can tell without the font."""


@dataclass(frozen=True)
class Addresses:
    version: Callable[[int], str]
    older: Callable[[int], str]
    """The page of the list that begins below a version."""


@dataclass(frozen=True)
class _Place:
    x: float
    y: float


def draw_tree(nodes: Sequence[Node], titles: Mapping[int, str], addresses: Addresses) -> SafeString:
    """Return the SVG; `titles` say what happened in a version, when, and by whom."""
    places = _place(nodes)
    last = places[nodes[-1].number]
    height = MARGIN * 2 + ROW * max(node.row for node in nodes) + 14
    svg = etree.Element(f"{{{SVG}}}svg", nsmap={None: SVG})
    box = f"0 0 {format_number(last.x + MARGIN + 14)} {format_number(height)}"
    size = {"width": format_number(last.x + MARGIN + 14), "height": format_number(height)}
    for name, value in {**size, "viewBox": box, "role": "group", "aria-label": gettext("Tree of versions")}.items():
        svg.set(name, value)
    # Lines of branches first: the line of the head lies over them where they begin.
    for node in sorted(nodes, key=lambda each: -each.row):
        if node.parent is not None:
            _draw_line(svg, node, places[node.parent], places[node.number])
    for node in nodes:
        if node.hidden:
            _draw_gap(svg, node, places[node.number], addresses.older(node.number))
    for node in nodes:
        is_head = node is nodes[-1]
        link = add_element(svg, "a", href=addresses.version(node.number))
        link.set("class", "pst-node" if node.row == 0 else "pst-node pst-left")
        if is_head:
            link.set("class", "pst-node pst-head")
            link.set("aria-current", "true")
        _draw_node(link, node, places[node.number], titles.get(node.number, ""), is_head=is_head)
    # Every text in it was escaped when it was written.
    return SafeString(etree.tostring(svg, encoding="unicode"))


def _place(nodes: Sequence[Node]) -> dict[int, _Place]:
    """Give every version a column of its own; a number on the line before it needs room, too."""
    step = max(38.0, LETTER * len(str(nodes[-1].number)) + 16)
    widths = [MARGIN, *(step + (_measure(node.hidden) + 6 if node.hidden else 0) for node in nodes[1:])]
    return {node.number: _Place(x, MARGIN + ROW * node.row) for node, x in zip(nodes, accumulate(widths), strict=True)}


def _draw_line(svg: etree._Element, node: Node, begin: _Place, end: _Place) -> None:
    if begin.y == end.y:
        path = f"M{format_number(begin.x)} {format_number(begin.y)}H{format_number(end.x)}"
    else:
        # It leaves its line at once, so that nobody takes it for a part of what comes after on that line.
        turn = begin.x + 24
        bend = f"C{format_number(begin.x + 16)} {format_number(begin.y)} {format_number(begin.x + 8)}"
        path = (
            f"M{format_number(begin.x)} {format_number(begin.y)}{bend} {format_number(end.y)}"
            f" {format_number(turn)} {format_number(end.y)}H{format_number(end.x)}"
        )
    line = add_element(svg, "path", d=path)
    line.set("class", "pst-line" if node.row == 0 else "pst-line pst-left")


def _draw_gap(svg: etree._Element, node: Node, place: _Place, address: str) -> None:
    """Draw how many versions are left out before one, as a link to the list of them."""
    width = _measure(node.hidden)
    left = place.x - RADIUS - 8 - width
    count = number_format(node.hidden, force_grouping=True)
    link = add_element(svg, "a", href=address)
    link.set("class", "pst-gap")
    words = ngettext("%(count)s earlier version", "%(count)s earlier versions", node.hidden) % {"count": count}
    link.set("aria-label", words)
    add_text(link, "title", words)
    add_element(link, "rect", x=left, y=place.y - 9, width=width, height=18, rx=9)
    text = add_text(link, "text", f"+{count}", x=left + width / 2, y=place.y + 4)
    text.set("text-anchor", "middle")


def _draw_node(link: etree._Element, node: Node, place: _Place, title: str, *, is_head: bool) -> None:
    words = gettext("Version %(number)s") % {"number": node.number}
    words = f"{words}: {title}" if title else words
    link.set("aria-label", words)
    add_text(link, "title", words)
    # A larger circle that is not seen: what is touched with a finger.
    reach = add_element(link, "circle", cx=place.x, cy=place.y, r=18)
    reach.set("class", "pst-reach")
    if is_head:
        ring = add_element(link, "circle", cx=place.x, cy=place.y, r=RADIUS + 4)
        ring.set("class", "pst-ring")
    add_element(link, "circle", cx=place.x, cy=place.y, r=RADIUS)
    text = add_text(link, "text", str(node.number), x=place.x, y=place.y + RADIUS + 16)
    text.set("text-anchor", "middle")


def _measure(count: int) -> float:
    return LETTER * len(number_format(count, force_grouping=True)) + 22
