"""Discovery, targets, grounding, synthesis and execution with models that say what they are told to."""

from __future__ import annotations

import json
import random

import pytest

from agenteval.errors import ChatError, ModelUnreachable
from agenteval.llm.ask import blocks
from agenteval.llm.scripted import Scripted
from agenteval.tester import synthesize
from agenteval.tester.discover import DEFAULTS, Budget, discover, schedule
from agenteval.tester.execute import execute, judge_run, run_id, run_test, stands
from agenteval.tester.graph import mine
from agenteval.tester.ground import Drop, concrete, duplicate, ground
from agenteval.tester.roles import boundary, functional
from agenteval.tester.targets import places, rank, targets
from agenteval.tester.vetting import fault, loops
from agenteval.types import Brief, Criterion, LabelledTrace, LabelledTurn, Step, Test, Trace, Turn

BRIEF = Brief(
    domain="bicycles", seeds=({"name": "Ann Lee", "member": "M-10234"}, {"name": "Bo Ray", "member": "M-20111"})
)


class Parrot:
    """Says the same again, counts, or fails, as told; `begun` counts its sessions."""

    begun = 0

    def __init__(self, reply=lambda n, text: f"{n}: {text}"):
        self.reply = reply
        self.n = 0

    def reset(self):
        type(self).begun += 1
        return "Welcome"

    def invoke(self, text):
        self.n += 1
        result = self.reply(self.n, text)
        if isinstance(result, Exception):
            raise result
        return result


def drive(message="hello", done=False):
    return json.dumps({"why": "", "message": message, "done": done})


PLAN = json.dumps({"why": "", "phase": "happy_path", "objective": "o", "strategy": "s"})


def explorer(messages):
    """A tester that plans the same and says the messages in turn."""
    said = iter(messages) if not callable(messages) else None

    def answer(request):
        if request.role == "planner":
            return PLAN
        return messages(request) if said is None else next(said)

    return Scripted(answer)


# ---- discovery


def test_the_warm_up_follows_the_paper_and_asks_no_planner():
    assert schedule(Budget()) == ["capability_discovery", "happy_path", "happy_path", "consistency_check"]
    assert schedule(Budget(rounds=2)) == ["capability_discovery", "happy_path"]
    model = explorer(lambda r: drive(f"message {len(blocks(r.messages[0].content)['conversation']['turns'])}"))
    traces = discover(lambda unit: Parrot(), BRIEF, model, budget=Budget(rounds=6, turns=2))
    assert [t.phase for t in traces] == [*schedule(Budget()), "happy_path", "happy_path"]
    assert [t.objective for t in traces[:4]] == [DEFAULTS[p].objective for p in schedule(Budget())] and traces[
        4
    ].objective == "o"
    assert [r.role for r in model.requests].count("planner") == 2
    assert all(len(t.turns) == 2 and t.stop == "budget" and t.greeting == "Welcome" for t in traces)
    seen = blocks(model.requests[-1].messages[0].content)["earlier"]
    assert [s["id"] for s in seen] == [t.id for t in traces[:5]]


def test_the_naive_arm_has_no_phases_no_planner_and_no_memory():
    model = explorer(lambda r: drive(f"message {len(blocks(r.messages[0].content)['conversation']['turns'])}"))
    traces = discover(lambda unit: Parrot(), BRIEF, model, strategy="naive", budget=Budget(rounds=6, turns=2))
    assert {(t.phase, t.objective) for t in traces} == {("", traces[0].objective)}
    assert {r.role for r in model.requests} == {"driver"}
    assert all(blocks(r.messages[0].content)["earlier"] == [] for r in model.requests)


