"""Writes the parts of the documentation that are generated from the code.

`<!-- generated:turnwire.core.events -->` in a page begins a part that ends with `<!-- end -->`.
The part is written from that module: its types in the order of the source, with docstrings. The
source's lines `# --- heading ---` become headings. The trailing comment of a field is its meaning.

`<!-- drawn:turnwire.core.conversation.transitions -->` begins a part with that module's
`TRANSITIONS`, as a diagram and as a table. A transition is a state, or a state and an action.

`<!-- public:turnwire -->` begins a part with the public names of that package.

A `console` block shows a command after `$ `; the output of the command is written below it.

    python -m tools.docs            rewrite the pages
    python -m tools.docs --check    only report pages that are out of date
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
import tokenize
from bisect import bisect
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

import msgspec
from msgspec import NODEFAULT, UNSET, Struct, structs

from tools.public_names import listing

ROOT = Path(__file__).parent.parent

GENERATED = re.compile(r"<!-- generated:([\w.]+) -->\n(.*?)<!-- end -->", re.DOTALL)
DRAWN = re.compile(r"<!-- drawn:([\w.]+) -->\n(.*?)<!-- end -->", re.DOTALL)
PUBLIC = re.compile(r"<!-- public:([\w.]+) -->\n(.*?)<!-- end -->", re.DOTALL)
CONSOLE = re.compile(r"^```console\n\$ ([^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

_SECTION = re.compile(r"# --- (.+?) -+$")
_NOQA = re.compile(r"noqa: ?[A-Z]+\d+(, ?[A-Z]+\d+)*")
_JSON_WORDS = {
    "Any": "any",
    "Raw": "any",
    "bool": "boolean",
    "bytes": "string",
    "float": "number",
    "int": "integer",
    "str": "string",
}


def main(arguments: list[str]) -> int:
    """Rewrites the pages, or compares them with --check.

    Returns 1 if --check finds an outdated page.
    """
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    pages = {path: path.read_text() for path in paths}
    written = write(pages)
    stale = [path for path in pages if pages[path] != written[path]]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date: run `make docs`", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(written[path])
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


def write(pages: dict[Path, str]) -> dict[Path, str]:
    """Returns the pages with every generated part rewritten."""
    places = {module: path for path, text in pages.items() for module, _ in GENERATED.findall(text)}

    def part(match: re.Match[str]) -> str:
        body = Vocabulary(match[1], places).page()
        return f"<!-- generated:{match[1]} -->\n\n{body}\n<!-- end -->"

    def drawn(match: re.Match[str]) -> str:
        table = importlib.import_module(match[1]).TRANSITIONS
        return f"<!-- drawn:{match[1]} -->\n\n{diagram(table)}\n\n{grid(table)}\n\n<!-- end -->"

    def public(match: re.Match[str]) -> str:
        return f"<!-- public:{match[1]} -->\n\n{listing(match[1])}\n<!-- end -->"

    def shown(match: re.Match[str]) -> str:
        return f"```console\n$ {match[1]}\n{output(match[1])}```"

    return {
        path: CONSOLE.sub(shown, PUBLIC.sub(public, DRAWN.sub(drawn, GENERATED.sub(part, text))))
        for path, text in pages.items()
    }


def diagram(table: Mapping[Any, Mapping[Any, str | tuple[str, str]]]) -> str:
    """Returns a table of states as a diagram: one arrow for each change, with all its causes."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {next(iter(table))}"]
    for state, row in table.items():
        ways: dict[str, list[str]] = {}
        for cause, step in row.items():
            to, _ = _step(step)
            if to != state:
                ways.setdefault(to, []).append(cause)
        lines += [f"    {state} --> {to}: {'<br>'.join(causes)}" for to, causes in ways.items()]
    return "\n".join([*lines, "```"])


