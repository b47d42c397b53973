"""What a customer answers to a reply of an agent: details from facts, a choice, a yes, or the request itself.

Driver and runner share it. An answer says what kind it is, so that they can end a session in time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agenteval.tester.rules.choices import best_option, candidates, label
from agenteval.tester.rules.enumerations import Option
from agenteval.tester.rules.facts import Fact, identifying, mentions, naming, of_seed, told, values
from agenteval.tester.rules.likeness import asks_again, words
from agenteval.tester.rules.questions import Question, Slot, outcomes, read
from agenteval.tester.rules.services import alike, content, in_a_verb, meant, menu
from agenteval.tester.rules.shapes import codes, made_to_fit
from agenteval.tester.rules.talk import Talk, load, say

MOST_SLOTS = 5


class Scene(NamedTuple):
    """What the customer knows and wants."""

    seed: Mapping[str, str]
    goal: str
    """The request in the customer's words; empty while nothing is known to ask for."""
    greeting: str
    turns: Sequence[Mapping[str, Any]]
    key: Any
    """What the choice of words hangs on."""
    records: tuple[str, ...] = ()
    """Identifiers that belong to the customer, told before this session."""
    curious: bool = False
    """Only wants to know: gives no final yes."""
    begun: int = 0
    """Turns before the present request was made."""
    heard: tuple[str, ...] = ()
    """What the agent said in earlier sessions, newest first: choices may be taken from it, identities never."""

    @property
    def last(self) -> str:
        return self.turns[-1]["agent"] if self.turns else self.greeting

    @property
    def outcomes(self) -> list[str]:
        return outcomes({"greeting": self.greeting, "turns": self.turns})

    @property
    def repeated(self) -> bool:
        """Whether the agent has just said the same as before, in all but values."""
        if not self.turns:
            return False
        last, before = self.replies[-1], self.replies[-2]
        return words(last) == words(before) or asks_again(last, before)

    @property
    def asked(self) -> bool:
        """Whether the request was made, in words or by its place in a menu."""
        return any(self.goal in t["user"] for t in self.turns) or self.chosen > 0

    @property
    def chosen(self) -> int:
        """How often the request was chosen from a list."""
        about = content(self.goal)
        said = meant({"greeting": self.greeting, "turns": self.turns})
        return sum(m != t["user"] and alike(content(m), about) >= 0.5 for m, t in zip(said, self.turns, strict=True))

    @property
    def replies(self) -> list[str]:
        return [self.greeting, *(t["agent"] for t in self.turns)]

    @property
    def said(self) -> list[str]:
        return [t["user"] for t in self.turns]


class Answer(NamedTuple):
    why: str
    message: str
    kind: str
    """``give choose ask confirm decline goal lack nudge instead bye end``."""


def human(slot: Slot) -> str:
    """The name of a slot as a customer says it."""
    name = slot.name.replace("_", " ")
    return load().spelling.get(name, name)


def facts_of(scene: Scene) -> list[Fact]:
    """All facts that may be used: the seed's, the records told before, and what the agent said in this session."""
    mine = [f.value for f in of_seed(scene.seed)]
    records = [Fact("", value, "agent") for value in scene.records]
    newest_first = [scene.last, *reversed(scene.replies[:-1])]
    return of_seed(scene.seed) + told(newest_first, mine) + records


def _times(scene: Scene, slot: Slot) -> int:
    """How often the detail was asked for before."""
    return sum(any(s.name == slot.name for s in read(r).slots) for r in scene.replies[:-1])


