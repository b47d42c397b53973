"""The dialogue loop: one engine for every domain.

A task (a cancellation, a booking) is a name and the values known so far. Its *workflow* is a plain function that is run
from the top on every turn: it passes what is known, and at the first thing that is missing, wrong or forbidden it says
so and pauses. Corrections and values in any order need nothing more: they change the values before the next run. A new
topic suspends the task; it is taken up again when the other one is over.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NoReturn

from agenteval.store import content_id
from agenteval.subjects.scripted import menu, spelling, understand
from agenteval.subjects.scripted.log import SessionLog
from agenteval.subjects.scripted.task import Domain, Pause, Task
from agenteval.subjects.scripted.understand import Reading


class Talk:
    """One session: hidden state, and the words that workflows use to speak, ask, refuse and check."""

    def __init__(self, domain: Domain, guards: dict[str, dict[str, str]], fault: str | None):
        self.domain = domain
        self.guards = guards
        self.fault = fault
        self.log = SessionLog()
        self.tools = domain.tools(domain.data(), self.log)
        self.language = understand.patterns(domain.folder / "language.yaml")
        self.words = spelling.vocabulary(domain.folder)
        self.reading = Reading("")
        self.said: list[tuple[str, dict[str, Any]]] = []
        self.task: Task | None = None
        self.waiting: list[Task] = []
        self.facts: dict[str, Any] = {}
        """The domain's memory of the session: who is speaking, what was done."""
        self.changed: set[str] = set()
        self.before: list[str] = []
        """The acts of the last reply."""
        self.tasks = 0

    # ---- words of the workflows

    def say(self, act: str, **values: Any) -> None:
        self.said.append((act, values))

    def ask(self, slot: str, act: str, **values: Any) -> NoReturn:
        self.say(act, **values)
        self.task.asked = slot
        raise Pause

    def refuse(self, act: str, *, offer: str | None = None, **values: Any) -> NoReturn:
        self.say(act, **values)
        self.close("refused", offer=offer)
        raise Pause

    def finish(self, act: str, **values: Any) -> NoReturn:
        self.say(act, **values)
        self.facts["report"] = act, values
        self.close("done")
        raise Pause

    def close(self, state: str, *, offer: str | None = None) -> None:
        self.task.state, self.task.offer, self.task.asked, self.task.gate = state, offer, None, None
        self.log.add("state", change=f"task_{state}", task=self.task.name)

    def guard(self, guard: str, ok: bool, **facts: Any) -> bool:
        """Check a guard: True lets the workflow pass. With its fault active it always does."""
        capability = self.task.name if self.task else self.guards[guard]["capability"]
        outcome = "skipped" if self.fault == guard else "held" if ok else "failed"
        if outcome == "skipped":
            facts["would"] = "held" if ok else "failed"
        self.log.guard(guard, outcome, self.task.number if self.task else 0, capability=capability, **facts)
        return ok or self.fault == guard

    def gate(self, guard: str, act: str, **values: Any) -> None:
        """Return only when the user has said yes to exactly this, after it was presented."""
        task, reading = self.task, self.reading
        shown = content_id(act, values)
        open_gate = task.asked == "confirm" and task.gate is not None
        if task.resumed and task.gate is not None:
            task.resumed = False
            if self.guard("gate_after_detour", False):
                return
            self._present(act, shown, values)
        if not open_gate:
            if self.guard(guard, False):
                return
            self._present(act, shown, values)
        same = task.gate == shown
        if "hold" in reading.flags and same and not any(c.isdigit() for c in reading.text):
            self.guard(guard, False)
            self.say("on_hold")
            raise Pause
        if reading.answer == "no" and same:
            if self.guard("decline_respected", False):
                return
            self.say("declined")
            self.close("dropped")
            raise Pause
        if not same:
            if self.guard("reconfirm_after_change", False) and reading.answer == "yes":
                return
            self._present(act, shown, values)
        if reading.answer == "yes" and "but" not in reading.flags:
            for passed in (
                "nothing_pending",
                "decline_respected",
                "reconfirm_after_change",
                *(["gate_after_detour"] if task.detoured else []),
            ):
                self.guard(passed, True)
            self.guard(guard, True)
            return
        if reading.answer == "yes":
            self.say("what_to_change")
            raise Pause
        self.guard(guard, False)
        if not reading.question:
            self.say("need_clear_answer")
        self._present(act, shown, values)

    def _present(self, act: str, shown: str, values: dict[str, Any]) -> NoReturn:
        self.task.gate = shown
        self.ask("confirm", act, **values)

    # ---- one turn

    def hear(self, text: str) -> None:
        """Understand one utterance and say what follows from it."""
        self.log.turn += 1
        self.before, self.said = [act for act, _ in self.said], []
        asked = self.task.asked if self.task else None
        self.reading = understand.read(spelling.mend(understand.tidy(text), self.words), self.language)
        self.reading.slots = self.domain.extract(self.reading.text, asked, self.tools.data)
        self.changed = set()
        try:
            self._step()
        except Pause:
            return

    def _step(self) -> None:
        reading = self.reading
        if not any(c.isalnum() for c in reading.text):
            self.say("empty")
            self._resume()
            return
        offered = "capabilities" in self.before
        if (offered or not reading.intents) and (not self._open() or "retract" in reading.flags):
            named = menu.chosen(reading, self.language, self.domain.menu, offered=offered)
            reading.intents = named or reading.intents
        self.domain.listen(self)
        if self._abandoned():
            return
        self._aside()
        wanted = [i for i in reading.intents if not (self._open() and self.domain.keep(self, i))]
        missed = asked = None
        if wanted and self.task and self._same(wanted[0]):
            self.changed = self.domain.merge(self, self.task)
            self.task.state = "open"
        elif wanted:
            self.begin(wanted)
        elif self.task is None:
            self._idle()
            return
        else:
            self.changed = self.domain.merge(self, self.task)
            if not self._open() and not self._reopen():
                return
            missed, asked = self._missed(), self.task.asked
        self._run()
        # A workflow may make something of an answer in which no value was found.
        if missed and self._open() and self.task.asked == asked:
            self.said.insert(0, (missed, {}))

    def _same(self, name: str) -> bool:
        """Whether a refused or just dropped task is asked for once more, rather than the same for something else."""
        if self.task.state != "refused" and not (self.task.state == "dropped" and "retract" in self.reading.flags):
            return False
        record = self.domain.record
        named = self.reading.slots.get(f"{record}s") or []
        return self.task.name == name and all(n == self.task.slots.get(record) for n in named)

    def _open(self) -> bool:
        return self.task is not None and self.task.state == "open"

    def _abandoned(self) -> bool:
        """Hear "never mind" and "cancel that" while something is under way: it is dropped, or the gate hears a no."""
        reading = self.reading
        record, cancels = self.domain.record, self.domain.cancels
        if not self._open() or reading.slots.get(f"{record}s"):
            return False
        # "Cancel it" means the record when one is being talked about, and what is under way when there is none.
        if (
            "cancel_that" in reading.flags
            and self.task.name not in cancels
            and (self.task.asked == "confirm" or not self.task.slots.get(record))
        ):
            reading.intents = [i for i in reading.intents if i not in cancels]
        elif "abandon" not in reading.flags and ("elsewhere" not in reading.flags or self._said_values()):
            return False
        if self.task.asked == "confirm":
            reading.answer = "no"
            return False
        if reading.intents:
            if not any(self.domain.keep(self, i) for i in reading.intents):
                self.close("dropped")
            return False
        self.say("declined")
        self.close("dropped")
        self._run_next()
        return True

    def _aside(self) -> None:
        """Answer what lies beside any task; a turn that held nothing else ends here."""
        reading = self.reading
        asides = 0
        for name in reading.outside[:1]:
            if not self.guard("topic_scope", False, topic=name):
                self.say("outside_scope", topic=name.replace("_", " "))
            else:
                self.say("outside_done", topic=name.replace("_", " "))
            asides += 1
        for name in reading.topics[:2]:
            self.say(f"topic_{name}")
            asides += 1
        if "help" in reading.flags and not reading.intents:
            self.say("capabilities")
            asides += 1
        if asides and not reading.intents and reading.answer is None and not self._said_values():
            self._resume()
            raise Pause
        if "bye" in reading.flags and not reading.intents and not reading.question and not self._said_values():
            self.say("goodbye_open" if self._open() else "goodbye")
            if self._open():
                self.close("dropped")
            self.task, self.waiting = None, []
            raise Pause

    def _said_values(self) -> bool:
        return any(v for k, v in self.reading.slots.items() if not k.startswith("_"))

    def begin(self, wanted: list[str]) -> None:
        """Start what the user wants; an open task waits, further wishes queue."""
        if self._open():
            self.waiting.insert(0, self.task)
            self.log.add("state", change="task_suspended", task=self.task.name)
        tasks = []
        for name in self._apart(list(dict.fromkeys(wanted))):
            self.tasks += 1
            tasks.append(Task(name, self.tasks))
            self.waiting = [t for t in self.waiting if t.name != name or t.state != "open"]
        previous, self.task = self.task, tasks[0]
        self.facts["previous"] = previous
        for task in tasks:
            self.domain.merge(self, task)
        self.waiting[:0] = tasks[1:]
        self.log.add("state", change="task_begun", task=self.task.name)
        self.guard("topic_scope", True)

    def queue(self, name: str, values: list[dict[str, Any]]) -> None:
        """The same once more, with other values, after what is under way."""
        for slots in values:
            self.tasks += 1
            self.waiting.append(Task(name, self.tasks, slots))

    def _apart(self, names: list[str]) -> list[str]:
        """Intents that are no mere part of another one: "book a flight from A to B" is no search besides."""
        current, out = self.task, []
        for name in names:
            kept = False
            for other in names:
                self.task = Task(other, 0)
                kept = kept or (other != name and self.domain.keep(self, name))
            if not kept:
                out.append(name)
        self.task = current
        return out or names[:1]

    def _reopen(self) -> bool:
        """After a refusal or a completion: does the user press, correct, or accept what was offered?"""
        reading, task = self.reading, self.task
        if task.state == "refused" and task.offer and reading.answer == "yes" and not self.changed:
            self.begin([task.offer])
            self.task.slots["ground"] = task.name
            self._run()
            return False
        insists = reading.answer == "yes" and len(reading.text.split()) > 1 and "thanks" not in reading.flags
        pressed = task.state == "refused" and (
            insists or {"press", "correction", "but"} & reading.flags or reading.slots.get("claims")
        )
        understood = reading.answer == "yes" and task.state == "refused" and "thanks" not in reading.flags
        if "abandon" in reading.flags or ((reading.answer == "no" or understood) and not self.changed and not pressed):
            self.say("anything_else_no")
            return False
        if (task.state == "refused" and (pressed or self.changed)) or (
            task.state == "done" and task.name in self.domain.lookups and self.changed
        ):
            task.state = "open"
            return True
        if task.state == "dropped" and reading.answer == "yes" and reading.flags & {"press", "correction", "retract"}:
            task.state = "open"
            return True
        stray_yes = reading.answer == "yes" and not reading.flags & {"thanks", "ack"} and not self.said
        if stray_yes and not self.changed and task.state == "done":
            if self.guard("nothing_pending", False):
                task.state, self.reading = "open", Reading("")
                self.facts["repeat"] = True
                return True
            self.say("nothing_pending")
            return False
        self._idle()
        return False

    def _missed(self) -> str | None:
        """The act that admits that an answer held nothing of use; None when it held something."""
        reading = self.reading
        told = self.said or self.changed or reading.intents or reading.answer or self._said_values()
        if told or self.task.asked is None:
            return None
        if "smalltalk" in reading.flags:
            return "smalltalk"
        known = {"unknown", "again", "thanks", "greeting", "press", "but", "price"}
        return None if reading.flags & known else "not_understood"

    def _run(self) -> None:
        self.log.capability = self.task.name
        with suppress(Pause):
            self.domain.workflows[self.task.name](self)
        self.facts.pop("repeat", None)
        self._take_no()
        if self.task.state != "open":
            self._run_next()

    def _take_no(self) -> None:
        """Drop what is under way when the same question would follow upon a no."""
        flags = self.reading.flags & {"hold", "unknown", "press", "correction", "but"}
        asked_again = self._open() and self.said and self.before and self.said[-1][0] == self.before[-1]
        if self.reading.answer == "no" and not flags and not self.changed and asked_again:
            self.said[-1] = ("declined", {})
            self.close("dropped")

    def _run_next(self) -> None:
        """After a task is over, the one that waits longest is taken up."""
        if not self.waiting:
            return
        self.task = self.waiting.pop(0)
        self.reading, self.changed = Reading(""), set()
        if self.task.asked or self.task.gate:
            self.say("back_to", task=self.domain.titles[self.task.name])
        self.task.resumed = self.task.detoured = self.task.gate is not None
        self._run()

    def _resume(self) -> None:
        """Take an open task up again after a word about something else."""
        if self._open():
            self.reading, self.changed = Reading(""), set()
            self.task.resumed = self.task.detoured = self.task.gate is not None
            self._run()

    def _idle(self) -> None:
        reading = self.reading
        if self.said:
            return
        stray_yes = reading.answer == "yes" and not reading.flags & {"thanks", "greeting", "ack"}
        if stray_yes and not self.guard("nothing_pending", False):
            self.say("nothing_pending")
            return
        for flag, act in (("thanks", "welcome"), ("smalltalk", "smalltalk"), ("greeting", "hello")):
            if flag in reading.flags:
                self.say(act)
                return
        if "again" in reading.flags and "report" in self.facts:
            act, values = self.facts["report"]
            self.say(act, **values)
        elif reading.answer == "no" or "ack" in reading.flags:
            self.say("anything_else_no")
        elif "press" in reading.flags or "unknown" in reading.flags:
            self.say("what_is_it_about")
        else:
            self.say("fallback")