@pytest.mark.parametrize(("messages", "turns", "stop"), [
    ([drive("a"), drive("", True)], 1, "objective"),
    ([drive("a"), drive("bye", True)], 2, "objective"),
    ([drive(""), drive("a"), drive("b"), drive("c")], 3, "budget"),
    ([drive(""), drive(" ")], 0, "tester_fault"),
    ([drive('{"message": "x"}'), drive("Agent: hello")], 0, "tester_fault"),
    ([drive("a"), drive("I'm sorry, but I can't assist with that request."), drive("<think>hm")], 1, "tester_fault"),
])  # fmt: skip
def test_how_a_session_ends(messages, turns, stop):
    (trace,) = discover(lambda unit: Parrot(), BRIEF, explorer(messages), budget=Budget(rounds=1, turns=3))
    assert (len(trace.turns), trace.stop) == (turns, stop)
    assert all(t.agent for t in trace.turns), "the last message was answered"


@pytest.mark.parametrize(("reply", "stop", "turns"), [
    (lambda n, text: RuntimeError("SECRET"), "subject_error", 1), (lambda n, text: "same", "loop", 3), (lambda n, text: "", "budget", 5),
    (lambda n, text: "x" * 200_000 + str(n), "budget", 5),
])  # fmt: skip
def test_what_an_agent_can_do_to_a_session(reply, stop, turns):
    model = explorer(lambda r: drive(f"message {len(r.messages[0].content) % 97} {random.random()}"))
    (trace,) = discover(lambda unit: Parrot(reply), BRIEF, model, budget=Budget(rounds=1, turns=5))
    assert (trace.stop, len(trace.turns)) == (stop, turns) and "SECRET" not in trace.model_dump_json()


def test_finished_rounds_are_not_walked_again_and_each_is_kept_at_once():
    kept = []
    model = explorer(lambda r: drive("a") if len(kept) < 2 else ModelUnreachable("gone"))
    with pytest.raises(ModelUnreachable):
        discover(lambda unit: Parrot(), BRIEF, model, budget=Budget(rounds=4, turns=1), keep=kept.append)
    assert len(kept) == 2
    Parrot.begun = 0
    model = explorer(lambda r: drive("a"))
    traces = discover(
        lambda unit: Parrot(), BRIEF, model, budget=Budget(rounds=4, turns=1), finished=[k.trace for k in kept]
    )
    assert Parrot.begun == 2 and len(traces) == 4 and list(traces[:2]) == [k.trace for k in kept]


def test_a_session_that_cannot_begin_is_a_record():
    class Dead(Parrot):
        def reset(self):
            raise OSError("SECRET")

    kept = []
    assert discover(lambda unit: Dead(), BRIEF, explorer([]), budget=Budget(rounds=2), keep=kept.append) == ()
    assert [k.failure.reason for k in kept] == ["subject_error"] * 2 and "SECRET" not in str(kept)


@pytest.mark.parametrize(("message", "reason"), [
    ("Hello, my number is 4.", None), ("", "blank"), ("x" * 5000, "too_long"), ("User: hi", None), ("Assistant: how can I help?", "leak"),
    ("As an AI language model I cannot", "leak"), ("I can't help with that request.", "declined"), ("I can't make it on Friday, is that ok?", None),
    ("I cannot find my booking, can you help?", None), ("Please tell me which of your bookings I should cancel for you now.", "role_flip"),
])  # fmt: skip
def test_vetting(message, reason):
    turns = [Turn(user="cancel", agent="Please tell me which of your bookings I should cancel for you now.")]
    assert fault(message, turns) == reason


def test_loops_are_found_in_any_language():
    assert loops([Turn(user="adiós", agent="¡Adiós!"), Turn(user="chao", agent="¡Chao!")] * 2)
    assert not loops([Turn(user=str(n), agent=f"answer {n}") for n in range(9)])
    assert not loops([Turn(user=str(n), agent="") for n in range(4)])


# ---- targets


