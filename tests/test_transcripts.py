"""Readers: four formats, and everything that real files have wrong with them."""

from __future__ import annotations

import gzip
import json

import pytest

from agenteval.errors import FormatError
from agenteval.transcripts.files import Conversation, locate, read, recognise
from agenteval.transcripts.imports import import_transcripts
from agenteval.transcripts.messages import Imported, split
from agenteval.types import Failure

U = {"role": "user", "content": "Cancel my booking."}
A = {"role": "assistant", "content": "Which one?"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "1", "function": {"name": "find", "arguments": '{"id": 7}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "SECRET RESULT"}
SYSTEM = {"role": "system", "content": "SECRET POLICY"}


def turns_of(messages, format="openai-chat", **more):
    found = split(Conversation("f#0", messages, format, **more), 0)
    assert isinstance(found, Imported), found
    return found


def pairs(messages, format="openai-chat"):
    return [(t.user, t.agent, t.status) for t in turns_of(messages, format).trace.turns]


def write(tmp_path, name, content):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = (
        content
        if isinstance(content, bytes)
        else content.encode()
        if isinstance(content, str)
        else json.dumps(content).encode()
    )
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


# ---- from messages to turns


def test_hidden_messages_go_to_the_privileged_side():
    found = turns_of([SYSTEM, U, CALL, RESULT, A])
    assert [(t.user, t.agent) for t in found.trace.turns] == [("Cancel my booking.", "Which one?")]
    assert [(e.role, e.turn, e.name) for e in found.tools] == [
        ("system", 0, ""),
        ("call", 1, "find"),
        ("result", 1, ""),
    ]
    assert "SECRET" not in found.trace.model_dump_json()


def test_agent_first_is_a_greeting():
    found = turns_of([A, {"role": "assistant", "content": "Hello?"}, U, A])
    assert found.trace.greeting == "Which one?\n\nHello?" and len(found.trace.turns) == 1


def test_two_user_messages_in_a_row_are_joined_and_counted():
    found = turns_of([U, {"role": "user", "content": "The first one."}, A])
    assert found.trace.turns[0].user == "Cancel my booking.\nThe first one." and found.merged == 1


def test_two_replies_in_a_row_are_one_reply():
    assert pairs([U, A, A]) == [("Cancel my booking.", "Which one?\n\nWhich one?", "ok")]


def test_last_words_that_nobody_answered_are_no_turn():
    found = turns_of([U, A, {"role": "user", "content": "Bye ###STOP###"}], "tau-bench")
    assert len(found.trace.turns) == 1 and found.trace.closing == "Bye"


def test_only_a_stop_sign_is_no_closing():
    assert turns_of([U, A, {"role": "user", "content": "###STOP###"}], "tau2").trace.closing == ""


@pytest.mark.parametrize(("content", "said"), [
    (None, ""), ("", ""), ("  ", ""), ([], ""), ([{"type": "text", "text": "one"}, {"type": "image_url"}, {"type": "text", "text": "two"}], "one\ntwo"),
    (["one", "two"], "one\ntwo"), ({"text": "one"}, "one"), ({"other": 1}, ""), (12, "12"),
])  # fmt: skip
def test_contents_of_every_kind(content, said):
    assert pairs([U, {"role": "assistant", "content": content}]) == [
        ("Cancel my booking.", said, "ok" if said else "empty")
    ]


def test_a_tool_call_without_words_is_an_empty_turn_only_when_the_user_goes_on():
    assert pairs([U, CALL, RESULT, {"role": "user", "content": "Hello?"}, A]) == [
        ("Cancel my booking.", "", "empty"), ("Hello?", "Which one?", "ok"),
    ]  # fmt: skip


def test_text_beside_a_call_counts_where_it_may_have_been_shown():
    beside = {**CALL, "content": "Let me look."}
    assert pairs([U, beside, RESULT, A]) == [("Cancel my booking.", "Which one?", "ok")]
    assert pairs([U, beside, RESULT]) == [("Cancel my booking.", "Let me look.", "ok")]
    found = turns_of([U, beside, RESULT, {"role": "user", "content": "so?"}, A], "tau-bench")
    assert found.trace.turns[0].status == "empty" and "Let me look." not in found.trace.model_dump_json()
    assert [e.content for e in found.tools if e.role == "note"] == ["Let me look."]


def test_calls_written_as_text():
    action = {
        "role": "assistant",
        "content": 'Thought:\nI must look.\nAction:\n{"name": "find", "arguments": {"id": 7}}',
    }
    output = {"role": "user", "content": "API output: SECRET RESULT"}
    respond = {
        "role": "assistant",
        "content": 'Thought:\nTell.\nAction:\n{"name": "respond", "arguments": {"content": "Which {one}?"}}',
    }
    found = turns_of([U, action, output, respond], "tau-bench")
    assert [(t.user, t.agent) for t in found.trace.turns] == [("Cancel my booking.", "Which {one}?")]
    assert [(e.role, e.name) for e in found.tools] == [("call", "find"), ("result", "")]
    broken = {"role": "assistant", "content": "Action:\n{not json"}
    assert pairs([U, broken], "tau-bench") == [("Cancel my booking.", "{not json", "ok")]


def test_tagged_calls_are_not_what_the_agent_said():
    tagged = {"role": "assistant", "content": '<tool_call>\n{"name": "find"}\n</tool_call>'}
    assert pairs([U, tagged, U, A]) == [("Cancel my booking.", "", "empty"), ("Cancel my booking.", "Which one?", "ok")]
    both = {"role": "assistant", "content": 'One moment. <tool_call>{"name": "find"}'}
    assert pairs([U, both, {"role": "user", "content": "ok"}, A])[0][1] == "One moment."


def test_a_user_who_writes_like_a_tool_is_a_user_unless_calls_are_written_as_text():
    assert pairs([{"role": "user", "content": "API output: what is this?"}, A])[0][0] == "API output: what is this?"


def test_tools_of_the_user_are_hidden_too():
    mine = {"role": "user", "content": None, "tool_calls": [{"name": "toggle_data", "arguments": {"on": True}}]}
    found = turns_of(
        [U, mine, {"role": "tool", "content": "SECRET", "requestor": "user"}, {"role": "user", "content": "Done."}, A],
        "tau2",
    )
    assert found.trace.turns[0].user == "Cancel my booking.\nDone." and "SECRET" not in found.trace.model_dump_json()


def test_a_huge_reply_and_broken_characters_are_kept():
    assert len(turns_of([U, {"role": "assistant", "content": "x" * 200_000}]).trace.turns[0].agent) == 200_000
    assert pairs([U, {"role": "assistant", "content": "a\ud800"}])[0][1] == "a\ufffd"


@pytest.mark.parametrize(("messages", "reason"), [
    ([A, A], "no_turns"), ([U], "no_turns"), ([SYSTEM], "no_turns"), (["hello"], "not_a_conversation"),
    ([{"role": "narrator", "content": "x"}], "not_a_conversation"), ([{"content": "x"}], "not_a_conversation"), ([None], "not_a_conversation"),
])  # fmt: skip
def test_what_is_no_conversation_is_named(messages, reason):
    found = split(Conversation("f#3", messages, "openai-chat"), 3)
    assert isinstance(found, Failure) and found.reason == reason and found.id == "f#3"


def test_a_step_limit_is_a_cut_end():
    assert turns_of([U, A], "tau2", cut=True).trace.stop == "budget"


# ---- from files to conversations


RUN = {"task_id": 1, "trial": 0, "reward": 1.0, "info": {}, "traj": [SYSTEM, U, A]}
SIMULATION = {"id": "x", "task_id": "1", "termination_reason": "user_stop", "messages": [A, U, A]}
CHAT = {"messages": [SYSTEM, U, A]}


@pytest.mark.parametrize(("name", "content", "format"), [
    ("a.json", [RUN, RUN], "tau-bench"),
    ("a.json.gz", [RUN, RUN], "tau-bench"),
    ("a.json", {"info": {}, "tasks": [], "simulations": [SIMULATION, SIMULATION]}, "tau2"),
    ("a.jsonl", "\n".join(map(json.dumps, [SIMULATION, SIMULATION])), "tau2-lines"),
    ("a.jsonl.gz", "\n".join(map(json.dumps, [SIMULATION, SIMULATION])) + "\n\n", "tau2-lines"),
    ("a.jsonl", "\n".join(map(json.dumps, [CHAT, CHAT])), "openai-chat"),
    ("a.json", [CHAT, CHAT], "openai-chat"),
    ("a.jsonl", "\r\n".join(map(json.dumps, [[U, A], [U, A]])), "openai-chat"),
    ("a.ndjson", b"\xef\xbb\xbf" + json.dumps(CHAT).encode() + b"\n" + json.dumps(CHAT).encode(), "openai-chat"),
])  # fmt: skip
def test_formats_are_recognised_and_can_be_named(tmp_path, name, content, format):
    path = write(tmp_path, name, content)
    for named in (None, format):
        found = list(read(path, named))
        assert [c.format for c in found] == [format] * 2
        assert [c.name for c in found] == [f"{name}#0", f"{name}#1"]
    assert len(import_transcripts(path).traces) == 2
    assert len(import_transcripts(path, limit=1).traces) == 1


def test_one_conversation_in_one_file(tmp_path):
    assert len(import_transcripts(write(tmp_path, "a.json", [U, A])).traces) == 1
    assert len(import_transcripts(write(tmp_path, "b.json", CHAT)).traces) == 1
    assert len(import_transcripts(write(tmp_path, "c.jsonl", json.dumps([U, A]) + "\n")).traces) == 1


@pytest.mark.parametrize(("name", "content", "says"), [
    ("a.json", "", "the file is empty"), ("a.json", " \n", "the file is empty"), ("a.json.gz", "", "the file is empty"),
    ("a.json", "{}", "no conversations in a known format (tau-bench, tau2, tau2-lines, openai-chat)"),
    ("a.json", "hello", "is no JSON"), ("a.json", [1, 2], "known format"), ("a.json", '{"messages": 3}', "known format"),
    ("a.jsonl", '{"x": 1}\n{"x": 2}\n', "known format"), ("a.csv", "a,b\n1,2\n", "is no JSON"), ("a.json", '[{"task_id": 1, "tr', "is no JSON"),
    ("a.json", b"\x1f\x8b\x08\x00rubbish", "the file is empty"), ("a.json", b"\x00\xff\xfe" * 50, "is no JSON"), ("a.json", "[" * 100_000, "is no JSON"),
])  # fmt: skip
def test_a_file_without_conversations_is_one_clear_line(tmp_path, name, content, says):
    with pytest.raises(FormatError) as caught:
        import_transcripts(write(tmp_path, name, content))
    assert says in str(caught.value) and str(tmp_path) in str(caught.value)


def test_the_wrong_format_is_named(tmp_path):
    path = write(tmp_path, "a.json", [RUN])
    with pytest.raises(FormatError, match="looks like tau-bench, not like tau2; leave --format away or name tau-bench"):
        import_transcripts(path, "tau2")
    with pytest.raises(FormatError, match="unknown format 'csv'; expected one of tau-bench"):
        import_transcripts(path, "csv")


def test_missing_paths_name_the_way_out():
    with pytest.raises(FormatError, match="example:harbour_cycles"):
        locate("nowhere.json")
    with pytest.raises(FormatError, match="there are: example:harbour_cycles"):
        locate("example:other")


@pytest.mark.parametrize("format", ["list", "results", "lines"])
def test_a_truncated_file_gives_what_is_whole(tmp_path, format):
    text = {
        "list": json.dumps([RUN] * 3), "results": json.dumps({"tasks": [{"a": [1]}], "simulations": [SIMULATION] * 3}),
        "lines": "\n".join([json.dumps(CHAT)] * 3),
    }[format]  # fmt: skip
    found = import_transcripts(write(tmp_path, "a.jsonl", text[:-30]))
    assert len(found.traces) == 2
    assert [f.reason for f in found.failures] == ["truncated"] and "a.jsonl#2" in found.failures[0].id


def test_a_truncated_gzip_gives_what_is_whole(tmp_path):
    lines = "\n".join(json.dumps({"messages": [{"role": "user", "content": f"{n} {n * n}"}, A]}) for n in range(400))
    data = gzip.compress(lines.encode())
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(data[: len(data) // 2])
    found = import_transcripts(path)
    assert 50 < len(found.traces) < 400
    assert {f.reason for f in found.failures} == {"truncated_file", "truncated"}


def test_one_broken_conversation_never_stops_the_others(tmp_path):
    runs = [
        RUN,
        {"task_id": 2, "traj": [], "info": {"error": "SECRET traceback"}},
        {"task_id": 3},
        7,
        {"traj": [{"role": "?"}]},
        RUN,
    ]
    found = import_transcripts(write(tmp_path, "a.json", runs))
    assert len(found.traces) == 2
    assert [(f.id, f.reason) for f in found.failures] == [
        ("a.json#1", "empty_trajectory"), ("a.json#2", "not_a_conversation"), ("a.json#3", "not_a_conversation"),
        ("a.json#4", "not_a_conversation"),
    ]  # fmt: skip
    assert "SECRET" not in str(found.failures)


def test_invalid_utf8_is_replaced_and_said(tmp_path):
    raw = json.dumps([CHAT]).encode().replace(b"Which", b"W\xe9ich")
    found = import_transcripts(write(tmp_path, "a.json", raw))
    assert found.traces[0].turns[0].agent == "W\ufffdich one?"
    assert [f.reason for f in found.failures] == ["invalid_utf8"]


def test_a_folder_is_read_whole_and_what_is_skipped_is_named(tmp_path):
    write(tmp_path, "b/run.json.gz", [RUN])
    write(tmp_path, "b/results.json", {"info": {}, "tasks": [], "simulations": []})
    write(tmp_path, "b/simulations/1.json", SIMULATION)
    write(tmp_path, "a.jsonl", json.dumps(CHAT))
    write(tmp_path, "empty.json", "")
    write(tmp_path, "notes.md", "# notes")
    write(tmp_path, ".cache/x.json", [RUN])
    found = import_transcripts(tmp_path)
    assert [t.source for t in found.traces] == ["a.jsonl#0", "b/run.json.gz#0", "b/simulations/1.json#0"]
    assert {f.id: f.reason for f in found.failures} == {"empty.json": "empty_file", "notes.md": "other_file"}
    assert [t.id[:5] for t in found.traces] == sorted(t.id[:5] for t in found.traces)


def test_a_folder_without_conversations(tmp_path):
    write(tmp_path, "notes.md", "# notes")
    with pytest.raises(FormatError, match="no conversation could be read .1 other_file"):
        import_transcripts(tmp_path)


def test_recognise_needs_more_than_a_word():
    assert recognise({"messages": "text"}) is None and recognise([]) is None and recognise("x") is None


def test_the_bundled_examples_are_whole():
    found = import_transcripts(locate("example:harbour_cycles"))
    assert len(found.traces) == 22 and found.failures == ()
    assert any(t.greeting for t in found.traces)
    assert all(turn.status == "ok" for t in found.traces for turn in t.turns)


@pytest.mark.parametrize(("folder", "conversations", "unusable", "skipped"), [
    ("tau-bench-v1", 1481, 24, 4), ("tau2-results", 899, 0, 4), ("tau2-retail-versions", 966, 3, 18),
])  # fmt: skip
def test_every_real_recording_is_read_and_the_rest_named(data, folder, conversations, unusable, skipped):
    found = import_transcripts(data / folder)
    files = [f for f in found.failures if "#" not in f.id]
    assert len(found.traces) == conversations
    assert len(found.failures) - len(files) == unusable and len(files) == skipped
    assert {f.reason for f in files} <= {"other_file", "unknown_format"}
    read_files = {t.source.split("#")[0] for t in found.traces}
    everything = {p.relative_to(data / folder).as_posix() for p in (data / folder).rglob("*") if p.is_file()}
    assert everything == read_files | {f.id for f in files}


def test_real_gpt4o_conversations_have_the_known_number_of_replies(data):
    found = import_transcripts(data / "tau-bench-v1" / "airline_gpt-4o_tool-calling_4trials.json.gz")
    assert len(found.traces) == 200 and sum(len(t.turns) for t in found.traces) == 1290
