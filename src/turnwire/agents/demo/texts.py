"""The texts of the demo in English and Chinese."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

__all__ = ["TEXTS", "Language", "language_of", "pieces"]

Language: TypeAlias = Literal["en", "zh"]

_CHINESE = re.compile("[\u3400-\u9fff]")
_PIECE = re.compile("[\u3000-\u9fff\uff00-\uffef]{1,3}|[^\\s\u3000-\u9fff\uff00-\uffef]+\\s*|\\s+")


def language_of(prompt: str) -> Language:
    """Returns the language of the answer: Chinese if the prompt has Chinese characters."""
    return "zh" if _CHINESE.search(prompt) else "en"


def pieces(text: str) -> list[str]:
    """Splits a text into pieces as a model streams them: single words or a few characters."""
    return _PIECE.findall(text)


_EN = {
    "hello": """\
Hello! I am the **demo agent** of Turnwire. I need no key and no network, and I do nothing real:
I only show what an agent can do, so that you can see how it looks.

Put one of these words into a message, or several of them:

| word | what you will see |
|---|---|
| `think` | reasoning before the answer |
| `tool` | a command with its output, as it comes |
| `ask` | a question that waits for you, over a restart as well |
| `form` | several questions at once, which you may skip |
| `permission` | a call that needs your permission |
| `browser` | a call of a tool that your front end offers |
| `plan` | a to-do list that advances |
| `subagent` | a helper with a voice of its own |
| `background` | work that goes on after the turn |
| `long` | a long answer, good to interrupt |
| `error` | a turn that fails |
| `everything` | a tour of all of these |
""",
    "you_said": "\nYou said: *{said}*",
    "done": "That was it. Say `help` to see what else there is.",
    "thinking": "The person wants to see me think. First I look at what was asked, then at what I know "
    "about it, then I weigh both. I am a demo, so this is soon done.",
    "after_thinking": "I have thought about it: **42** is still a good answer.",
    "before_tool": "I will look at the files first.",
    "tool_description": "List the files",
    "tool_output": "total 3\n-rw-r--r--  1 demo  1204 README.md\n-rw-r--r--  1 demo   310 notes.txt\n"
    "drwxr-xr-x  4 demo   128 src\n",
    "after_tool": "There are **three** of them: `README.md`, `notes.txt` and `src`.",
    "before_client_tool": "Your front end can do that: I will call its tool `{tool}`.",
    "after_client_tool": "The front end has answered: {result}",
    "no_client_tools": "This front end offers no tools, so there is nothing that I could call.",
    "before_question": "Before I go on I have to know something.",
    "question": "Which colour shall it be?",
    "question_header": "Colour",
    "red": "Red",
    "red_why": "like a fire engine",
    "green": "Green",
    "green_why": "like a meadow",
    "blue": "Blue",
    "blue_why": "like the sky",
    "question_sizes": "And in which sizes?",
    "question_sizes_header": "Sizes",
    "small": "Small",
    "large": "Large",
    "answered": "The person answered: {answer}",
    "after_question": "**{answer}** it is. Thank you!",
    "after_nothing": "Then I choose myself.",
    "before_permission": "I would like to clean up. That needs your permission.",
    "permission_title": "Delete the folder build",
    "permission_description": "Deletes build with everything in it. The demo only pretends to.",
    "permission_reason": "The command deletes files.",
    "deleting": "removed 'build/app.o'\nremoved 'build/app'\nremoved directory 'build'\n",
    "allowed": "Done. I ran `{command}`, or rather: I pretended to.",
    "denied_result": "The person said no: {reason}",
    "no_reason": "no reason given",
    "denied": "All right, I leave it as it is.",
    "before_plan": "Let me make a plan.",
    "step_1": "Look around",
    "step_1_active": "Looking around",
    "step_2": "Change one thing",
    "step_2_active": "Changing one thing",
    "step_3": "See that it works",
    "step_3_active": "Seeing that it works",
    "plan_saved": "The list was updated.",
    "after_plan": "All three steps are done.",
    "before_subagent": "I will send a helper.",
    "helper_task": "Count the words of the notes",
    "helper_prompt": "Please count the words in notes.txt and tell me the number.",
    "helper_starts": "I count them.",
    "helper_output": "48 notes.txt",
    "helper_report": "There are 48 words in notes.txt.",
    "after_subagent": "My helper counted **48** words.",
    "before_background": "This takes longer, so it goes on in the background.",
    "background_task": "Search the whole archive",
    "background_prompt": "Please search the archive for the word Turnwire.",
    "background_started": "It runs in the background as task {task}.",
    "after_background": "It has started. I will tell you when it is done; you can go on meanwhile.",
    "background_looks": "I am searching.",
    "background_report": "Found 3 places in 1,024 files.",
    "background_over": "The background work is done: **3** places in 1,024 files.",
    "before_error": "I will now try something that cannot work, and",
    "error": "The demo failed, as it was asked to.",
    "long_title": "## A long answer",
    "long_part": "**{number}.** Streams are rivers of small pieces. Each of them is worth little, but whoever "
    "keeps them in order has a text in the end. If you stop me now, what was said so far stays, and "
    "the turn ends as one that was interrupted.",
    "interrupted": "Interrupted by the person.",
    "interrupt_note": "[Request interrupted by user]",
    "told": "You answered a question that I do not know any more. Your answer was: {answer}",
}

_ZH = {
    "hello": """\
