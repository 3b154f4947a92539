"""Token usage of a model call or a turn."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["ModelUsage", "Usage"]


class Usage(Struct, frozen=True, omit_defaults=True, gc=False):
    """Tokens, named as in the Messages API. A figure that the agent did not give is absent."""

    input_tokens: int | None = None  # tokens read, without those from a cache
    output_tokens: int | None = None  # tokens written
    cache_creation_input_tokens: int | None = None  # tokens written into a prompt cache
    cache_read_input_tokens: int | None = None  # tokens read from a prompt cache


class ModelUsage(Struct, frozen=True, omit_defaults=True, gc=False):
    """The share of one model in a turn."""

    input_tokens: int = 0  # tokens read, without those from a cache
    output_tokens: int = 0  # tokens written
    cache_creation_input_tokens: int = 0  # tokens written into a prompt cache
    cache_read_input_tokens: int = 0  # tokens read from a prompt cache
    web_search_requests: int = 0  # searches that the model's provider ran
    cost_usd: float = 0.0  # cost of this model
