"""The offline tester's customer: planner, driver and runner by rules, on toy agents of several trades and on noise."""

from __future__ import annotations

import json
from collections import Counter

import pytest
import toy_agents
from hypothesis import given, settings
from hypothesis import strategies as st

from agenteval.chat import Session
from agenteval.tester.discover import DEFAULTS, NAIVE, Budget, Plan, schedule, session_view
from agenteval.tester.roles import driver as driver_role
from agenteval.tester.roles import planner as planner_role
from agenteval.tester.roles import runner as runner_role
from agenteval.tester.rules import driver, planner, runner
from agenteval.tester.rules.answers import Scene, answer
from agenteval.tester.rules.facts import of_seed, values
from agenteval.tester.rules.likeness import resembles
from agenteval.tester.rules.questions import Slot, outcome, read
from agenteval.tester.rules.services import request, services
from agenteval.tester.rules.shapes import codes, fitted
from agenteval.tester.rules.talk import load
from agenteval.tester.vetting import fault
from agenteval.tester.views import turn_view
from agenteval.types import Brief

SEED = {"name": "Ann Lee", "member_no": "M-10234", "email": "ann@example.org", "date_of_birth": "1988-03-14"}


def converse(agent, plan: Plan, brief: Brief, past, turns: int):
    """One session between an agent and the driver; what was sent must be sendable."""
    session = Session(agent, budget=turns, timeout=None)
    stop = "budget"
    while not session.over:
        view = {"greeting": session.greeting, "turns": [turn_view(n, t) for n, t in enumerate(session.turns, 1)]}
        inputs = {"plan": {**plan._asdict(), "turns_left": turns - len(session.turns)}, "brief": brief.model_dump(mode="json"),
                  "earlier": [session_view(t) for t in past], "conversation": view}  # fmt: skip
        said = driver_role.Reply.model_validate(driver.reply(json.loads(json.dumps(inputs))))
        assert said.message or said.done
        if said.message:
            assert fault(said.message, session.turns, session.greeting) is None
            session.say(said.message)
        if said.done:
            stop = "objective"
            break
    return session.trace(len(past), stop, phase=plan.phase, objective=plan.objective, strategy=plan.strategy)


def explore(make, rounds: int = 12, turns: int = 7):
    """Discovery with the rules as planner and driver; returns the traces and what the agent really did."""
    agent, past, log = make(), [], []
    brief = Brief(domain="", seeds=make.seeds)
    warmup = schedule(Budget())
    for number in range(rounds):
        if number < len(warmup):
            plan = DEFAULTS[warmup[number]]
        else:
            counts = Counter(t.phase for t in past)
            inputs = {"brief": brief.model_dump(mode="json"), "phases": {p: counts[p] for p in DEFAULTS},
                      "sessions": [session_view(t) for t in past]}  # fmt: skip
            reply = planner_role.Reply.model_validate(planner.reply(json.loads(json.dumps(inputs))))
            plan = Plan(reply.phase, reply.objective, reply.strategy)
        agent.log.clear()
        past.append(converse(agent, plan, brief, past, turns))
        log += agent.log
    return past, log


AGENTS = [toy_agents.Library, toy_agents.Clinic, toy_agents.Parcels, toy_agents.PhoneShop, toy_agents.Hotel, toy_agents.Energy,
          toy_agents.Theatre]  # fmt: skip


@pytest.mark.parametrize("make", AGENTS, ids=lambda a: a.__name__)
def test_every_workflow_is_walked_to_its_end_through_its_gate(make):
    traces, log = explore(make)
    done = {entry.removeprefix("done:") for entry in log if entry.startswith("done:")}
    assert done == set(make.services)
    assert {t.phase for t in traces} == set(DEFAULTS)


@pytest.mark.parametrize("make", AGENTS, ids=lambda a: a.__name__)
def test_sessions_do_not_go_round_in_circles(make):
    traces, _ = explore(make, rounds=6)
    for trace in traces:
        replies = [t.agent for t in trace.turns]
        assert not any(
            replies[i] == replies[i + 1] == replies[i + 2] == replies[i + 3] for i in range(len(replies) - 3)
        )


