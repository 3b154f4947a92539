"""The documentation as a whole: its entrance and its site list every page, in four parts."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools import docs_site

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
SITE = (ROOT / "mkdocs.yml").read_text()
NAV = re.findall(r": (\S+\.md)$", SITE.partition("\nnav:\n")[2], re.MULTILINE)


def anchors(page: Path) -> list[str]:
    """Returns the anchors of a page's headings."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [
        docs_site.slug(heading, "-") for heading in re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    ]


def test_the_navigation_of_the_site_lists_every_page_once() -> None:
    assert sorted(NAV) == sorted(PAGES)


def test_the_entrance_is_short_and_links_to_every_page() -> None:
    text = (DOCS / "README.md").read_text()
    assert len(text.splitlines()) < 60
    assert {*re.findall(r"\]\(([\w/-]+\.md)\)", text)} == PAGES - {"README.md"}


def test_every_page_is_in_one_of_the_four_parts() -> None:
    parts = {page.partition("/")[0] for page in PAGES - {"README.md"}}
    assert parts == {"tutorial", "how-to", "explanation", "reference"}


def test_the_readme_of_the_repository_is_short_and_links_to_the_four_parts() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) < 150
    for part in ("tutorial/", "how-to/", "explanation/", "reference/"):
        assert f"](docs/{part}" in text


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_a_page_outside_of_the_documentation_links_to_pages_and_headings_that_exist(
    name: str,
) -> None:
    for file, anchor in re.findall(r"\]\((docs/[^)#\s]+)#?([^)\s]*)\)", (ROOT / name).read_text()):
        assert (ROOT / file).exists(), file
        assert not anchor or anchor in anchors(ROOT / file), f"{file}#{anchor}"


def test_files_that_name_a_page_name_one_that_exists() -> None:
    named = re.compile(r"\bdocs/[\w/-]+\.md\b")
    for folder in (
        "src/turnwire",
        "tools",
        "tests",
        "examples",
        "clients/typescript/src",
        "clients/react/src",
        "web/src",
    ):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in (".py", ".ts", ".tsx") and path.name != "test_release.py":
                for page in named.findall(path.read_text(encoding="utf-8")):
                    assert (ROOT / page).exists() or page == "docs/parse.md", f"{path}: {page}"


def test_the_site_loads_nothing_from_other_servers() -> None:
    assert "font: false" in SITE
    settings = SITE.partition("\nnav:\n")[0]
    assert "http" not in settings
    assert "repo_url" not in settings  # its number of stars would be fetched


def test_the_site_has_the_anchors_of_the_repository_host() -> None:
    assert docs_site.slug("3. After a `restart`", "-") == "3-after-a-restart"
    assert docs_site.slug("Who's there? (v2)", "-") == "whos-there-v2"


def test_links_that_leave_the_documentation_lead_to_the_repository() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="how-to/upgrade.md"))
    shown = docs_site.on_page_markdown(
        "[a](../../CHANGELOG.md#x) [b](your-login.md#y) [c](https://example.org/d.md) [e](#f)\n"
        "```mermaid\nstateDiagram-v2\n```\n",
        page=page,
    )
    assert shown == (
        f"[a]({docs_site.REPOSITORY}CHANGELOG.md#x) [b](your-login.md#y) "
        "[c](https://example.org/d.md) [e](#f)\n"
    )
