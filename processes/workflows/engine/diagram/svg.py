"""Elements of an SVG. All output is built here as a tree of elements, so that texts of the file are always escaped."""

from lxml import etree

SVG = "http://www.w3.org/2000/svg"


def add_element(parent: etree._Element, tag: str, **attributes: str | float) -> etree._Element:
    """Add an element; underscores in the names of attributes are hyphens."""
    child = etree.SubElement(parent, f"{{{SVG}}}{tag}")
    for name, value in attributes.items():
        child.set(name.replace("_", "-"), value if isinstance(value, str) else format_number(value))
    return child


def add_text(parent: etree._Element, tag: str, text: str, **attributes: str | float) -> etree._Element:
    child = add_element(parent, tag, **attributes)
    child.text = text
    return child


def add_group(
    parent: etree._Element, x: float, y: float, scale: float = 1, **attributes: str | float
) -> etree._Element:
    """Add a group with an origin, and a scale, of its own."""
    move = f"translate({format_number(x)} {format_number(y)})"
    size = "" if scale == 1 else f" scale({format_number(scale)})"
    return add_element(parent, "g", transform=move + size, **attributes)


def make_path(*points: tuple[float, float], closed: bool = False) -> str:
    """Write the data of a path through the points."""
    corners = [f"{format_number(x)} {format_number(y)}" for x, y in points]
    return "M" + "L".join(corners) + ("Z" if closed else "")


def format_number(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