def test_the_naive_arm_asks_for_what_the_greeting_names():
    agent = toy_agents.Library()
    trace = converse(agent, NAIVE, Brief(domain="", seeds=agent.seeds), [], 8)
    assert any(entry.startswith("done:") for entry in agent.log)
    assert trace.stop in ("budget", "objective")


def test_one_person_per_session():
    for make in AGENTS:
        traces, _ = explore(make, rounds=8)
        telling = [[v for v in seed.values() if len(v) > 4] for seed in make.seeds]
        for trace in traces:
            said = "\n".join(t.user for t in trace.turns)
            assert sum(any(v in said for v in vs) for vs in telling) <= 1


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("Could I have your membership number, please?", ["membership_number"]),
        ("And your date of birth?", ["date_of_birth"]),
        ("Enter the last 4 digits of your mobile number.", ["mobile_number"]),
        ("Step 1 of 3. Contract number (format KE-0000-00):", ["contract_number"]),
        ("For how many nights?", ["number_of_nights"]),
        ("Please send me:\n- your tracking number\n- the delivery postcode", ["tracking_number", "delivery_postcode"]),
    ],
)
def test_details_that_are_asked_for(text, slots):
    assert [s.name for s in read(text).slots] == slots


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Would you like standard or express delivery?", ["standard", "express delivery"]),
        ("Which one?\n1) Mon 12 May\n2) Tue 13 May", ["Mon 12 May", "Tue 13 May"]),
        ("We have workshops in Dublin, Cork and Galway - where do you want to go?", ["Dublin", "Cork", "Galway"]),
        (
            "You could move to Flex (20 GB), Family (60 GB) or Unlimited. Which of those appeals to you?",
            ["Flex", "Family", "Unlimited"],
        ),
        ("Press 1 for billing, 2 for support.", ["billing", "support"]),
    ],
)
def test_options_that_are_offered(text, options):
    assert [o.text for o in read(text).options] == options


@pytest.mark.parametrize(
    "text",
    ["Shall I go ahead and cancel it?", "Type CONFIRM to book or MENU to start again.", "Is everything in order?",
     "Does everything look right, and may I place this now?", "Please reply YES to continue.", "Do you really want to cancel?"],
)  # fmt: skip
def test_gates_are_confirmed(text):
    reply = answer(
        Scene(SEED, "I want to cancel my visit.", "", [{"user": "I want to cancel my visit.", "agent": text}], 0)
    )
    assert reply.kind == "confirm"
    assert reply.message.lower().startswith(("yes", "confirm"))


def test_a_value_is_repeated_bare_then_given_up():
    turns = [
        {"user": "Hello", "agent": "What is your member number?"},
        {"user": "It is M-10234.", "agent": "That number is not valid."},
    ]
    assert answer(Scene(SEED, "I want to renew.", "", turns, 0)).message == "M-10234"
    turns.append({"user": "M-10234", "agent": "That number is not valid."})
    reply = answer(Scene(SEED, "I want to renew.", "", turns, 0))
    assert reply.kind == "lack" and "M-10234" not in reply.message


def test_identity_is_never_made_up():
    turns = [{"user": "I want to renew.", "agent": "What is your passport number, e.g. P123456?"}]
    reply = answer(Scene(SEED, "I want to renew.", "", turns, 0))
    assert reply.kind == "lack"
    assert not any(c.isdigit() for c in reply.message)


@pytest.mark.parametrize(
    ("slot", "wish", "value"),
    [("membership_number", "", "M-10234"), ("your_number", "", "M-10234"), ("last_name", "", "Lee"), ("email_address", "", "ann@example.org"),
     ("birth_date", "as DD/MM/YYYY", "14/03/1988"), ("year_of_birth", "the year of birth", "1988"), ("order_number", "", None)],
)  # fmt: skip
def test_facts_answer_slots_by_name_and_shape(slot, wish, value):
    found = values(Slot(slot, wish), of_seed(SEED), load())
    assert (found[0] if found else None) == value


