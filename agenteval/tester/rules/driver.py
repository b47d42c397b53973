"""The driver by rules: a customer who explores, one message at a time (Section III-A).

In goes what the driver's prompt holds, out comes its reply, for example ``{"why": "The agent asks for confirmation.",
"message": "Yes, please go ahead.", "done": false}``. Equal inputs give equal replies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agenteval.tester.rules import lexicon
from agenteval.tester.rules.acts import mark, tasks_in
from agenteval.tester.rules.answers import Scene, answer, human, introduced
from agenteval.tester.rules.facts import Fact, identifying, mentions, naming, of_seed, seed_in, uses
from agenteval.tester.rules.likeness import resembles, words
from agenteval.tester.rules.questions import Slot, outcomes, read
from agenteval.tester.rules.services import Service, alike, content, meant, named, request, services
from agenteval.tester.rules.shapes import codes
from agenteval.tester.rules.talk import Talk, load, pick, say
from agenteval.tester.rules.text import clean, sentences
from agenteval.tester.rules.utterances import read_utterance

QUOTED = re.compile(r"\"([^\"]{3,300})\"")
MOST_REPEATS = 3
"""A reply that came this often in a row ends the session."""
MOST_REFUSALS = 2


def reply(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The next message of a discovery session.

    Parameters
    ----------
    inputs
        `plan`, `brief`, `earlier` and `conversation`, as `roles.driver` renders them.

    Returns
    -------
    dict
        `why`, `message` and `done`.
    """
    plan, earlier, talk = inputs["plan"], inputs["earlier"], load()
    turns, greeting = inputs["conversation"]["turns"], inputs["conversation"]["greeting"]
    seeds = inputs["brief"]["seeds"]
    key = [plan["objective"], plan["strategy"], greeting, len(earlier)]
    if stuck(turns):
        return _done("The agent repeats itself or says nothing.")
    if turns and not turns[-1]["agent"].strip():
        return _go("The agent said nothing.", say(talk, "silent", (key, len(turns))))
    phase = plan["phase"]
    text = f"{plan['objective']}\n{plan['strategy']}"
    scene = Scene(
        seed=_seed(text, seeds, turns, earlier, key if not phase else None),
        goal="", greeting=greeting, turns=turns, key=key, records=tuple(codes(plan["strategy"])),
        heard=tuple(t["agent"] for session in reversed(earlier) for t in reversed(session["turns"])),
    )  # fmt: skip
    if phase == "consistency_check" and (again := _again(plan, earlier, seeds, scene)):
        return again
    if phase == "capability_discovery":
        return _discover(text, earlier, scene, talk)
    return _pursue(plan, earlier, seeds, scene, talk)