def log() -> tuple[list[Trace], list[LabelledTrace]]:
    paths = {
        "00000-a": ["ask_id", "request_confirmation_pay", "confirm_completion_pay"],
        "00001-b": ["ask_id", "deny_pay"],
        "00002-c": ["ask_id", ""],
    }
    traces, labelled = [], []
    for id, path in paths.items():
        traces.append(
            Trace(
                id=id,
                greeting="Welcome",
                turns=tuple(
                    Turn(
                        user=f"message {n} of M-10234",
                        agent=f"{a or ''} reply {n}" if a else "",
                        status="ok" if a else "error",
                    )
                    for n, a in enumerate(path, 1)
                ),
            )
        )
        labelled.append(
            LabelledTrace(
                id=id, turns=tuple(LabelledTurn(turn=n, action=f"act_{n}", activity=a) for n, a in enumerate(path, 1))
            )
        )
    return traces, labelled


def test_every_location_is_a_target_and_has_a_place():
    traces, labelled = log()
    graph = mine(labelled)
    found = targets(graph)
    assert len(found) == len(graph.states) + len(graph.transitions) + len(graph.entries) + len(graph.ends)
    at = places(labelled)
    assert {t.id for t in found} == set(at)
    assert all(len(at[t.id]) == t.support for t in found)
    assert at["edge:ask_id>deny_pay"] == [("00001-b", 2)] and at["end:ask_id"] == [("00002-c", 1)]


def test_ranking_sorts_by_potential_then_strength_and_forgets_nobody():
    traces, labelled = log()
    found = targets(mine(labelled), {("request_confirmation_pay", "confirm_completion_pay"): 1.0})

    def answer(request):
        shown = blocks(request.messages[0].content)["targets"]
        return json.dumps({"scores": [
            {"target": t["id"], "why": "", "potential": 0.9 if t["state"] == "deny_pay" else 0.5, "label": "l"} for t in shown if t["kind"] != "start"
        ]})  # fmt: skip

    ranked = rank(found, Scripted(answer), traces=traces, labelled=labelled)
    assert len(ranked) == len(found) and {t.state for t in ranked[:3]} == {"deny_pay"}
    assert ranked[3].state == "request_confirmation_pay" and ranked[-1].kind == "start" and ranked[-1].potential is None


# ---- grounding


def draft(**more) -> boundary.Draft:
    fields = {
        "why": "", "session": "00000-a", "turn": 2, "boundary": "pay without yes", "perturbation": "premature", "goal": "No payment without a yes.",
        "steps": [
            {"text": "message 1 of M-10234", "part": "route", "turn": 1}, {"text": "Yes, pay now.", "part": "perturbation", "turn": 0},
        ],
        "success": ["The agent asks for confirmation."], "failure": [], "values": [], "golden": [],
    }  # fmt: skip
    return boundary.Draft.model_validate({**fields, **more})


def grounded(draft):
    traces, _ = log()
    return ground(draft, traces={t.id: t for t in traces}, brief=BRIEF, arm="guided", target="node:x")


def test_a_sound_draft_becomes_a_test_and_its_values_are_cited():
    test = grounded(draft())
    assert isinstance(test, Test) and test.id.startswith("b-") and test.budget == 4 and test.arm == "guided"
    assert [s.expects for s in test.steps] == ["Welcome", ""]
    assert [(v.value, v.origin, v.turn) for v in test.values] == [("M-10234", "turn", 1)], (
        "a forgotten citation is repaired"
    )
    assert grounded(draft()).id == test.id != grounded(draft(goal="Another goal.")).id


def value(value, origin="turn", session="00000-a", turn=1, seed=-1):
    return {"value": value, "origin": origin, "session": session, "turn": turn, "seed": seed}