你好！我是 Turnwire 的**演示代理**。我不需要密钥，也不需要网络，也不会真的做任何事：
我只展示一个代理能做什么，让你看看它的样子。

在消息里写下面的一个或几个词：

| 词 | 你会看到什么 |
|---|---|
| `思考` | 回答之前的推理 |
| `工具` | 一条命令和它的实时输出 |
| `提问` | 一个等你回答的问题，重启之后也在 |
| `表单` | 一次问几个问题，可以跳过 |
| `权限` | 一个需要你许可的调用 |
| `前端` | 调用你的前端提供的工具 |
| `计划` | 一个逐步推进的待办列表 |
| `子代理` | 一个有自己声音的助手 |
| `后台` | 本轮结束后继续进行的工作 |
| `长文` | 一个很长的回答，适合打断 |
| `错误` | 失败的一轮 |
| `全部` | 以上全部 |
""",
    "you_said": "\n你说的是：*{said}*",
    "done": "就是这些。说“帮助”可以看看还有什么。",
    "thinking": "用户想看我思考。我先看问了什么，再看我知道什么，然后两边衡量。我只是演示，所以很快就好。",
    "after_thinking": "我想过了：**42** 仍然是个好答案。",
    "before_tool": "我先看看有哪些文件。",
    "tool_description": "列出文件",
    "tool_output": _EN["tool_output"],
    "after_tool": "一共有**三**个：`README.md`、`notes.txt` 和 `src`。",
    "before_client_tool": "这件事前端可以做：我来调用它的工具 `{tool}`。",
    "after_client_tool": "前端的回答是：{result}",
    "no_client_tools": "这个前端没有提供工具，所以没有什么可以调用。",
    "before_question": "继续之前，我需要知道一件事。",
    "question": "要什么颜色？",
    "question_header": "颜色",
    "red": "红色",
    "red_why": "像消防车",
    "green": "绿色",
    "green_why": "像草地",
    "blue": "蓝色",
    "blue_why": "像天空",
    "question_sizes": "要哪些尺寸？",
    "question_sizes_header": "尺寸",
    "small": "小",
    "large": "大",
    "answered": "用户的回答：{answer}",
    "after_question": "那就**{answer}**。谢谢！",
    "after_nothing": "那我自己选。",
    "before_permission": "我想清理一下，这需要你的许可。",
    "permission_title": "删除 build 文件夹",
    "permission_description": "删除 build 和里面的所有东西。演示只是假装删除。",
    "permission_reason": "这条命令会删除文件。",
    "deleting": _EN["deleting"],
    "allowed": "好了。我运行了 `{command}`，其实只是假装。",
    "denied_result": "用户拒绝了：{reason}",
    "no_reason": "没有说明原因",
    "denied": "好的，那就保持原样。",
    "before_plan": "我先做个计划。",
    "step_1": "看一看",
    "step_1_active": "正在看",
    "step_2": "改一处",
    "step_2_active": "正在改",
    "step_3": "确认能用",
    "step_3_active": "正在确认",
    "plan_saved": "列表已更新。",
    "after_plan": "三步都完成了。",
    "before_subagent": "我派一个助手去。",
    "helper_task": "数一数笔记的字数",
    "helper_prompt": "请数一数 notes.txt 里有多少个词，把数字告诉我。",
    "helper_starts": "我来数。",
    "helper_output": _EN["helper_output"],
    "helper_report": "notes.txt 里有 48 个词。",
    "after_subagent": "我的助手数到了 **48** 个词。",
    "before_background": "这要久一点，所以放到后台去做。",
    "background_task": "搜索整个档案",
    "background_prompt": "请在档案里搜索 Turnwire 这个词。",
    "background_started": "它在后台运行，任务号 {task}。",
    "after_background": "已经开始了。完成后我会告诉你，你可以先做别的。",
    "background_looks": "我在搜索。",
    "background_report": "在 1,024 个文件里找到 3 处。",
    "background_over": "后台的工作完成了：1,024 个文件里有 **3** 处。",
    "before_error": "我现在要试一件做不到的事，然后",
    "error": "演示按要求失败了。",
    "long_title": "## 一个很长的回答",
    "long_part": "**{number}.** 流是由小块组成的河。每一块都不值什么，但谁把它们按顺序留住，最后就有了一篇文章。"
    "如果你现在打断我，已经说过的会留下，这一轮会作为被打断的一轮结束。",
    "interrupted": "被用户打断。",
    "interrupt_note": _EN["interrupt_note"],
    "told": "你回答了一个我已经不记得的问题。你的回答是：{answer}",
}

TEXTS: dict[Language, dict[str, str]] = {"en": _EN, "zh": _ZH}
