"""A model that says what it was told to say. For tests and for trying a role by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agenteval.llm.model import Completion, Request, Usage, estimate_tokens

Answer = str | Exception | Completion


class Scripted:
    """Answers in order, or by a function of the request. An exception is raised instead of returned.

    >>> from agenteval.llm.model import Message
    >>> m = Scripted(["one"])
    >>> m.complete(Request(role="r", messages=(Message(role="user", content="q"),))).text
    'one'
    """

    def __init__(self, answers: Sequence[Answer] | Callable[[Request], Answer], name: str = "scripted"):
        self.answers = answers
        self.name = name
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        if callable(self.answers):
            answer = self.answers(request)
        elif len(self.requests) <= len(self.answers):
            answer = self.answers[len(self.requests) - 1]
        else:
            raise AssertionError(f"no answer left for call {len(self.requests)} of role {request.role}")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Completion):
            return answer
        usage = Usage(input=request.size(), output=estimate_tokens(answer), estimated=True)
        return Completion(text=answer, model=self.name, usage=usage)
