"""What a reply of an agent wants of the customer: details, a choice, a yes, an open answer, or nothing.

``"Please type YES to continue."`` reads as a gate whose word is ``YES``; ``"Which size: small or large?"`` as a choice
of two. Speech acts of sentences come from the labeller (`acts`), names of details from `details`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from agenteval.tester.rules import lexicon
from agenteval.tester.rules.acts import Sentence, read_sentence
from agenteval.tester.rules.details import is_gate, kinds_named, named, names_services
from agenteval.tester.rules.enumerations import PAIR, Option, field, inline_options, items_of, listing
from agenteval.tester.rules.shapes import codes, lengths
from agenteval.tester.rules.slots import requested
from agenteval.tester.rules.talk import load
from agenteval.tester.rules.text import clean, sentences

MOST_SLOTS = 6


class Slot(NamedTuple):
    """A detail that is asked for, and the sentence in which it is."""

    name: str
    """Snake case; empty for a question whose object is not named."""
    wish: str


class Question(NamedTuple):
    """A reply as seen by somebody who has to answer it. Several things may hold at once."""

    text: str
    slots: tuple[Slot, ...] = ()
    options: tuple[Option, ...] = ()
    items: tuple[Option, ...] = ()
    """Lines of lists, whether or not they are to choose from."""
    gate: bool = False
    word: str = ""
    """What to type at the gate."""
    offer: str = ""
    """A sentence that offers to do something."""
    yes_no: str = ""
    """A question that wants a yes or a no."""
    keyed: bool = False
    """The choice is wanted as a number."""
    open: bool = False
    more: bool = False
    refused: bool = False
    rejected: bool = False
    misunderstood: bool = False
    done: bool = False
    settles: bool = False
    """Reports something done if it follows a yes: "it is on its way"."""
    closed: bool = False
    transferred: bool = False

    @property
    def asks(self) -> bool:
        """Whether anything is wanted at all."""
        return bool(self.slots or self.options or self.gate or self.offer or self.yes_no or self.open or self.more)


class _Draft:
    """A reply while it is read, sentence by sentence."""

    def __init__(self, text: str):
        self.talk, self.lexicon = load(), lexicon.load()
        self.patterns = self.talk.patterns
        self.text = self.patterns["or_else"].sub("?", clean(text))
        self.items, self.lead, lines = items_of(self.text, self.talk)
        self.spoken = sentences("\n".join(lines), self.lexicon)
        self.read = [read_sentence(s, self.lexicon.language) for s in self.spoken]
        self.marks: dict[str, bool | str] = {}
        self.slots: list[Slot] = []
        self.inline: list[str] = []
        self.asked_yes = False
        lead, low = self.lead.lower(), self.text.lower()
        self.chosen = (
            bool(self.items) and self.has("chooses", lead) or bool(self.items) and self.has("wants_number", low)
        )

    def has(self, key: str, plain: str) -> bool:
        return self.patterns[key].search(plain) is not None

    def tone(self, s: Sentence) -> None:
        """Note what a sentence tells: done, refused, rejected, not understood, the end."""
        question = s.plain.endswith("?")
        cues = s.cues
        told = {"done": "completion" in cues, "settles": "completion_after_gate" in cues and not question,
                "transferred": "transfer" in cues}  # fmt: skip
        if self.has("misunderstood", s.plain):
            told["misunderstood"] = True
        elif self.has("rejected", s.plain) and not question:
            told["rejected"] = True
        elif {"deny", "unavailable", "failure"} & cues or self.has("refused_more", s.plain):
            told["refused"] = not (question or self.has("pending", s.plain))
        self.marks |= {key: True for key, value in told.items() if value}

    def typed(self, place: int) -> bool:
        """Note a word to be typed at a gate; True when the sentence is about that."""
        plain, original = self.read[place].plain, self.spoken[place]
        phrase, word = self.patterns["type_phrase"].search(plain), self.patterns["type_word"].search(plain)
        if phrase and self.has("type_phrase_not", phrase[1]):
            return True
        m = phrase or (word if word and word[1] in self.talk.words["yes_words"] else None)
        if m:
            self.marks["gate"] = True
            self.marks.setdefault("word", original[m.start(1) : m.end(1)] if len(original) == len(plain) else m[1])
        return m is not None

    def invites(self, s: Sentence) -> bool:
        """Note an open question, an invitation to ask more, or a gate; True when the sentence is one of them."""
        question = s.plain.endswith("?")
        if self.has("more_question", s.plain) and (question or "more_help" in s.cues):
            self.marks["more"] = True
        elif self.has("open_question", s.plain):
            self.marks["open"] = True
        elif is_gate(s, self.talk, self.lexicon):
            self.marks["gate"] = True
            self.asked_yes = self.asked_yes or question
        else:
            if "close" in s.cues and not question:
                self.marks["closed"] = True
            return False
        return True

    def request(self, place: int) -> None:
        """Note what a sentence asks for."""
        s, spoken = self.read[place], self.spoken[place]
        plain, question = s.plain, s.plain.endswith("?")
        if self.has("not_a_request", plain):
            _, comma, plain = plain.partition(", ")
            if not (question and comma):
                return
        if self.has("exclaims", plain):
            return
        wh = self.has("wh", plain) or question and self.has("prefers", plain)
        proposes = bool({"gate_verb", "offer"} & s.cues) or self.has("proposal", plain)
        if question and not wh and proposes and self.talk.single["or"] not in plain:
            self.marks["offer"] = spoken
            return
        label = plain.endswith(":") and not self.items
        asks = question or label or "request" in s.cues or self.has("imperative", plain) or self.has("requires", plain)
        if not asks:
            return
        choice = wh or self.has("which", plain) or self.has("imperative", plain)
        valued = kinds_named(plain, self.talk, self.lexicon)
        before = self.read[place - 1].plain if place else ""
        if choice and before and not valued and names_services(before, self.talk, self.lexicon):
            self.marks["open"] = True
            return
        following = self.read[place + 1].plain if place + 1 < len(self.read) else ""
        self.detail(plain, spoken, f"{spoken} {following}", wh, question)

    def detail(self, plain: str, spoken: str, wish: str, wh: bool, question: bool) -> None:
        """Note the details or alternatives of a request."""
        if question and self.has("any_of", plain):
            self.slots.append(Slot("", wish))
            return
        if self.items and self.has("wants_number", plain):
            self.chosen = True
            return
        self.chosen = self.chosen or bool(self.items) and self.has("chooses", plain)
        if wh and self.items and self.has("which", plain) and not self.asked_yes:
            self.marks.pop("gate", None)
        if question and self.proposed(plain):
            self.marks["gate"] = True
            return
        names = [n for n in named(plain, self.talk, self.lexicon) if len(n) > 1]
        alternatives = inline_options(spoken, self.talk) if question or ":" in plain else []
        if alternatives and self.has("goes_on", alternatives[0].lower()):
            self.marks["gate"] = True
        elif len(alternatives) >= 2 and not set("_".join(names).split("_")) & self.talk.words["identity"]:
            self.inline = alternatives
            self.slots += [Slot(n, wish) for n in names[:1] if wh]
        elif names and (wh or not question or self.has("asks_for", plain) or not self.has("aux", plain)):
            known = {slot.name for slot in self.slots}
            self.slots += [Slot(n, wish) for n in names if n not in known]
        elif wh:
            self.slots.append(Slot("", wish))
        elif question:
            self.marks["yes_no"] = spoken

    def proposed(self, plain: str) -> bool:
        """Whether a question puts a whole action to the customer: "Just checking: cancel the stay from May 4 to May 9?" """
        _, colon, action = plain.partition(": ")
        first = dict(self.lexicon.forms.get(action.partition(" ")[0], ()))
        return bool(colon) and "B" in first and self.talk.single["or"] not in action and not self.has("wh", action)

    def merged(self) -> None:
        """ "Which order is it about? Its number, please?": one detail, the number of the order."""
        kept: list[Slot] = []
        for slot in self.slots:
            last = kept[-1].name.split("_")[-1] if kept else ""
            bare = {self.talk.classes.get(w, w) for w in slot.name.split("_")} == {"number"}
            if bare and last and self.talk.classes.get(last, last) not in self.talk.words["kinds"]:
                kept[-1] = Slot(f"{kept[-1].name}_{slot.name}", f"{kept[-1].wish} {slot.wish}")
            else:
                kept.append(slot)
        self.slots = kept

    def owned(self) -> None:
        """A request in words that the lexicon does not know still names what it wants as the customer's own."""
        if (
            self.slots
            or self.inline
            or self.chosen
            or self.marks.keys() & {"gate", "offer", "yes_no", "open", "done", "more"}
        ):
            return
        rows = [(s.plain, spoken) for s, spoken in zip(self.read, self.spoken, strict=True) if not codes(spoken)]
        rows = [row for row in rows if not self.has("not_a_request", row[0])]
        mine = [row for row in rows if self.has("owned", row[0])]
        for plain, spoken in mine or ([] if self.marks.keys() & {"refused", "rejected", "closed"} else rows):
            self.slots += [Slot(n, spoken) for n in kinds_named(plain, self.talk, self.lexicon)]

    def form(self) -> bool:
        """Take the items of a list as details when it asks for them; True when it does."""
        fields = [field(o.text.strip("*_ "), self.talk) for o in self.items]
        valued = 0
        for option, name in zip(self.items, fields, strict=True):
            words = {w for n in named(name.lower(), self.talk, self.lexicon) for w in n.split("_")}
            kinds = {self.talk.classes.get(w, w) for w in words} & self.talk.words["kinds"]
            valued += bool(kinds) + ("?" in option.text and bool(name))
        mostly = 2 * valued > len(self.items)
        lead = self.lead.lower()
        if (self.chosen and not mostly) or not self.has("asks_for", lead) or self.marks.keys() & {"gate", "done"}:
            return False
        if not mostly and self.has("lists_services", lead):
            return False
        found = []
        for option, name in zip(self.items, fields, strict=True):
            names = requested(f"{name.lower()}:", self.lexicon, item=True) or named(
                name.lower(), self.talk, self.lexicon
            )
            found += [Slot(names[0], option.text)] if name and names else []
        self.slots = found or self.slots
        self.marks.pop("yes_no", None)
        return True

    def options(self) -> list[Option]:
        """What there is to choose from."""
        gate = bool(self.marks.get("gate"))
        if self.items and not self.form() and not gate:
            named = [slot for slot in self.slots if not self.has("who", slot.wish.lower())]
            asking = not named and any(s.plain.endswith("?") for s in self.read)
            if self.chosen or self.marks.get("open") or asking or self.has("lists_services", self.lead.lower()):
                keyed = [o for o in self.items if o.key]
                return keyed or ([] if all(PAIR.match(o.text) for o in self.items) else self.items)
        if self.inline:
            return [Option("", name) for name in self.inline]
        wishes = [slot.wish for slot in self.slots]
        if gate or self.items or not any(self.has("which", w.lower()) or self.has("any_of", w.lower()) for w in wishes):
            return []
        plain = [s for s in self.spoken if not lengths(s, self.talk)]
        telling = [s for s in plain if not any(s in wish for wish in wishes)]
        return [Option("", name) for name in listing(telling + plain, self.talk)]