def grid(table: Mapping[Any, Mapping[Any, str | tuple[str, str]]]) -> str:
    """Returns the same as a table: the next state for each state and cause."""
    causes = dict.fromkeys(cause for row in table.values() for cause in row)
    head = [f"| what happens | {' | '.join(f'in `{state}`' for state in table)} |"]
    head.append("|---" * (len(table) + 1) + "|")
    rows = [
        f"| `{cause}` | {' | '.join(_cell(row.get(cause)) for row in table.values())} |"
        for cause in causes
    ]
    return "\n".join([*head, *rows])


def _step(step: str | tuple[str, str]) -> tuple[str, str]:
    return (step, "") if isinstance(step, str) else step


def _cell(step: str | tuple[str, str] | None) -> str:
    to, act = _step(step or "")
    return (f"`{to}`" if to else "") + (f", {act}" if act else "")


def output(command: str) -> str:
    """Returns the output of a command, on a terminal of 80 columns without color."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1"}
    run = subprocess.run(
        command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return run.stdout


class Vocabulary:
    """The types of one module: words come from its source, facts from msgspec."""

    def __init__(self, name: str, places: dict[str, Path]) -> None:
        self.module: ModuleType = importlib.import_module(name)
        source = inspect.getsource(self.module)
        self.tree = ast.parse(source)
        self.comments = {
            token.start[0]: token.string
            for token in tokenize.generate_tokens(StringIO(source).readline)
            if token.type == tokenize.COMMENT
        }
        self.places = places
        self.imports = dict(_imports(self.tree))
        self.public: set[str] = set(self.module.__all__)
        self.private_aliases = {
            name: node.value
            for node in self.tree.body
            if _is_alias(node)
            and node.value
            and (name := ast.unparse(node.target)) not in self.public
        }

    def page(self) -> str:
        """Returns the documentation of the module as Markdown."""
        parts = [(line, "") for line, text in self.comments.items() if _SECTION.match(text)]
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                parts.append((node.lineno, self._class(node)))
            elif _is_alias(node):
                parts.append((node.lineno, self._alias(node)))
            elif isinstance(node, ast.Assign):
                parts.append((node.lineno, self._constant(node.targets[0], node.value)))
            elif isinstance(node, ast.AnnAssign) and node.value:
                parts.append((node.lineno, self._constant(node.target, node.value)))
        page: list[str] = []
        heading = ""
        for line, text in sorted(parts):
            if found := _SECTION.match(self.comments.get(line, "")):
                heading = f"### {found[1][0].upper()}{found[1][1:]}\n"
            elif text:  # a heading without content is not shown
                page += [heading, text] if heading else [text]
                heading = ""
        return "\n".join(page)

    def _alias(self, node: ast.AnnAssign) -> str:
        name = ast.unparse(node.target)
        if name not in self.public or node.value is None:
            return ""
        return f"#### {name}\n\nOne of {self._type(node.value, ', ')}.\n"

    def _constant(self, target: ast.expr, value: ast.expr) -> str:
        """Returns a mapping as tables: one for each group, separated by comments in the source."""
        name = ast.unparse(target)
        if name not in self.public or not isinstance(value, ast.Dict | ast.DictComp):
            return ""
        items = list(getattr(self.module, name).items())
        if not all(isinstance(meaning, str | Struct) for _, meaning in items):
            return ""  # a table for programs, not for readers
        titles = self._titles(value) if isinstance(value, ast.Dict) else {}
        parts = [f"#### {name}\n"]
        starts = sorted({0, *titles})
        for start, end in zip(starts, [*starts[1:], len(items)], strict=True):
            title = [f"{titles[start]}\n"] if start in titles else []
            parts += [*title, _mapping_table(items[start:end])]
        return "\n".join(parts)

    def _titles(self, value: ast.Dict) -> dict[int, str]:
        """Returns the full-line comments in a mapping, by the index of the item below."""
        lines = [key.lineno for key in value.keys if key]
        inside = range(value.lineno, lines[-1] if lines else value.lineno)
        return {
            bisect(lines, line): self.comments[line].lstrip("# ")
            for line in inside
            if line in self.comments and line not in lines
        }

    def _class(self, node: ast.ClassDef) -> str:
        kind = getattr(self.module, node.name)
        if not issubclass(kind, Struct):
            return ""
        doc = inspect.cleandoc(ast.get_docstring(node) or "")
        if node.name not in self.public:
            # A private base: its fields are documented once, with the types that have them.
            carriers = self._carriers(kind)
            if not carriers or not kind.__struct_fields__:
                return ""
            title = doc.rstrip(".") or "Common fields"
            return f"#### {title}\n\n{carriers}\n\n{_table(self._rows(node, kind))}"
        rows = self._rows(node, kind)
        # A base is never sent itself. Some unknown types keep the tag that they were received with.
        is_base = self._is_base(kind)
        tag = "" if is_base or "writes it as it came" in doc else _tag(kind)
        parts = [f"#### {node.name}\n", f"{tag}{doc}\n"]
        if is_base:
            parts.append(f"{self._carriers(kind)}\n")
        base = kind.__bases__[0]
        if rows:
            parts.append(_table(rows))
            if self.imports.get(base.__name__) in self.places:
                address = self._address(base.__name__)
                parts.append(f"The other fields are those of [{base.__name__}]({address}).\n")
        elif structs.fields(base) and base.__module__ != kind.__module__:
            # The base is from another module, so its fields are not on this page: the Unknown
            # types.
            parts.append(_table(Vocabulary(base.__module__, self.places).rows_of(base)))
        elif base.__name__ in self.public:
            parts.append(
                f"The fields are those of [{base.__name__}]({self._address(base.__name__)}).\n"
            )
        return "\n".join(parts)

    def _is_base(self, kind: type[Struct]) -> bool:
        """Returns whether other types of the module add fields to this one's."""
        return any(
            kind in heir.__bases__ and len(heir.__struct_fields__) > len(kind.__struct_fields__)
            for heir in map(vars(self.module).get, self.public)
            if inspect.isclass(heir) and issubclass(heir, Struct)
        )

    def _carriers(self, base: type[Struct]) -> str:
        """Returns which types have a base's fields: most types with its tag, or a list of names."""
        field = base.__struct_config__.tag_field
        tagged = {
            name: issubclass(kind, base)
            for name in self.module.__all__
            if inspect.isclass(kind := getattr(self.module, name))
            and issubclass(kind, Struct)
            and kind is not base
            and kind.__struct_config__.tag_field == field
        }
        heirs, others = (
            ", ".join(f"[{n}]({self._address(n)})" for n in tagged if tagged[n] is wanted)
            for wanted in (True, False)
        )
        if not heirs:
            return ""
        if field is None or sum(tagged.values()) * 2 < len(tagged):
            return f"Carried by {heirs}."
        return f"Carried by every type here with a `{field}`{others and f', but {others}'}."

    def rows_of(self, kind: type[Struct]) -> list[str]:
        """Returns the table rows of a type of this module."""
        (node,) = (
            n for n in self.tree.body if isinstance(n, ast.ClassDef) and n.name == kind.__name__
        )
        return self._rows(node, kind)

    def _rows(self, node: ast.ClassDef, kind: type[Struct]) -> list[str]:
        known = {field.name: field for field in structs.fields(kind)}
        return [
            f"| `{known[name].encode_name}` | {self._type(item.annotation, ' or ')} "
            f"| {_default(known[name])} | {self._meaning(item)} |"
            for item in node.body
            if isinstance(item, ast.AnnAssign) and (name := ast.unparse(item.target)) in known
        ]

    def _meaning(self, node: ast.AnnAssign) -> str:
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        said = " ".join(self.comments[line] for line in lines if line in self.comments)
        words = _NOQA.sub("", said).replace("#", " ").strip()
        if words.startswith("(") and words.endswith(")"):
            words = words[1:-1]  # an explanation in parentheses after a noqa
        return words.replace("|", "\\|")

    def _type(self, node: ast.expr, between: str) -> str:
        """Returns a type annotation in the words of JSON, with links to the types it names."""
        match node:
            case ast.BinOp(left=left, right=right):
                sides = [self._type(side, between) for side in (left, right)]
                return between.join(side for side in sides if side)
            case ast.Constant(value=None):
                return "null"
            case ast.Constant(value=str(value)):
                return f"`{value}`"
            case ast.Subscript(value=ast.Name(id="list"), slice=item):
                return f"list of {self._type(item, ' or ')}"
            case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[_, item])):
                return f"object of {self._type(item, ' or ')}"
            case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=values)):
                return between.join(self._type(value, between) for value in values)
            case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, more])):
                return self._annotated(kind, more, between)
            case ast.Name(id="UnsetType"):
                return ""  # the field may be absent: the column of defaults says so
            case ast.Name(id=name) if name in _JSON_WORDS:
                return _JSON_WORDS[name]
            case ast.Name(id=name) if name in self.private_aliases:
                return self._type(self.private_aliases[name], between)
            case ast.Name() | ast.Attribute():
                name = ast.unparse(node)
                return f"[{name.rpartition('.')[2]}]({self._address(name)})"
            case _:
                raise ValueError(f"no words for the type {ast.unparse(node)}")

    def _annotated(self, kind: ast.expr, more: ast.expr, between: str) -> str:
        """Returns an annotated type: the values it knows, or its constraint."""
        said = self._type(kind, between)
        match more:
            case ast.Call(func=ast.Name(id="known"), args=[values]):
                return f"{self._type(values, between)} or another {said}"
            case ast.Call(keywords=[ast.keyword(arg="min_length", value=ast.Constant(value=1))]):
                return f"non-empty {said}"
            case ast.Call(keywords=[ast.keyword(arg="ge", value=least), *_]):
                return f"{said} from {ast.unparse(least)}"
            case ast.Call(keywords=[ast.keyword(arg="pattern")]):
                return said  # the comment of the field describes the format
            case ast.Call(func=ast.Name(id="_default")):
                return said  # the column of defaults says so
            case _:
                raise ValueError(f"no words for {ast.unparse(more)}")

    def _address(self, name: str) -> str:
        """Returns the link to a type, on this page or on another one."""
        qualifier, _, last = name.rpartition(".")
        here = self.module.__name__
        there = self.imports.get(qualifier or name, here)
        page, folder = self.places[there], self.places[here].parent
        return (
            f"{'' if page == self.places[here] else os.path.relpath(page, folder)}#{last.lower()}"
        )


