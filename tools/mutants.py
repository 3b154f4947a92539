"""Makes mutants of a Python source: copies with one small fault each.

A mutant that no test notices shows a rule that no test checks. The faults are those that matter in
this code: a reversed comparison, a negated condition, a removed call or assignment, a number off by
one, a misspelt code, an SQL condition that is always true. Messages for people, log lines, crash
points, annotations, asserts and docstrings are skipped.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Mutant", "mutants_of"]

_Replaced: TypeAlias = tuple[ast.AST, str, int | None]  # parent, field, index in the field's list

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_NEVER = {
    "annotation",
    "returns",
    "decorator_list",
    "type_params",
    "bases",
}
_SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")
_WHERE = re.compile(
    r"\bWHERE\s+(.+?)(?=\s*(?:\bORDER\b|\bRETURNING\b|\bGROUP\b|\bLIMIT\b|\)|$))", re.DOTALL
)
_AND = re.compile(r"\s+AND\s+")


@dataclass(frozen=True)
class Mutant:
    """A source with one fault."""

    line: int  # in the original
    before: str  # the code that was changed
    after: str  # the changed code; empty if it was removed
    source: str  # the whole module

    def __str__(self) -> str:
        return f"line {self.line}: {self.before}  ->  {self.after or '(left out)'}"


def mutants_of(source: str) -> Iterator[Mutant]:
    """Yields every mutant of a module, in the order of its lines."""
    tree = ast.parse(source)
    for place, node in _places(tree):
        for fault in _faults(node):
            yield _with_fault(tree, place, node, fault)


def _with_fault(tree: ast.Module, place: _Replaced, node: ast.AST, fault: ast.AST) -> Mutant:
    parent, field, index = place
    memo: dict[int, object] = {}
    twin = copy.deepcopy(tree, memo)
    parent_twin = memo[id(parent)]
    if index is None:
        setattr(parent_twin, field, fault)
    else:
        getattr(parent_twin, field)[index] = fault
    after = "" if isinstance(fault, ast.Pass) else _shown(fault)
    line: int = getattr(node, "lineno", 0)
    return Mutant(line, _shown(node), after, ast.unparse(ast.fix_missing_locations(twin)))


def _shown(node: ast.AST) -> str:
    text = ast.unparse(node)
    text = " ".join(text.split())
    return text if len(text) <= 240 else f"{text[:240]}..."


# --- which nodes are changed ----------------------------------------------------------------------


def _places(parent: ast.AST) -> Iterator[tuple[_Replaced, ast.AST]]:
    """Yields every node that may be changed, with its position in its parent, from the top down."""
    for field, value in ast.iter_fields(parent):
        if field in _NEVER:
            continue
        many = isinstance(value, list)
        for index, node in enumerate(value if many else [value]):
            if isinstance(node, ast.AST) and not _is_skipped(node):
                yield (parent, field, index if many else None), node
                yield from _places(node)


def _is_skipped(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.JoinedStr():
            return True
        case ast.Expr(value=ast.Constant(value=str())):  # a docstring
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="_log")))):
            return True
        # A crash point, used only by tests.
        case ast.Expr(value=ast.Call(func=ast.Name(id="reach"))):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) if name == "__all__":
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Name(id="cast" | "TypeVar")):
            return True
        case _:
            return False


# --- how a node is changed ------------------------------------------------------------------------


def _faults(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the faulty replacements of a node."""
    match node:
        case ast.Compare(left, [operator], [right]):
            yield ast.Compare(left, [_COMPARED[type(operator)]()], [right])
        case ast.Compare(left, operators, rights):
            for index, operator in enumerate(operators):
                turned = [*operators]
                turned[index] = _COMPARED[type(operator)]()
                yield ast.Compare(left, turned, rights)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.UnaryOp(ast.USub(), operand):
            yield operand
        case ast.BinOp(left, operator, right) if type(operator) in _COMPUTED:
            yield ast.BinOp(left, _COMPUTED[type(operator)](), right)
        case ast.AugAssign(target, operator, value) if type(operator) in _COMPUTED:
            yield ast.AugAssign(target, _COMPUTED[type(operator)](), value)
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(str(value)) if _SQL.match(value):
            yield from map(ast.Constant, _without_a_term(value))
        case ast.Constant(str(value)) if value and not any(map(str.isspace, value)):
            yield ast.Constant(f"X{value}")
        case ast.IfExp(test, body, other) if _is_plain(test):
            yield ast.IfExp(_negated(test), body, other)
        case ast.If(test, body, other) if _is_plain(test):
            yield ast.If(_negated(test), body, other)
        case ast.While(test, body, other) if _is_plain(test):
            yield ast.While(_negated(test), body, other)
        case ast.Return(value) if value is not None and not _is_none(value):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.Delete():
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case _:
            pass


def _without_a_term(sql: str) -> Iterator[str]:
    """Yields the statement with one term of its WHERE clause made true."""
    for where in _WHERE.finditer(sql):
        terms = _AND.split(where[1])
        for index, term in enumerate(terms):
            kept = [*terms[:index], f"({term} OR 1)", *terms[index + 1 :]]
            yield sql[: where.start(1)] + " AND ".join(kept) + sql[where.end(1) :]


def _is_plain(test: ast.expr) -> bool:
    """Returns whether no other fault negates this condition."""
    return isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Await | ast.NamedExpr)


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