def stuck(turns: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last replies are all the same, or all missing."""
    if len(turns) >= 2 and not any(t["agent"].strip() for t in turns[-2:]):
        return True
    last = [" ".join(t["agent"].lower().split()) for t in turns[-MOST_REPEATS:]]
    return len(last) == MOST_REPEATS and len(set(last)) == 1


def _done(why: str, message: str = "") -> dict[str, Any]:
    return {"why": why, "message": message, "done": True}


def _go(why: str, message: str) -> dict[str, Any]:
    return {"why": why, "message": message, "done": False}


def _seed(
    text: str,
    seeds: Sequence[Mapping[str, str]],
    turns: Sequence[Mapping[str, Any]],
    earlier: Sequence[Mapping[str, Any]],
    key: Any,
) -> Mapping[str, str]:
    """The person in play: of the plan, else of this session, else the one used least."""
    if not seeds:
        return {}
    spoken = "\n".join(t["user"] for t in turns)
    for source in (text, spoken):
        position = seed_in(source, seeds)
        if position >= 0:
            return seeds[position]
    if key is not None:
        return seeds[int(pick(key, [str(n) for n in range(len(seeds))]))]
    counts = uses(earlier, seeds)
    return seeds[counts.index(min(counts))]


def wished(text: str, known: Sequence[Service], key: Any) -> str:
    """The request that a plan is about, quoted in it or named by a service; empty when it leaves the choice open."""
    for quoted in QUOTED.findall(text):
        if len(quoted.split()) > 1:
            return quoted
    about = content(text)
    fitting = [s for s in known if len(s.words) > 1 and s.words <= about]
    if fitting:
        return request(max(fitting, key=lambda s: len(s.words)), key)
    lex = lexicon.load()
    objective = text.split("\n")[0]
    sentence = re.split(r"[.;\n]", objective)[0]
    clause = re.split(load().patterns["and_words"].pattern, sentence)[0].strip()
    first = clause.lower().split()[:1]
    marked, _ = mark(clause.lower(), lex)
    if first and first[0] in lex.forms and tasks_in(marked, lex, "BG"):
        return request(Service(clause[0].lower() + clause[1:], "base", content(clause)), key)
    return ""


def pursued(service: Service, session: Mapping[str, Any]) -> bool:
    """Whether the customer of a session asked for a service; to ask about it is not to ask for it."""
    return session.get("phase") != "capability_discovery" and any(asked_for(service, m) for m in meant(session))


def asked_for(service: Service, text: str) -> bool:
    """Whether a sentence of a message asks for a service; a detail that shares a word with it does not."""
    lex = lexicon.load()
    for sentence in sentences(clean(text), lex):
        about = content(sentence)
        if (service.words <= about or (len(about) > 1 and about <= service.words)) and (
            "ask_action" in read_utterance(sentence, lex).cues or len(sentence.split()) <= len(service.text.split()) + 3
        ):
            return True
    return False


def _known(scene: Scene, earlier: Sequence[Mapping[str, Any]]) -> list[Service]:
    """Services in the order of mention: this session's, then those of earlier sessions."""
    return named([{"greeting": scene.greeting, "turns": scene.turns}, *earlier])


def _pursue(
    plan: Mapping[str, Any],
    earlier: Sequence[Mapping[str, Any]],
    seeds: Sequence[Mapping[str, str]],
    scene: Scene,
    talk: Talk,
) -> dict[str, Any]:
    """Carry one request through; without phases, one after the other."""
    text = f"{plan['objective']}\n{plan['strategy']}"
    known = _known(scene, earlier)
    goal = wished(text, known, scene.key)
    requests = {request(s, scene.key): s for s in known}
    stated = [(n, r) for n, u in enumerate(scene.said) for r in requests if r in u]
    begun, latest = stated[-1] if stated else (0, "")
    if not goal or (latest and begun):
        goal = latest or _least_asked(requests, earlier, free=not plan["phase"], key=scene.key)
    scene = scene._replace(goal=goal, begun=begun)
    greet = say(talk, "greet", scene.key)
    if not scene.turns:
        if not goal:
            return _go(
                "Nothing is known yet about what the agent can do.", f"{greet}, {say(talk, 'discover', scene.key)}"
            )
        if any(alike(s.words, content(goal)) > 0.99 for s in known) and read(scene.greeting).keyed:
            return _go("The greeting is a menu.", answer(scene).message)
        first = (
            introduced(scene, _first_slots(earlier), _choices(earlier, goal, seeds), talk)
            if _hurry(earlier, goal)
            else goal
        )
        return _go("The request of this session.", first if not _plain_start(first) else f"{greet}. {first}")
    if not goal:
        if len(scene.turns) >= 2 and not read(scene.last).asks:
            return _done("The agent names nothing to ask for.", say(talk, "refused_end", scene.key))
        if read(scene.last).open and len(scene.turns) == 1:
            return _go("The agent does not say what it can do.", say(talk, "discover_again", scene.key))
    reply_ = answer(scene)
    since = scene.outcomes[begun:]
    refusals = since.count("refused")
    over = reply_.kind in ("bye", "end") or (reply_.kind == "instead" and refusals >= MOST_REFUSALS)
    done_before = "done" in since
    if reply_.kind == "nudge" and (done_before or len(since) >= 4):
        over = True
    if reply_.kind in ("nudge", "lack") and (
        _said(reply_.message, scene) or (reply_.kind == "lack" and _repeating(scene))
    ):
        over = True
    helpless = reply_.kind in ("nudge", "lack") and "?" in scene.last and (over or not read(scene.last).slots)
    if helpless and not done_before and not refusals and (own := _own_details(scene, talk)):
        return _go("Nothing that is known answers this; the customer gives all details there are.", own)
    wordy = len(reply_.message.split()) > 3 and reply_.kind in ("choose", "ask", "nudge", "lack")
    astray = wordy and scene.said.count(reply_.message) > 1
    if (over or astray) and plan["turns_left"] >= 2 and not read(scene.last).transferred:
        if refusals and (other := _other_record(scene, talk)):
            return _go("The same for another record of the customer.", other)
        heard = content(" ".join(scene.said))
        fresh = {r: s for r, s in requests.items() if r != goal and not s.words <= heard}
        if fresh:
            wish = _least_asked(fresh, earlier, free=not plan["phase"], key=scene.key)
            return _go("Another service that the agent has named.", wish)
    if over:
        polite = say(
            talk, "bye" if reply_.kind == "bye" or read(scene.last).more or done_before else "refused_end", scene.key
        )
        return _done(reply_.why, polite if reply_.kind != "end" and not _said(polite, scene) else "")
    if astray:
        return _done("The agent does not come further.", say(talk, "refused_end", scene.key))
    return _fresh(reply_.why, reply_.message, scene, talk)


def _other_record(scene: Scene, talk: Talk) -> str:
    """The request once more for another record of the same kind, such as the second of the customer's orders; empty without one."""
    spoken = "\n".join(scene.said)
    kinds: dict[str, list[Fact]] = {}
    for fact in of_seed(scene.seed):
        kinds.setdefault(re.sub(r"[_ ]?\d+$", "", fact.name), []).append(fact)
    for name, facts in kinds.items():
        unsaid = [f for f in facts if not mentions(spoken, f.value)]
        if unsaid and len(unsaid) < len(facts):
            slot = human(Slot(name, ""))
            return f"{scene.goal} {say(talk, 'give_one', scene.key, slot=slot, value=unsaid[0].value)}"
    return ""


def _own_details(scene: Scene, talk: Talk) -> str:
    """All that the brief holds of the customer in one message; empty once it was said."""
    spoken = "\n".join(scene.said)
    if not scene.seed or not scene.asked or all(mentions(spoken, value) for value in scene.seed.values()):
        return ""
    listed = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in scene.seed.items())
    return say(talk, "identify", scene.key, facts=listed)