def _is_alias(node: ast.stmt) -> TypeGuard[ast.AnnAssign]:
    return isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yields each imported name with its module: `ContentBlock`, or `ev` for an imported module."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield alias.asname or alias.name, whole if whole in sys.modules else node.module


def _tag(kind: type[Struct]) -> str:
    config = kind.__struct_config__
    return f'On the wire `"{config.tag_field}": "{config.tag}"`. ' if config.tag else ""


def _default(field: structs.FieldInfo) -> str:
    if field.required:
        return "required"
    if field.default is UNSET:
        return "absent"
    value = field.default_factory() if field.default is NODEFAULT else field.default
    return f"`{msgspec.json.encode(value).decode()}`"


def _mapping_table(items: list[tuple[Any, Any]]) -> str:
    """Returns a table of codes: each has a text, or a struct with a field for each column."""
    columns = ["meaning"]
    if isinstance(items[0][1], Struct):
        columns = [field.replace("_", " ") for field in items[0][1].__struct_fields__]
    head = [f"| {' | '.join(['code', *columns])} |", "|---" * (len(columns) + 1) + "|"]
    rows = [f"| {' | '.join([f'`{key}`', *_cells(value)])} |" for key, value in items]
    return "\n".join([*head, *rows, ""])


def _cells(value: Any) -> list[str]:
    if not isinstance(value, Struct):
        return [str(value)]
    return [{True: "yes", False: "no"}.get(each, each) for each in structs.astuple(value)]


def _table(rows: list[str]) -> str:
    return "\n".join(["| field | type | default | meaning |", "|---|---|---|---|", *rows, ""])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