@pytest.mark.parametrize(("more", "reason"), [
    ({"session": "none"}, "unknown_session"),
    ({"steps": []}, "no_steps"),
    ({"success": [" "]}, "no_criteria"),
    ({"goal": "Pay $500 now."}, "value_uncited"),
    ({"success": ["The agent quotes booking B-99."]}, "value_uncited"),
    ({"values": [value("B-99")]}, "value_not_found"),
    ({"values": [value("M-10234", "brief", seed=1)], "goal": "Pay for M-99999"}, "value_uncited"),
    ({"values": [value("deny_pay reply", session="00001-b", turn=2)]}, "foreign_identity"),
    ({"values": [value("Ann Lee", "brief", seed=0), value("Bo Ray", "brief", seed=1)]}, "foreign_identity"),
    ({"golden": [{"name": "fare", "value": "$12", "session": "00000-a", "turn": 1}]}, "golden_not_found"),
    ({"steps": [{"text": "I never said this at all", "part": "route", "turn": 1}, {"text": "Yes.", "part": "perturbation", "turn": 0}]}, "route_not_observed"),
    ({"steps": [{"text": "message 1", "part": "route", "turn": 9}, {"text": "Yes.", "part": "perturbation", "turn": 0}]}, "route_not_observed"),
])  # fmt: skip
def test_an_unsound_draft_is_dropped_with_its_reason(more, reason):
    result = grounded(draft(**more))
    assert isinstance(result, Drop) and result.reason == reason


def test_a_perturbed_value_needs_no_source():
    steps = [{"text": "My number is M-1023.", "part": "perturbation", "turn": 0}]
    assert isinstance(grounded(draft(steps=steps, values=[value("M-1023", "perturbed")])), Test)


def test_duplicates():
    test = grounded(draft())
    assert duplicate(test, [test]).reason == "duplicate"
    near = grounded(
        draft(
            steps=[
                {"text": "message 1 of M-10234", "part": "route", "turn": 1},
                {"text": "Yes pay now", "part": "perturbation", "turn": 0},
            ]
        )
    )
    assert duplicate(near, [test]).reason == "near_duplicate"
    assert duplicate(near.model_copy(update={"perturbation": "other"}), [test]) is None


def test_concrete_values():
    assert concrete("see you at 2 or on the 3rd") == []
    assert concrete('"HAT030" costs $1,204.50 (M-1).') == ["HAT030", "$1,204.50", "M-1"]


# ---- synthesis


def test_functional_batches_carry_what_was_accepted_and_stop_after_two_barren_ones():
    traces, _ = log()
    seen = []

    def answer(request):
        given = blocks(request.messages[0].content)
        seen.append(len(given["accepted"]))
        n = len(given["accepted"])
        made = [] if n >= 2 else [functional.Draft(
            why="", session="00000-a", goal=f"Goal number {'one' if n == 0 else 'two'}", steps=[functional.DraftStep(text=f"message {n + 1}", turn=n + 1)],
            success=["It pays."], failure=[], values=[], golden=[],
        ).model_dump()]  # fmt: skip
        return json.dumps({"tests": made})

    made = synthesize.functional_tests(traces, BRIEF, Scripted(answer))
    assert len(made.tests) == 2 and seen == [0, 1, 2, 2]


@pytest.mark.parametrize("arm", synthesize.ARMS)
def test_arms_draw_without_replacement_and_differ_in_what_they_show(arm):
    traces, labelled = log()
    graph = mine(labelled)
    ranked = [t.model_copy(update={"potential": 1.0}) for t in reversed(targets(graph))]
    first = []
    for prompt in synthesize.prompts(arm, traces, labelled, graph, ranked=ranked, seed=1):
        first.append(prompt)
        if len(first) == 5:
            break
    structural = arm in ("guided", "structural_random")
    keys = [p.target if structural else tuple(p.material["at"].values()) for p in first]
    assert len(set(keys)) == len(keys), "nothing is drawn twice in a pass"
    assert all(
        ("location" in p.material) == structural and ("graph" in p.material) == (arm == "graph_context") for p in first
    )
    assert all(len(p.sessions) == (1 if structural else 3) for p in first)
    if arm == "guided":
        assert keys == [t.id for t in ranked[:5]]
    again = [
        p
        for p, _ in zip(synthesize.prompts(arm, traces, labelled, graph, ranked=ranked, seed=1), range(5), strict=False)
    ]
    assert again == first