def _given(slot: Slot, place: int, question: Question, scene: Scene, talk: Talk) -> tuple[str, str]:
    """Value and kind for one slot: ``fact``, ``choice``, ``new``, ``lack`` or ``only``."""
    spoken = "\n".join(scene.said)
    low = slot.wish.lower()
    again = _times(scene, slot)
    trouble = question.rejected or question.misunderstood or question.refused or scene.repeated
    if talk.patterns["new_words"].search(low) and not question.rejected and naming(slot.name).kinds:
        for words, value in talk.fresh:
            if naming(slot.name).kinds & words:
                return made_to_fit(value, slot.wish, talk), "new"
    known = values(slot, facts_of(scene), talk)
    offered = [o for o in question.options if any(mentions(v, label(o, talk)) and v != label(o, talk) for v in known)]
    if offered and place == 0:
        return label(offered[min(again if trouble else 0, len(offered) - 1)], talk), "choice"
    if identifying(slot):
        if (
            question.options
            and not any(v for v in known if mentions(question.text, v))
            and place == 0
            and not naming(slot.name).kinds
        ):
            return label(
                best_option(question.options, content(scene.goal), spoken, again if trouble else 0), talk
            ), "choice"
        unsaid = [v for v in known if not mentions(spoken, v)]
        said = [v for v in known if mentions(spoken, v)]
        if said and not trouble and sum(mentions(u, said[0]) for u in scene.said[scene.begun :]) < 2:
            return said[0], "bare"
        if said and trouble and mentions(scene.said[-1], said[0]) and said[0] not in scene.said:
            return said[0], "bare"
        if unsaid and talk.patterns["typed"].search(low) and len(question.slots) == 1:
            return unsaid[0], "bare"
        if unsaid:
            return unsaid[0], "fact"
        m = talk.patterns["sample"].search(question.text.lower())
        shown = codes(question.text[m.end() :]) if m else []
        if again and shown and not _personal(slot):
            return shown[0], "choice"
        return ("", "only") if said else ("", "lack")
    if not known and not question.options and talk.patterns["who"].search(low):
        known = values(Slot("name", ""), facts_of(scene), talk)
    known += [v for v in values(slot, told(scene.heard, known), talk) if v not in known]
    fresh = [v for v in known if not mentions(spoken, v)]
    if fresh or (known and not trouble):
        return (fresh or known)[0] if trouble else known[0], "choice"
    about = content(scene.goal)
    choices = candidates(slot, question, scene.replies, spoken, about, again if trouble else 0, place, talk)
    if choices:
        unsaid = [c for c in choices if not mentions(spoken, c)]
        if unsaid or not trouble:
            return (unsaid if trouble else choices)[0], "choice"
    asked = any(line in scene.said for line in talk.say["which_ones"])
    return (talk.single["any_will_do"], "any") if asked else ("", "which")


def _personal(slot: Slot) -> bool:
    """Whether a number belongs to the customer or to one of the customer's records."""
    talk, parts = load(), naming(slot.name)
    owned = {talk.classes.get(word, word) for word in slot.name.split("_")} & talk.words["records"]
    return parts.persons or not parts.owners or bool(owned)


def _details(question: Question, scene: Scene, talk: Talk) -> Answer:
    key = (scene.key, len(scene.turns))
    slots = question.slots[:MOST_SLOTS]
    rows = [(slot, *_given(slot, place, question, scene, talk)) for place, slot in enumerate(slots)]
    if len(rows) == 1:
        slot, value, kind = rows[0]
        name = human(slot)
        if kind in ("fact", "new"):
            return Answer(
                f"The agent asks for the {name}, which is known.",
                say(talk, "give_one", key, slot=name, value=value),
                "give",
            )
        if kind == "bare":
            return Answer(f"The agent wants the {name} and nothing else.", value, "give")
        if kind == "any":
            return Answer("Any choice will do.", value, "choose")
        if kind == "choice":
            return Answer(
                f"An ordinary choice of {name or 'an answer'}.", _chosen(value, question, talk, key), "choose"
            )
        if kind == "which":
            return Answer("Nothing is known to choose from.", say(talk, "which_ones", key), "ask")
        if kind == "only":
            return Answer(f"No other {name} is known.", say(talk, "only_one", key, slot=name), "lack")
        if _times(scene, slot):
            listed = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in scene.seed.items())
            if listed and not all(mentions("\n".join(scene.said), v) for v in scene.seed.values()):
                return Answer(
                    f"The {name} is not known, other details are.", say(talk, "identify", key, facts=listed), "give"
                )
        return Answer(f"The {name} is not known.", say(talk, "lack", key, slot=name or "answer"), "lack")
    parts, lacking = [], []
    for slot, value, kind in rows:
        if kind in ("lack", "only"):
            lacking.append(human(slot))
        elif kind in ("fact", "bare", "new"):
            parts.append(say(talk, "give_part", key, slot=human(slot), value=value))
        elif value and value not in parts and kind != "any":
            parts.append(value)
    if lacking:
        parts.append(say(talk, "lack_part", key, slot=f" {talk.single['or_list']} ".join(lacking)))
    if not parts:
        return Answer("Nothing is known to choose from.", say(talk, "which_ones", key), "ask")
    text = ", ".join(parts)
    return Answer(
        "Several details are asked for.",
        f"{text[0].upper()}{text[1:]}.",
        "lack" if len(lacking) == len(parts) else "give",
    )