def _plain_start(message: str) -> bool:
    return not message.isdigit()


def _said(message: str, scene: Scene) -> bool:
    return message in scene.said


def _repeating(scene: Scene) -> bool:
    """Whether the last two replies are the same in all but values."""
    return len(scene.turns) >= 2 and words(scene.turns[-1]["agent"]) == words(scene.turns[-2]["agent"])


def _fresh(why: str, message: str, scene: Scene, talk: Talk) -> dict[str, Any]:
    """Send a message unless it has been answered with this very reply before."""
    answered = [
        u
        for u, before in zip(scene.said, scene.replies, strict=False)
        if u == message and words(before) == words(scene.last)
    ]
    if not answered:
        return _go(why, message)
    others = [m for m in (scene.goal, talk.single["any_will_do"], *talk.say["which_ones"]) if m and m not in scene.said]
    if len(answered) >= 2 or not others:
        return _done("The agent does not come further.", say(talk, "refused_end", scene.key))
    return _go("The same answer did not help.", others[0])


def _least_asked(requests: Mapping[str, Service], earlier: Sequence[Mapping[str, Any]], *, free: bool, key: Any) -> str:
    """The request for the service asked for least; without memory, any of them by hash."""
    if not requests:
        return ""
    if free:
        return pick((key, "service"), list(requests))
    return min(requests, key=lambda r: sum(pursued(requests[r], session) for session in earlier))


def _hurry(earlier: Sequence[Mapping[str, Any]], goal: str) -> bool:
    """Whether to introduce oneself at once: an earlier session ran out of turns over it, or simply every third time."""
    return bool(_cut(earlier, goal)) or len(earlier) % 3 == 2


def _cut(earlier: Sequence[Mapping[str, Any]], goal: str) -> list[Mapping[str, Any]]:
    """Sessions that asked for the same and ran out of turns."""
    about = content(goal)
    return [
        s
        for s in earlier
        if s.get("phase") == "happy_path"
        and len(s["turns"]) >= 5
        and not any(outcomes(s)[-2:])
        and any(alike(about, content(text)) > 0.9 for text in meant(s))
    ]


def _choices(earlier: Sequence[Mapping[str, Any]], goal: str, seeds: Sequence[Mapping[str, str]]) -> list[str]:
    """Ordinary choices of the last session that ran out of turns, to be made at once this time."""
    personal = [fact.value for seed in seeds for fact in of_seed(seed)]
    found: dict[str, str] = {}
    for session in _cut(earlier, goal)[-1:]:
        replies = [session["greeting"], *(t["agent"] for t in session["turns"])]
        begun = next(n for n, text in enumerate(meant(session)) if alike(content(goal), content(text)) > 0.9)
        for before, turn in list(zip(replies, session["turns"], strict=False))[begun:]:
            slots, after = read(before).slots, read(turn["agent"])
            if (
                len(slots) <= 1
                and (slots or read(before).options)
                and not (slots and identifying(slots[0]))
                and not (after.refused or after.rejected or after.misunderstood)
            ):
                value = turn["user"].rstrip(".").removesuffix(", please")
                if (
                    len(value.split()) <= 4
                    and not value.endswith("?")
                    and not any(mentions(value, v) or mentions(v, value) for v in personal)
                ):
                    found[human(slots[0]) if slots and slots[0].name else value] = value
    return [f"{value}." if name == value else f"{name[0].upper()}{name[1:]}: {value}." for name, value in found.items()]


def _first_slots(earlier: Sequence[Mapping[str, Any]]) -> list[Slot]:
    """Identifying details that the agent asked for in earlier sessions, the most frequent first."""
    counts: dict[str, int] = {}
    wishes: dict[str, Slot] = {}
    for session in earlier:
        for turn in session["turns"]:
            for slot in read(turn["agent"]).slots:
                parts = naming(slot.name)
                if parts.kinds and (parts.kinds != {"number"} or parts.owners):
                    counts[slot.name] = counts.get(slot.name, 0) + 1
                    wishes.setdefault(slot.name, slot)
    return [wishes[name] for name in sorted(counts, key=lambda n: (-counts[n], n))[:4]]


