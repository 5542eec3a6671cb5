"""Write the figures of the last run into the README: `make figures`, after `make bench`."""

from pathlib import Path

from bench.figure import Figure, load

README = Path("README.md")
RESULT = Path("var") / "bench.json"
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->"
HEAD = "| figure | ratio | must | aims at | ours | yardstick |\n| --- | --- | --- | --- | --- | --- |\n"


def main() -> None:
    text = README.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(before + BEGIN + HEAD + "".join(map(row, load(RESULT))) + END + after)


def row(figure: Figure) -> str:
    sign = "≤" if figure.at_most else "≥"
    ratio = f"**{figure.ratio:.2f}**" if figure.holds else f"{figure.ratio:.2f}, short"
    return (
        f"| {figure.name} | {ratio} | {sign} {figure.must:g} | {sign} {figure.aims:g} "
        f"| {figure.ours:,.1f} {figure.unit} | {figure.yardstick:,.1f} {figure.unit} |\n"
    )


if __name__ == "__main__":
    main()
