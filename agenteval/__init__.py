"""agenteval: black-box boundary testing of conversational agents with mined workflow graphs."""

from agenteval.chat import Chat, Session
from agenteval.commands.mine import mine_transcripts
from agenteval.errors import AgentEvalError
from agenteval.llm.ask import ask
from agenteval.llm.model import Completion, Model, Request
from agenteval.store import Run
from agenteval.tester.abstract import abstract
from agenteval.tester.gates import dominators, gate_strength
from agenteval.tester.graph import mine
from agenteval.tester.routes import routes
from agenteval.types import Graph, LabelledTrace, Trace, Turn

__version__ = "0.1.0"

__all__ = [
    # the two waists
    "Chat",
    "Session",
    "Model",
    "Request",
    "Completion",
    "ask",
    # records
    "Turn",
    "Trace",
    "LabelledTrace",
    "Graph",
    "Run",
    "AgentEvalError",
    # stages
    "abstract",
    "mine",
    "routes",
    "gate_strength",
    "dominators",
    "mine_transcripts",
]