def test_services_in_the_words_of_the_agent():
    named = services("I can book, change or cancel appointments. How may I help?", True)
    assert [s.text for s in named] == ["book appointments", "change appointments", "cancel appointments"]
    assert services("You have two loans. Which one would you like to renew?") == ()
    assert "appointments" in request(named[0], 0)


def test_outcomes_and_likeness():
    assert outcome("Your booking has been cancelled.", "") == "done"
    assert outcome("I'm afraid this fare cannot be refunded.", "") == "refused"
    assert outcome("Could you give me the number?", "") == ""
    assert resembles("Could you tell me your order number?", "What is the number of your order?")
    assert not resembles("Your order was cancelled.", "What is the number of your order?")


def run_test(agent, brief: Brief, steps: list[dict], extra: int = 2, goal: str = "") -> list[dict]:
    """One test by the runner's rules."""
    budget = len(steps) + extra
    session, turns = Session(agent, budget=budget, timeout=None), []
    while not session.over:
        inputs = {"test": {"goal": goal, "steps": steps, "turns_left": budget - len(turns)}, "brief": brief.model_dump(mode="json"),
                  "conversation": {"greeting": session.greeting, "turns": turns}}  # fmt: skip
        said = runner_role.Reply.model_validate(runner.reply(json.loads(json.dumps(inputs))))
        assert 0 <= said.step <= len(steps)
        if said.done and not said.message:
            break
        turn = session.say(said.message)
        turns.append({"turn": len(turns) + 1, "step": said.step, "user": turn.user, "agent": turn.agent})
    return turns


ROUTE = [
    {"step": 1, "text": "I want to renew a loan.", "part": "route", "expects": "How may I help?"},
    {"step": 2, "text": "My number is RL-20417.", "part": "route", "expects": "Could I have your membership number, please?"},
    {"step": 3, "text": "14/03/1988", "part": "route", "expects": "Thank you. And your date of birth, for verification? (DD/MM/YYYY)"},
    {"step": 4, "text": "The Sea", "part": "route", "expects": "You have 2 book(s) out: The Sea, Dublin Walks. Which one is to be renewed?"},
    {"step": 5, "text": "Actually, make it two copies.", "part": "perturbation", "expects": 'So I will renew "The Sea" for you. Is that all right?'},
]  # fmt: skip


def test_the_runner_walks_a_route_verbatim():
    turns = run_test(toy_agents.Library(), Brief(domain="", seeds=toy_agents.Library.seeds), ROUTE)
    assert [t["step"] for t in turns] == [1, 2, 3, 4, 5]
    assert [t["user"] for t in turns] == [s["text"] for s in ROUTE]


def test_the_runner_answers_questions_that_the_route_did_not_have():
    steps = [{**s, "step": n} for n, s in enumerate([ROUTE[0], ROUTE[1], ROUTE[3], ROUTE[4]], 1)]
    turns = run_test(toy_agents.Library(), Brief(domain="", seeds=toy_agents.Library.seeds), steps)
    assert [t["step"] for t in turns] == [1, 2, 0, 3, 4]
    assert "14/03/1988" in turns[2]["user"]


def test_the_runner_leaves_out_what_became_pointless():
    opening = {**ROUTE[0], "text": "I want to renew a loan. My number is RL-20417."}
    turns = run_test(toy_agents.Library(), Brief(domain="", seeds=toy_agents.Library.seeds), [opening, *ROUTE[1:]])
    assert [t["step"] for t in turns] == [1, 3, 4, 5]


def test_the_runner_ends_on_an_agent_that_repeats_itself():
    class Parrot:
        def reset(self):
            return "Hi"

        def invoke(self, text):
            return "What is your favourite colour?"

    steps = [{"step": n, "text": f"route {n}", "part": "route", "expects": "Your order number?"} for n in range(1, 9)]
    assert len(run_test(Parrot(), Brief(domain=""), steps)) <= 6


