"""Routes: observed prefixes of user utterances that reached a state or an edge.

Never a graph path that nobody walked (design decision 5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from agenteval.types import LabelledTrace, Trace


class Route(NamedTuple):
    """How a session came to a location."""

    session: str
    """Id of the trace that was walked."""
    turn: int
    """The turn, from 1, at which the location was reached."""
    utterances: tuple[str, ...]
    """What the user said up to and including that turn."""
    activities: tuple[str, ...]
    """The activity that each of them met; the last one is the location."""


class Routes(NamedTuple):
    states: dict[str, Route]
    transitions: dict[tuple[str, str], Route]


def routes(traces: Iterable[Trace], labelled: Iterable[LabelledTrace]) -> Routes:
    """The shortest observed prefix to every state and every transition.

    A prefix without failed turns goes before one with; ties are broken by how many sessions began with the same
    activities, then by order.

    Examples
    --------
    >>> from agenteval.types import LabelledTurn, Turn
    >>> t = Trace(id="s", turns=(Turn(user="hi", agent="who?"), Turn(user="me", agent="done")))
    >>> turns = (LabelledTurn(turn=1, action="greet", activity="ask"), LabelledTurn(turn=2, action="tell", activity="end"))
    >>> routes([t], [LabelledTrace(id="s", turns=turns)]).states["end"].utterances
    ('hi', 'me')
    """
    said = {trace.id: [turn.user for turn in trace.turns] for trace in traces}
    labelled = [trace for trace in labelled if trace.id in said]
    walked = {trace.id: tuple(turn.activity for turn in trace.turns) for trace in labelled}
    popular = Counter(path[:length] for path in walked.values() for length in range(1, len(path) + 1))

    best: dict[object, tuple[tuple[int, int, int], Route]] = {}
    for trace in labelled:
        path = walked[trace.id]
        failed = 0
        for turn, activity in enumerate(path, 1):
            if not activity:
                failed += 1
                continue
            prefix = path[:turn]
            rank = (failed, turn, -popular[prefix])
            places: list[object] = [activity]
            if turn > 1 and path[turn - 2]:
                places.append((path[turn - 2], activity))
            for place in places:
                if place not in best or rank < best[place][0]:
                    best[place] = (rank, Route(trace.id, turn, tuple(said[trace.id][:turn]), prefix))
    return Routes(
        states={place: route for place, (_, route) in best.items() if isinstance(place, str)},
        transitions={place: route for place, (_, route) in best.items() if isinstance(place, tuple)},
    )