def _chosen(value: str, question: Question, talk: Talk, key: Any) -> str:
    if question.keyed:
        number = next((o.key for o in question.options if label(o, talk) == value), "")
        if number:
            return number
    if len(value.split()) > 2:
        for pattern, turned in talk.turned:
            value = pattern.sub(turned, value)
    text = value if len(value.split()) > 3 else say(talk, "give_choice", key, value=value)
    return text[0].upper() + text[1:]


def _option(question: Question, scene: Scene, talk: Talk, services: bool) -> Answer:
    key = (scene.key, len(scene.turns))
    said = "\n".join(scene.said)
    known = [f.value for f in of_seed(scene.seed)] + list(scene.records)
    options = [o for o in question.options if not talk.patterns["leave_options"].search(o.text.lower())] or list(
        question.options
    )
    about = content(scene.goal)
    own = next((o for o in options if any(len(v) > 2 and mentions(o.text, v) for v in known)), None)
    if services and scene.goal and max(alike(content(o.text), about) for o in options) < 0.5 and not scene.asked:
        return Answer("None of the listed services is meant.", scene.goal, "goal")
    before = sum(set(read(r).options) == set(question.options) for r in scene.replies[:-1])
    skip = before if question.rejected or question.refused or (scene.repeated and before > 1) else 0
    option = (
        own if own and not skip else best_option(options, about if services or not skip else frozenset(), said, skip)
    )
    typed = any(read(r).keyed for r in scene.replies) or question.misunderstood
    if option.key and (question.keyed or typed or (before and not skip)):
        return Answer("The choice is wanted as a number.", option.key, "choose")
    return Answer("One of the options.", _chosen(label(option, talk), Question(text=""), talk, key), "choose")


def answer(scene: Scene) -> Answer:
    """What the customer answers to the last reply.

    Section III-A: the driver is a customer who gives what is asked for and follows to the end.
    """
    talk, question = load(), read(scene.last)
    return _demanded(question, scene, talk) or _told(question, scene, talk)


def _demanded(question: Question, scene: Scene, talk: Talk) -> Answer | None:
    """The answer to what the reply asks for; None when it asks for nothing."""
    key = (scene.key, len(scene.turns))
    early = not scene.turns or question.options == read(scene.greeting).options
    services = bool(question.options) and menu(question, early)
    settled = question.gate or question.offer or services or any(identifying(s) for s in question.slots)
    if question.rejected and not settled and (again := _repeated(question, scene, talk)):
        return again
    if question.slots and not services:
        reply = _details(question, scene, talk)
        if question.gate and not scene.curious and reply.kind == "give":
            return reply._replace(message=f"{say(talk, 'agree', key)} {reply.message}")
        if not (question.gate and reply.kind in ("lack", "ask")):
            return reply
    if question.gate and scene.curious:
        return Answer("Only asking.", say(talk, "not_now", key), "decline")
    if question.gate:
        return Answer("The agent asks for confirmation.", question.word or say(talk, "yes", key), "confirm")
    if services and scene.chosen and not (question.misunderstood or question.rejected):
        return Answer("The agent is back at its menu.", say(talk, "bye", key), "bye")
    if question.options:
        return _option(question, scene, talk, services)
    if question.offer:
        return _offered(question, scene, talk, key)
    unheard = (question.rejected or question.misunderstood) and not question.more
    if unheard and (again := _repeated(question, scene, talk)):
        return again
    if question.yes_no and scene.goal and not scene.asked and not question.rejected:
        return Answer("The agent wants to know what it is about.", scene.goal, "goal")
    about = talk.patterns["about_what"].search(question.yes_no.lower())
    if about and scene.goal and not content(question.yes_no) & content(scene.goal):
        return _again(scene, talk, key)
    if question.yes_no:
        wanted = content(question.yes_no) & content(scene.goal)
        extra = talk.patterns["extra_offer"].search(question.yes_no.lower()) and not wanted
        return Answer("A question for yes or no.", say(talk, "no_extra" if extra else "plain_yes", key), "confirm")
    return None