def _discover(text: str, earlier: Sequence[Mapping[str, Any]], scene: Scene, talk: Talk) -> dict[str, Any]:
    """Ask what the agent can do, and what it needs for each service."""
    key = scene.key
    if not scene.turns:
        greet = say(talk, "greet", key)
        return _go("Learn what the agent offers.", f"{greet}, {say(talk, 'discover', key)}")
    known = _known(scene, earlier)
    question = read(scene.last)
    again = say(talk, "discover_again", key)
    if not services(scene.turns[0]["agent"], True) and not (_said(again, scene) or question.closed):
        return _go("The agent did not say what it can do.", again)
    asked = {s.text: sum(asks_needs(s, t["user"]) for x in earlier for t in x["turns"]) for s in known}
    quoted = wished(text, known, key)
    now = [s for s in known if any(asks_needs(s, u) for u in scene.said)]
    waiting = sorted(
        (s for s in known if s not in now),
        key=lambda s: (not (quoted and alike(s.words, content(quoted)) > 0.9), asked[s.text]),
    )
    wanted = any(identifying(s) for s in question.slots)
    if now and (wanted or question.options or question.misunderstood) and not question.refused:
        reply_ = answer(scene._replace(goal=request(now[-1], key), curious=True))
        given = sum(any(identifying(s) for s in read(t["agent"]).slots) for t in scene.turns[:-1])
        if reply_.kind in ("give", "choose") and given < 2 and not _said(reply_.message, scene):
            return _go(reply_.why, reply_.message)
    if question.gate or question.offer:
        declined = say(talk, "not_now", key)
        if not _said(declined, scene):
            return _go("Only asking.", declined)
    if waiting:
        service = waiting[0]
        kind = "needs" if service.form == "base" else "needs_noun"
        return _go("What this service needs is not known yet.", say(talk, kind, (key, service.text), x=service.text))
    if not _said(again, scene) and not (known and question.closed):
        return _go("There may be more.", again)
    return _done("All that the agent named was asked about.", say(talk, "refused_end", key))


def asks_needs(service: Service, text: str) -> bool:
    """Whether a message asks what a service needs."""
    return text.endswith("?") and service.text in text


def _again(
    plan: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]], seeds: Sequence[Mapping[str, str]], scene: Scene
) -> dict[str, Any] | None:
    """Repeat an earlier session: its request, then its answers wherever the agent says what it said then."""
    past = _model_session(f"{plan['objective']}\n{plan['strategy']}", earlier)
    if past is None:
        return None
    position = seed_in("\n".join(t["user"] for t in past["turns"]), seeds)
    scene = scene._replace(seed=seeds[position] if position >= 0 else scene.seed, goal=past["turns"][0]["user"])
    if not scene.turns:
        return _go("The request of an earlier session.", past["turns"][0]["user"])
    settled = any(outcomes(past))
    replies = [t["agent"] for t in past["turns"]]
    following = [t["user"] for t in past["turns"][1:]]
    place = len(scene.turns)
    order = sorted(range(len(following)), key=lambda i: (abs(i + 1 - place), i))
    for i in order:
        repeated = following[i] in scene.said and following[i] not in following[:i]
        if settled and not repeated and resembles(scene.last, replies[i]):
            return _go("The agent says what it said then.", following[i])
    if resembles(scene.last, replies[-1]) and (len(scene.turns) >= len(replies) or not read(scene.last).asks):
        return _done("The same outcome as before.")
    reply_ = answer(scene)
    if reply_.kind in ("bye", "end", "nudge") or _said(reply_.message, scene) and reply_.kind != "confirm":
        return _done(
            "The outcome of this session.",
            reply_.message if reply_.kind == "bye" and not _said(reply_.message, scene) else "",
        )
    return _go(reply_.why, reply_.message)


def _model_session(text: str, earlier: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The session to repeat: named by the plan, else the last that came to a completion, else the last of substance."""
    usable = [s for s in earlier if len(s["turns"]) >= 2 and s["turns"][0]["agent"].strip()]
    for session in usable:
        if session["id"] and session["id"] in text:
            return session
    for quoted in QUOTED.findall(text):
        for session in usable:
            if quoted in session["turns"][0]["user"]:
                return session
    done = [s for s in usable if "done" in outcomes(s)]
    paths = [s for s in usable if s.get("phase") == "happy_path"]
    return next(iter([s for s in paths if s in done][-1:] or paths[-1:] or done[-1:] or usable[-1:]), None)