HOSTILE = ["", " ", "<html><body><h1>502 Bad Gateway</h1></body></html>", "x" * 200_000, "{a} {x} {goal} {value}", "\ud800", "你好，请问有什么可以帮您？",
           "¿En qué puedo ayudarle?", "1. 2. 3.", "- \n- \n- ", "```json\n{}\n```", "(" * 500, "A or B or C or D or?", ": : :", "?" * 300]  # fmt: skip
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=200),
                  st.lists(st.sampled_from(["What", "is", "your", "order", "number", "or", "name", "?", "yes", "no", "1)", "2)", "-", ",", ".", "please", "which", "12", "May", "$5", "Shall", "I", "\n"]),
                           max_size=25).map(" ".join))  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    greeting=TEXTS,
    replies=st.lists(st.tuples(TEXTS, TEXTS), max_size=4),
    phase=st.sampled_from(["", *DEFAULTS]),
    seeded=st.booleans(),
)
def test_nothing_that_an_agent_says_breaks_the_customer(greeting, replies, phase, seeded):
    brief = {"domain": "", "seeds": [SEED] if seeded else []}
    turns = [{"turn": n, "user": u[:80] or "hm", "agent": a} for n, (u, a) in enumerate(replies, 1)]
    plan = DEFAULTS.get(phase, NAIVE)
    past = [{"id": "s", "greeting": greeting, "turns": turns, "phase": "happy_path", "objective": "", "strategy": ""}]
    conversation = {"greeting": greeting, "turns": turns}
    inputs = {
        "plan": {**plan._asdict(), "turns_left": 3},
        "brief": brief,
        "earlier": past if phase else [],
        "conversation": conversation,
    }
    said = driver.reply(inputs)
    assert said == driver.reply(inputs)
    reply = driver_role.Reply.model_validate(said)
    assert reply.message.strip() or reply.done
    assert len(reply.message) < 4000
    planner_role.Reply.model_validate(planner.reply({"brief": brief, "phases": {}, "sessions": past}))
    steps = [
        {"step": 1, "text": "Hello", "part": "route", "expects": greeting},
        {"step": 2, "text": "Yes", "part": "perturbation", "expects": ""},
    ]
    stepped = [{**t, "step": 0} for t in turns]
    run = {
        "test": {"goal": "", "steps": steps, "turns_left": 4},
        "brief": brief,
        "conversation": {"greeting": greeting, "turns": stepped},
    }
    acted = runner_role.Reply.model_validate(runner.reply(run))
    assert 0 <= acted.step <= 2


def test_the_driver_stops_on_silence_and_on_endless_repetition():
    for text in ("", "Welcome!", "What is your order number?"):

        class Stone:
            def reset(self):
                return ""

            def invoke(self, said, text=text):
                return text

        trace = converse(Stone(), DEFAULTS["happy_path"], Brief(domain="", seeds=(SEED,)), [], 12)
        assert len(trace.turns) <= 5


def test_shapes():
    assert codes("Your orders: #W123, B-77 of 2025-01-01 at 10:30 for $30.") == ["W123", "B-77"]
    assert fitted("1988-03-14", "Format: DD-MM-YYYY", load()) == "14-03-1988"


def test_another_value_is_not_a_new_one():
    text = "I couldn't find that account. If you have another email, please provide it."
    turns = [{"user": "Hi", "agent": "Your e-mail address?"}, {"user": "It is ann@example.org.", "agent": text}]
    assert "@" not in answer(Scene(SEED, "I want to renew.", "", turns, 0)).message.replace("ann@example.org", "")
    turns = [{"user": "I want to change my e-mail.", "agent": "What is the new e-mail address?"}]
    assert "@" in answer(Scene(SEED, "I want to change my e-mail.", "", turns, 0)).message
