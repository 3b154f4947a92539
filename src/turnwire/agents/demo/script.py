"""Finds the scenes that a prompt names, and stores the place in the script in question ids."""

from __future__ import annotations

import re
from hashlib import sha256

from msgspec import Struct

from turnwire.agents.demo.texts import Language, language_of

__all__ = ["SCENES", "Place", "Scene", "scenes_of", "short_key"]


class Scene(Struct, frozen=True):
    """A scene and the words that choose it."""

    name: str
    letter: str  # stands for the scene inside an id
    english: tuple[str, ...]
    chinese: tuple[str, ...]


SCENES = [
    Scene("answer", "w", (), ()),  # for a prompt without any of these words
    Scene("help", "h", ("help",), ("帮助",)),
    Scene("think", "t", ("think", "thinking"), ("思考", "想一想")),
    Scene("tool", "x", ("tool", "tools", "command"), ("工具", "命令")),
    Scene("plan", "p", ("plan", "todo"), ("计划", "待办")),
    Scene("subagent", "s", ("subagent", "sub-agent", "helper"), ("子代理", "助手")),
    Scene("question", "q", ("ask", "question"), ("问",)),
    Scene("form", "f", ("form",), ("表单",)),
    Scene("permission", "a", ("permission", "delete"), ("权限", "许可", "删除")),
    Scene("client_tool", "c", ("browser", "front-end"), ("前端", "浏览器")),
    Scene("background", "b", ("background",), ("后台",)),
    Scene("long", "l", ("long",), ("长文", "很长")),
    Scene("error", "e", ("error", "fail"), ("错误", "失败")),
]
_READ = 4000  # characters of a prompt that are searched for words
_TOUR = ["think", "tool", "plan", "subagent", "question", "permission", "background", "long"]
_EVERYTHING = re.compile(r"\b(?:everything|tour)\b|全部|所有", re.IGNORECASE)
_NAMES = {scene.letter: scene.name for scene in SCENES}
_LETTERS = {scene.name: scene.letter for scene in SCENES}


def _pattern(scene: Scene) -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in scene.english)
    return re.compile(rf"\b(?:{words})\b|{'|'.join(scene.chinese)}", re.IGNORECASE)


_PATTERNS = {scene.name: _pattern(scene) for scene in SCENES if scene.english}


def scenes_of(prompt: str) -> list[str]:
    """Returns the scenes that a prompt names, each once, in the order of their first words."""
    prompt = prompt[:_READ]
    if _EVERYTHING.search(prompt):
        return list(_TOUR)
    found = {
        name: match.start() for name, word in _PATTERNS.items() if (match := word.search(prompt))
    }
    return sorted(found, key=found.__getitem__) or ["answer"]


def short_key(*names: str) -> str:
    """Returns a short hash of the names."""
    return sha256("/".join(names).encode()).hexdigest()[:10]


class Place(Struct, frozen=True):
    """A place in a script. A question's id contains it, so that any process can continue there."""

    turn: str  # the turn's key, a part of every id of the turn
    language: Language
    scenes: list[str]
    position: int  # index of the current scene
    number: int  # number of ids used in this turn

    @classmethod
    def begin(cls, prompt: str, turn: str) -> Place:
        """Returns the start of the script of a prompt."""
        return cls(turn, language_of(prompt), scenes_of(prompt), 0, 0)

    @property
    def scene(self) -> str:
        """Returns the name of the current scene."""
        return self.scenes[self.position] if self.position < len(self.scenes) else ""

    def to_id(self) -> str:
        """Returns the place as the id of a tool call, such as `demo_7f3a9c2e10_en_tqx_1_5`."""
        letters = "".join(_LETTERS[name] for name in self.scenes)
        return f"demo_{self.turn}_{self.language}_{letters}_{self.position}_{self.number}"

    @classmethod
    def from_id(cls, tool_use_id: str) -> Place | None:
        """Parses an id made by `to_id`. Returns None if it is another id."""
        match = re.fullmatch(r"demo_([0-9a-f]{10})_(en|zh)_([a-z]+)_(\d+)_(\d+)", tool_use_id)
        if match is None or not set(match[3]) <= _NAMES.keys():
            return None
        language: Language = "zh" if match[2] == "zh" else "en"
        scenes = [_NAMES[letter] for letter in match[3]]
        return cls(match[1], language, scenes, int(match[4]), int(match[5]))
