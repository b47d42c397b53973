"""Waist 2: one seam to language models. See `model`, `ask`, `wrappers`, `openai` and `scripted`."""

from agenteval.llm.ask import ask
from agenteval.llm.model import Completion, Message, Model, Request, Usage

__all__ = ["Completion", "Message", "Model", "Request", "Usage", "ask"]
