"""The agent under test as a `Chat`: a session of the engine, put into words."""

from __future__ import annotations

from typing import Any

from agenteval.subjects.scripted import wording
from agenteval.subjects.scripted.engine import Talk
from agenteval.subjects.scripted.task import Domain


class ScriptedChat:
    """The agent under test: `reset` and `invoke`, and on the privileged side `log`.

    Parameters
    ----------
    domain
        What it knows and may do.
    words
        Variants of every reply act.
    guards
        The guards by id.
    fault
        Id of the one fault of this mutant; None for the reference.
    seed
        Chooses the wording, never the behaviour.
    """

    def __init__(
        self,
        domain: Domain,
        words: dict[str, list[str]],
        guards: dict[str, dict[str, str]],
        *,
        fault: str | None,
        seed: int,
    ):
        self._domain, self._words, self._guards, self._fault, self._seed = domain, words, guards, fault, seed
        self._session = 0
        self._talk: Talk | None = None

    def reset(self) -> str:
        """Begin a fresh session on a fresh copy of the data; returns the greeting."""
        self._session += 1
        self._talk = Talk(self._domain, self._guards, self._fault)
        return self._render([("greeting", {})])

    def invoke(self, text: str) -> str:
        """Answer one utterance. Any text is answered; none is run."""
        if self._talk is None:
            self.reset()
        self._talk.hear(text if isinstance(text, str) else str(text))
        return self._render(self._talk.said or [("fallback", {})])

    @property
    def log(self) -> list[dict[str, Any]]:
        """Privileged events of the session."""
        return self._talk.log.events if self._talk else []

    @property
    def acts(self) -> list[str]:
        """Privileged: the acts of the last reply."""
        return [act for act, _ in self._talk.said] if self._talk else []

    def _render(self, said: list[tuple[str, dict[str, Any]]]) -> str:
        return wording.render(self._words, said, seed=self._seed, session=self._session, turn=self._talk.log.turn)