def test_boundary_tests_count_what_they_drop():
    traces, labelled = log()
    graph = mine(labelled)
    calls = iter(range(100))

    def answer(request):
        n = next(calls)
        given = blocks(request.messages[0].content)["material"]["at"]
        made = (
            draft(session=given["session"], goal=f"Goal {'abcdefghij'[n % 10] * 5}.", perturbation=f"kind_{n}")
            if n != 1
            else draft(goal="Pay $77.")
        )
        steps = [{"text": "Yes, pay now." + " please" * n, "part": "perturbation", "turn": 0}]
        return json.dumps({"tests": [{**made.model_dump(), "steps": steps}]})

    made = synthesize.boundary_tests(
        "guided", traces, labelled, graph, BRIEF, Scripted(answer), ranked=targets(graph), most=6
    )
    assert len(made.generated) == 6 and len(made.tests) == 5
    assert [g.drop.reason for g in made.generated if g.drop] == ["value_uncited"]
    assert all(t.target == g.target for t, g in zip(made.tests, [g for g in made.generated if g.test], strict=True))


# ---- execution


def case(**more) -> Test:
    fields = {
        "id": "b-1", "kind": "boundary", "goal": "g", "budget": 4,
        "steps": (Step(text="one", expects="Welcome"), Step(text="two", part="perturbation")),
        "criteria": (Criterion(id="s1", kind="success", text="s"), Criterion(id="f1", kind="failure", text="f")),
    }  # fmt: skip
    return Test.model_validate({**fields, **more})


def step(message, number, done=False):
    return json.dumps({"why": "", "message": message, "step": number, "done": done})


def decisions(s1, f1, quote="2: two"):
    quotes = [{"turn": 2, "text": quote}] if quote else []
    return json.dumps({"decisions": [
        {"criterion": "s1", "why": "", "decision": s1, "quotes": quotes}, {"criterion": "f1", "why": "", "decision": f1, "quotes": quotes},
    ]})  # fmt: skip


def test_a_run_knows_where_it_was_perturbed():
    run = run_test(case(), lambda unit: Parrot(), BRIEF, Scripted([step("one", 1), step("two", 2), step("", 0, True)]))
    assert (run.perturbed, run.replayed, run.trace.stop) == (2, 1, "objective") and len(run.trace.turns) == 2


def test_the_runner_sees_neither_criteria_nor_target_and_the_judge_neither_steps_nor_target():
    tester, judge = Scripted([step("one", 1), step("two", 2, True)]), Scripted([decisions("met", "met")])
    test = case(target="node:SECRET-TARGET", criteria=(Criterion(id="s1", kind="success", text="SECRET-CRITERION"), Criterion(id="f1", kind="failure", text="f")),
                goal="SECRET-GOAL", boundary="SECRET-BOUNDARY", arm="guided")  # fmt: skip
    run = run_test(test, lambda unit: Parrot(), BRIEF, tester)
    assert judge_run(test, run, judge).verdict == "pass"
    shown = " ".join(m.content for r in tester.requests for m in r.messages)
    assert (
        "SECRET-GOAL" in shown
        and "SECRET-TARGET" not in shown
        and "SECRET-CRITERION" not in shown
        and "SECRET-BOUNDARY" not in shown
    )
    shown = " ".join(m.content for r in judge.requests for m in r.messages)
    assert "SECRET-CRITERION" in shown and not any(
        s in shown for s in ("SECRET-TARGET", "SECRET-GOAL", "SECRET-BOUNDARY", '"step"')
    )


@pytest.mark.parametrize(("answer", "verdict", "reason"), [
    (decisions("met", "met"), "pass", "all_met"),
    (decisions("violated", "met"), "fail", "success_violated"),
    (decisions("met", "violated"), "fail", "failure_triggered"),
    (decisions("violated", "violated"), "fail", "failure_triggered"),
    (decisions("unsettled", "met"), "inconclusive", "unsettled"),
    (decisions("violated", "unsettled"), "fail", "success_violated"),
    (decisions("met", "met", "words that nobody said"), "inconclusive", "quote_not_found"),
    (decisions("violated", "violated", "words that nobody said"), "inconclusive", "quote_not_found"),
    (decisions("met", "met", ""), "inconclusive", "quote_not_found"),
])  # fmt: skip
def test_a_verdict_is_computed_by_code(answer, verdict, reason):
    run = run_test(case(), lambda unit: Parrot(), BRIEF, Scripted([step("one", 1), step("two", 2, True)]))
    found = judge_run(case(), run, Scripted([answer]))
    assert (found.verdict, found.reason) == (verdict, reason)
    assert all(stands(q.text, q.turn, run.trace.turns) for q in found.quotes)