def _told(question: Question, scene: Scene, talk: Talk) -> Answer:
    """The answer to a reply that asks for nothing in particular."""
    key = (scene.key, len(scene.turns))
    ended = question.closed or question.transferred
    if scene.outcomes[-1:] == ["done"]:
        return Answer("The request is done.", say(talk, "bye" if question.more else "thanks", key), "bye")
    if scene.asked and not question.asks and (question.items or told([scene.last], scene.said)):
        return Answer("The agent has answered.", say(talk, "bye", key), "bye")
    if question.refused:
        return Answer("The agent refuses.", say(talk, "refused", key), "instead")
    if scene.goal and not scene.asked and not ended:
        return Answer("The agent is open for a request.", scene.goal, "goal")
    if question.open and scene.goal and not any(scene.outcomes):
        return _again(scene, talk, key)
    if question.more or question.open:
        return Answer("Nothing else is wanted.", say(talk, "bye", key), "bye")
    if ended:
        return Answer("The agent has ended the conversation.", say(talk, "thanks", key), "end")
    return Answer("The agent has told something.", say(talk, "nudge", key), "nudge")


def _again(scene: Scene, talk: Talk, key: Any) -> Answer:
    """The request once more, in other words if there are any."""
    other = in_a_verb(scene.goal, scene.key)
    said = other if other and other not in scene.said else say(talk, "nudge_goal", key, goal=scene.goal)
    return Answer("The agent asks again what is wanted.", said, "goal")


def _offered(question: Question, scene: Scene, talk: Talk, key: Any) -> Answer:
    low = question.text[question.text.find(question.offer) :].lower()
    wanted = bool(content(question.offer) & content(scene.goal))
    if talk.patterns["extra_offer"].search(low) and not wanted:
        return Answer("An extra that is not needed.", say(talk, "no_extra", key), "decline")
    if scene.curious:
        return Answer("Only asking.", say(talk, "not_now", key), "decline")
    return Answer("The agent offers to do it.", say(talk, "accept", key), "confirm")


def _repeated(question: Question, scene: Scene, talk: Talk) -> Answer | None:
    """After a rejection without a question: the detail asked for before, in another way."""
    for reply in reversed(scene.replies[-4:-1]):
        earlier: Question = read(reply)
        if earlier.slots and not (earlier.rejected and not any(identifying(s) for s in earlier.slots)):
            slots = tuple(Slot(s.name, f"{s.wish} {question.text}") for s in earlier.slots)
            return _details(question._replace(slots=slots, options=earlier.options), scene, talk)
        if earlier.options:
            options: tuple[Option, ...] = earlier.options
            return _option(question._replace(options=options, keyed=all(o.key for o in options)), scene, talk, False)
    return None


def introduced(scene: Scene, slots: Sequence[Slot], choices: Sequence[str], talk: Talk) -> str:
    """A request together with the details that the agent is known to ask for, and with choices made before."""
    key = (scene.key, "introduced")
    facts = of_seed(scene.seed)
    parts = []
    for slot in slots:
        found = values(slot, facts, talk)
        if found and not any(mentions(part, found[0]) for part in parts):
            parts.append(say(talk, "give_part", key, slot=human(slot), value=found[0]))
    if not parts:
        return " ".join([scene.goal, *choices])
    text = f" {talk.single['and_list']} ".join(dict.fromkeys(parts[:3]))
    return " ".join([scene.goal, f"{text[0].upper()}{text[1:]}.", *choices])
