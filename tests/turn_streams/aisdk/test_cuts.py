"""A `Chat` of the AI SDK that is cut off at any frame of any recording has everything once.

It needs npm.
"""

from __future__ import annotations

import pytest

from tests.helpers.all_recordings import BOTH_AND_SCENES, events_in
from tests.turn_streams.aisdk.helpers.cuts import cuts_of
from tests.turn_streams.aisdk.helpers.judges import judged_chats
from tests.turn_streams.aisdk.helpers.streams import shown
from turnwire.dialects.aisdk import chunks as u

GROUPS = 6
FEWER = {"long": 15}  # a long answer is cut at every so many frames
# Version 5 cannot resume in the same page: it adds to the message that it has.
RESUMES = [(5, True), (6, True), (6, False), (7, True), (7, False)]


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize(("version", "reloads"), RESUMES)
def test_a_chat_that_is_cut_off_at_any_frame_has_the_whole_message_once(
    version: int, reloads: bool, group: int
) -> None:
    cuts = [
        (name, cut)
        for name in BOTH_AND_SCENES[group::GROUPS]
        for cut in cuts_of(events_in(name), every=FEWER.get(name, 1), version=version)
    ]
    assert len(cuts) > 100
    told = judged_chats(version, [cut for _, cut in cuts], reloads=reloads)
    for (name, cut), chat in zip(cuts, told, strict=True):
        about = (name, cut.about)
        failed = [each.error_text for one in cut.later for each in one if type(each) is u.Error]
        broken = [] if chat["errors"][:1] != ["TypeError: network error"] else chat["errors"][:1]
        assert chat["errors"] == [*broken, *(f"Error: {text}" for text in failed)], about
        assert [each["role"] for each in chat["messages"]] == ["user", "assistant"], about
        assert shown(chat["messages"][1]) == cut.whole, about
