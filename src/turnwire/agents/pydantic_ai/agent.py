"""Any agent of pydantic-ai as an agent of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from turnwire.agents.client_tools import CLIENT_TOOLS
from turnwire.ports import AgentCapabilities, SessionStart

if TYPE_CHECKING:
    from turnwire.agents.pydantic_ai.session import PydanticSession

__all__ = ["PydanticAgent"]


# Arguments of `agent.run` that belong to a turn.
_OF_THE_CONVERSATION = (
    *("conversation", "conversation_id", "deferred_tool_results", "event_stream_handler"),
    *("message_history", "model", "run_id", "usage", "user_prompt"),
)


class PydanticAgent:
    """Runs a `pydantic_ai.Agent` for each turn.

    Example:

        helper = pydantic_ai.Agent("openai:gpt-5", instructions="Be brief.")
        engine = Engine(store, {"helper": PydanticAgent(helper)})

    - `name`: under which conversations keep it; the agent's own name, or `pydantic_ai`.
    - `models`: the models that a conversation may choose, besides that of the agent.
    - Further arguments go to each `agent.run`: `deps`, `toolsets`, `usage_limits`, `model_settings`, ...

    Nothing is stored besides the log: the history of a run is rebuilt from it.

    Raises ValueError for an argument of `agent.run` that a conversation sets itself.
    """

    def __init__(
        self, agent: Any, *, name: str | None = None, models: Sequence[str] = (), **run_options: Any
    ) -> None:
        own = [each for each in _OF_THE_CONVERSATION if each in run_options]
        if own:
            raise ValueError(f"{', '.join(own)}: a conversation sets this itself. Leave it out.")
        self.name = name or getattr(agent, "name", None) or "pydantic_ai"
        self._agent = agent
        self._run_options = run_options
        self.capabilities = AgentCapabilities(
            commands=["session.set_model"] if models else [],
            images=True,
            files=["application/pdf", "text/*"],
            models=list(models),
            options=[CLIENT_TOOLS],
            questions_survive=True,
            takes_recap=False,
            reasons=True,
            edits_calls=True,
        )

    @property
    def description(self) -> str:
        """Returns that it is an agent of pydantic-ai, and its model if that has a name."""
        model = getattr(self._agent, "model", None)
        name = model if isinstance(model, str) else getattr(model, "model_name", None)
        return (
            f"An agent of pydantic-ai, with the model {name}."
            if name
            else "An agent of pydantic-ai."
        )

    async def version(self) -> str | None:
        """Returns the version of pydantic-ai."""
        import pydantic_ai

        return str(pydantic_ai.__version__)

    def unavailable(self) -> str | None:
        """Returns None: whether the model can be reached is known only when it is asked."""
        return None

    async def open(self, start: SessionStart) -> PydanticSession:
        """Opens a session. The history is read with its first turn."""
        from turnwire.agents.pydantic_ai.session import PydanticSession

        return PydanticSession(self.name, self._agent, start, self._run_options)
