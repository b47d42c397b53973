"""Event abstraction: one pass, chunks, synonyms, and what happens when a model misbehaves."""

from __future__ import annotations

import json

import pytest

from agenteval import errors
from agenteval.llm.ask import blocks
from agenteval.llm.model import Completion
from agenteval.llm.scripted import Scripted
from agenteval.tester.abstract import abstract, plan
from agenteval.tester.rules.model import Rules
from agenteval.tester.views import EXCERPT, trace_view
from agenteval.types import Trace, Turn


def trace(n: int, *pairs, stop="recorded") -> Trace:
    turns = tuple(Turn(user=u, agent=a, status="ok" if a else "error") for u, a in pairs or [("hello", f"reply {n}")])
    return Trace(id=f"{n:05d}-x", turns=turns, stop=stop)


def answer(request, activity=lambda session, turn: f"Say {turn['agent'][:5]}", skip=()):
    """Labels for what was asked, as a well-behaved model gives them."""
    sessions = blocks(request.messages[0].content)["sessions"]
    return json.dumps({"sessions": [
        {"session": s["id"], "turns": [
            {"turn": t["turn"], "summary": "s", "action": "Greet the Agent!", "activity": activity(s, t)} for t in s["turns"]
        ]}
        for s in sessions if s["id"] not in skip
    ]})  # fmt: skip


def test_one_pass_is_one_call_and_labels_are_spelt_alike():
    model = Scripted(answer)
    result = abstract([trace(1), trace(2, ("a", "b"), stop="budget")], model)
    assert len(model.requests) == 1 and result.chunks == 1 and result.failures == ()
    assert [t.id for t in result.labelled] == ["00001-x", "00002-x"]
    assert (
        result.labelled[0].turns[0].activity == "say_reply" and result.labelled[0].turns[0].action == "greet_the_agent"
    )
    assert [t.cut for t in result.labelled] == [False, True]


def test_a_failed_turn_has_no_activity_whatever_the_model_says():
    result = abstract([trace(1, ("a", "b"), ("c", ""))], Scripted(answer))
    assert [t.activity for t in result.labelled[0].turns] == ["say_b", ""]


def test_above_the_limit_the_vocabulary_travels_along_and_synonyms_are_merged():
    names = iter(["ask_code", "request_code", "ask_code"])

    def reply(request):
        if request.role == "synonyms":
            labels = [e["label"] for e in blocks(request.messages[0].content)["labels"]]
            if "ask_code" not in labels:
                return '{"groups": []}'
            return '{"groups": [{"why": "same", "keep": "ask_code", "merge": ["request_code"]}]}'
        name = next(names)
        return answer(request, lambda s, t: name)

    model = Scripted(reply)
    traces = [trace(n, ("u" * 400, "a" * 4000)) for n in range(3)]
    calls, tokens = plan(traces, 1800)
    result = abstract(traces, model, limit=1800)
    assert [r.role for r in model.requests] == ["labeller"] * 3 + ["synonyms"]
    assert calls >= len(model.requests) and tokens == pytest.approx(sum(r.size() for r in model.requests[:3]), rel=0.05)
    seen = [blocks(r.messages[0].content)["vocabulary"]["activities"] for r in model.requests[:3]]
    assert seen == [[], ["ask_code"], ["ask_code", "request_code"]]
    assert {t.turns[0].activity for t in result.labelled} == {"ask_code"}


def test_chains_and_cycles_of_synonyms_end():
    from agenteval.tester.roles.synonyms import merge

    reply = {"groups": [
        {"why": "", "keep": "b", "merge": ["a"]}, {"why": "", "keep": "c", "merge": ["b"]},
        {"why": "", "keep": "y", "merge": ["x"]}, {"why": "", "keep": "x", "merge": ["y"]},
    ]}  # fmt: skip
    entries = [{"label": name, "frequency": 1, "example": ""} for name in "abcxy"]
    assert merge(Scripted([json.dumps(reply)]), labels=entries) == {"a": "c", "b": "c", "x": "x", "y": "x"}
    with pytest.raises(errors.ReplyInvalid, match="unknown labels"):
        merge(Scripted([json.dumps(reply)] * 2), labels=entries[:2])