@lru_cache(maxsize=4096)
def read(text: str) -> Question:
    """Read one reply.

    >>> q = read("Thanks! Would you tell me your member number and your date of birth?")
    >>> [s.name for s in q.slots], q.gate
    (['date_of_birth', 'member_number'], False)
    >>> read("You will lose the seat. Type YES to go on.").word
    'YES'
    """
    draft = _Draft(text)
    for place, sentence in enumerate(draft.read):
        draft.tone(sentence)
        if not draft.typed(place) and not draft.invites(sentence):
            draft.request(place)
    draft.merged()
    draft.owned()
    options = tuple(draft.options())
    keyed = bool(options) and all(o.key for o in options) and draft.has("wants_number", draft.text.lower())
    return Question(
        text=draft.text, slots=tuple(draft.slots[:MOST_SLOTS]), options=options, items=tuple(draft.items), keyed=keyed,
        **draft.marks,
    )  # fmt: skip


def outcome(reply: str, before: str) -> str:
    """What a reply decides: ``done``, ``refused``, or nothing yet.

    >>> outcome("That is on its way.", "Shall I go ahead?"), outcome("That is on its way.", "")
    ('done', '')
    """
    question = read(reply)
    if question.done or (
        question.settles and not (question.gate or question.slots) and (read(before).gate or read(before).offer)
    ):
        return "done"
    return "refused" if question.refused else ""


def outcomes(session: Mapping[str, Any]) -> list[str]:
    """The outcome of each turn of a session."""
    found = []
    before = session["greeting"]
    for turn in session["turns"]:
        told = outcome(turn["agent"], before)
        question = read(turn["agent"])
        agreed = read(before).gate and load().patterns["agrees"].search(turn["user"].lower())
        if not told and agreed and question.more and not (question.rejected or question.misunderstood):
            told = "done"  # Whoever asks for further wishes after a yes has done it, in whatever words.
        found.append(told)
        before = turn["agent"]
    return found