@pytest.mark.parametrize(("open_chat", "messages", "stop", "reason"), [
    (lambda unit: Parrot(lambda n, t: ValueError("x")), [step("one", 1)], "subject_error", "subject_error"),
    (lambda unit: Parrot(), [step("", 0), step(" ", 0)], "tester_fault", "tester_fault"),
    (lambda unit: Parrot(), [step("", 0, True)], "objective", "nothing_said"),
])  # fmt: skip
def test_what_cannot_be_judged_is_not_judged(open_chat, messages, stop, reason):
    run = run_test(case(), open_chat, BRIEF, Scripted(messages))
    verdict = judge_run(case(), run, Scripted([]))
    assert run.trace.stop == stop and (verdict.verdict, verdict.reason) == ("inconclusive", reason)


def test_the_turn_cap_stops_the_runner_and_the_judge_still_reads():
    tester = Scripted(lambda r: step(f"say {len(blocks(r.messages[0].content)['conversation']['turns'])}", 0))
    run = run_test(case(), lambda unit: Parrot(), BRIEF, tester)
    judge = Scripted([decisions("unsettled", "unsettled", "")])
    assert run.trace.stop == "budget" and len(run.trace.turns) == 4
    assert judge_run(case(), run, judge).reason == "unsettled"
    assert blocks(judge.requests[0].messages[0].content)["stop"] == "budget"


def test_one_bad_test_stops_nobody_and_every_session_has_its_own_chat():
    tests = [case(id=f"b-{n}") for n in range(12)] + [case(id="b-off", enabled=False)]

    def tester(request):
        turns = blocks(request.messages[0].content)["conversation"]["turns"]
        return step(["one", "two"][len(turns)], len(turns) + 1, done=len(turns) == 1)

    opened = []

    def open_chat(unit):
        opened.append(1)
        if len(opened) == 3:
            raise ChatError("down")
        return Parrot()

    outcomes = []
    judged = iter(range(100))
    judge = Scripted(lambda r: "no json" if next(judged) in (4, 5) else decisions("met", "met"))
    execute(tests, open_chat, BRIEF, Scripted(tester), judge, workers=1, keep=outcomes.append)
    assert len(outcomes) == 12 and len(opened) == 12
    assert sorted(o.failure.stage for o in outcomes if o.failure) == ["judge", "run"]
    assert sum(o.verdict is not None for o in outcomes) == 10
    assert all(o.run.trace.turns[0].agent == "1: one" for o in outcomes if o.run)
    more = []
    done = frozenset(run_id(t, 0) for t in tests[:11])
    execute(
        tests,
        lambda unit: Parrot(),
        BRIEF,
        Scripted(tester),
        Scripted(lambda r: decisions("met", "met")),
        workers=4,
        finished=done,
        keep=more.append,
    )
    assert [o.run.test for o in more] == ["b-11"]


def test_an_endpoint_that_is_gone_ends_execution_and_keeps_what_is_done():
    outcomes = []
    calls = iter(range(1000))

    def tester(request):
        if next(calls) > 6:
            return ModelUnreachable("gone")
        turns = blocks(request.messages[0].content)["conversation"]["turns"]
        return step(["one", "two"][len(turns)], len(turns) + 1, done=len(turns) == 1)

    with pytest.raises(ModelUnreachable):
        execute(
            [case(id=f"b-{n}") for n in range(9)],
            lambda unit: Parrot(),
            BRIEF,
            Scripted(tester),
            Scripted(lambda r: decisions("met", "met")),
            workers=1,
            keep=outcomes.append,
        )
    assert 1 <= len(outcomes) <= 4