def test_a_prompt_that_is_too_long_is_halved_until_it_fits():
    def reply(request):
        sessions = blocks(request.messages[0].content)["sessions"] if request.role == "labeller" else []
        if any(s["id"] == "00003-x" for s in sessions):
            return errors.ContextOverflow("too long")
        return '{"groups": []}' if request.role == "synonyms" else answer(request)

    result = abstract([trace(n) for n in range(5)], Scripted(reply))
    assert [t.id for t in result.labelled] == ["00000-x", "00001-x", "00002-x", "00004-x"]
    assert [(f.id, f.reason) for f in result.failures] == [("00003-x", "context_overflow")]


def test_a_session_that_the_model_forgot_is_asked_for_again():
    replies = iter([{"00001-x"}, set()])
    model = Scripted(lambda r: '{"groups": []}' if r.role == "synonyms" else answer(r, skip=next(replies)))
    result = abstract([trace(n) for n in range(3)], model)
    assert len(result.labelled) == 3 and result.failures == ()
    again = blocks(model.requests[1].messages[0].content)["sessions"]
    assert [s["id"] for s in again] == ["00001-x"]


def test_a_session_that_stays_missing_is_a_record_and_stops_nobody():
    result = abstract(
        [trace(n) for n in range(3)], Scripted(lambda r: answer(r, skip={"00001-x"}) if r.role == "labeller" else "{}")
    )
    assert [t.id for t in result.labelled] == ["00000-x", "00002-x"]
    assert [(f.id, f.stage, f.reason) for f in result.failures] == [("00001-x", "abstract", "reply_invalid")]


@pytest.mark.parametrize(
    "bad", ["", "no json", '{"sessions": []}', '{"sessions": [{"session": "other", "turns": []}]}']
)
def test_an_unusable_reply_is_a_record_per_session(bad):
    result = abstract([trace(0), trace(1)], Scripted(lambda r: bad))
    assert (
        result.labelled == () and {f.reason for f in result.failures} == {"reply_invalid"} and len(result.failures) == 2
    )


def test_a_missing_turn_or_an_empty_label_is_not_guessed():
    def reply(request):
        return answer(request, lambda s, t: "" if s["id"] == "00000-x" else "fine")

    result = abstract([trace(0), trace(1)], Scripted(lambda r: reply(r) if r.role == "labeller" else '{"groups": []}'))
    assert [t.id for t in result.labelled] == ["00001-x"] and [f.reason for f in result.failures] == ["labels_missing"]


def test_an_endpoint_that_is_gone_stops_the_stage():
    with pytest.raises(errors.ModelUnreachable, match="labeller: gone"):
        abstract([trace(0)], Scripted([errors.ModelUnreachable("gone")]))


def test_a_cut_answer_of_many_sessions_is_split():
    def reply(request):
        if request.role == "synonyms":
            return '{"groups": []}'
        sessions = blocks(request.messages[0].content)["sessions"]
        return Completion(text="{", model="m", finish="length") if len(sessions) > 1 else answer(request)

    assert len(abstract([trace(n) for n in range(3)], Scripted(reply)).labelled) == 3


def test_long_texts_are_shown_in_part_and_kept_whole():
    long = trace(1, ("u", "x" * 200_000))
    shown = trace_view(long)["turns"][0]["agent"]
    assert len(shown) < EXCERPT + 60 and shown.endswith(f"[... {200_000 - EXCERPT} characters cut]")
    assert len(abstract([long], Rules()).labelled) == 1


def test_no_traces_no_calls():
    assert abstract([], Scripted([])) == ((), (), 0)
