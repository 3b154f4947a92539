"""`tools.mutants`: the faults that are made, and the code that is left alone."""

from __future__ import annotations

import ast

import pytest

from tools.mutants import mutants_of


def faults_of(source: str) -> set[str]:
    return {mutant.after for mutant in mutants_of(source)}


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("x = a < b", {"a <= b"}),
        ("x = a is b", {"a is not b"}),
        ("x = a < b <= c", {"a <= b <= c", "a < b < c"}),
        ("x = a and b", {"a or b"}),
        ("x = not a", {"a"}),
        ("x = a + 1", {"a - 1", "2"}),
        ("x += y", {"x -= y"}),
        ("x = True", {"False"}),
        ("x = 'CODE'", {"'XCODE'"}),
        ("if a:\n    b = c", {"if not a: b = c"}),
        ("def f():\n    return a", {"return None"}),
        ("f()", {""}),
        ("raise a", {""}),
        ("a.b = c", {""}),
        ("while a < b:\n    break", {"a <= b", "continue"}),
    ],
)
def test_each_fault_is_made_once(source: str, faults: set[str]) -> None:
    assert faults_of(source) == faults


def test_each_term_of_a_where_is_made_true_and_still_takes_its_parameter() -> None:
    statement = "UPDATE a SET b = ? WHERE c = ? AND d IS NULL RETURNING e"
    assert faults_of(f"x = {statement!r}") == {
        "'UPDATE a SET b = ? WHERE (c = ? OR 1) AND d IS NULL RETURNING e'",
        "'UPDATE a SET b = ? WHERE c = ? AND (d IS NULL OR 1) RETURNING e'",
    }


@pytest.mark.parametrize(
    "source",
    [
        "'''A docstring.'''",
        "import a",
        "x: Literal['a']",
        "assert a < b",
        "x = 'A sentence for people.'",
        "_log.warning(f'{1 + 1}')",
        "reach(CrashPoint.CLAIMED)",
        "__all__ = ['a']",
        "x = cast('A', a)",
    ],
)
def test_code_without_behaviour_is_not_mutated(source: str) -> None:
    assert faults_of(source) == set()


def test_a_mutant_is_the_whole_module_with_one_fault_and_knows_its_line() -> None:
    (mutant,) = mutants_of("def f(a, b):\n    if a == b:\n        x = a\n")
    assert (mutant.line, mutant.before, mutant.after) == (2, "a == b", "a != b")
    assert mutant.source == ast.unparse(ast.parse("def f(a, b):\n    if a != b:\n        x = a\n"))
