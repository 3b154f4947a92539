"""The rules of a conversation: turns, queue, questions, permissions, stops, recovery."""

from turnwire.core.conversation.effects import Effects
from turnwire.core.conversation.inputs import Input
from turnwire.core.conversation.state import Conversation, Options, status_of
from turnwire.core.conversation.step import step
from turnwire.core.conversation.transitions import TRANSITIONS

__all__ = ["TRANSITIONS", "Conversation", "Effects", "Input", "Options", "status_of", "step"]
