"""The scripted airline: its data files, its faults and their witnesses, determinism, isolation, hostile input."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from functools import lru_cache

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agenteval.errors import UsageError
from agenteval.store import derive_seed
from agenteval.subjects.scripted import brief, faults, guards, open_scripted, spelling, wording, wordings
from agenteval.subjects.scripted.airline import FOLDER, data, generate

KINDS = {"identity", "prerequisite", "eligibility", "confirmation", "validation", "limit", "scope", "recovery"}


@lru_cache
def read(name):
    return yaml.safe_load((FOLDER / name).read_text("utf-8"))


WITNESSES, CONVERSATIONS = read("witnesses.yaml"), read("conversations.yaml")
WALKS = read("walks.yaml")


def holds(check, reply, words):
    """One check of a witness on the visible reply."""
    bare = check.removeprefix("!")
    hit = bool(re.search(bare[1:-1], reply)) if bare.startswith("/") else wording.shows(words, bare, reply)
    return hit != check.startswith("!")


def play(turns, *, name="a", fault=None, seed=0):
    """Failed checks of a witness, and the log."""
    chat, words = (
        open_scripted("airline", wording=name, fault=fault, seed=seed),
        wording.load(FOLDER / "wordings" / f"{name}.yaml"),
    )
    chat.reset()
    failed = [
        (turn[0], check)
        for turn in turns
        for reply in [chat.invoke(turn[0])]
        for check in turn[1:]
        if not holds(check, reply, words)
    ]
    return failed, chat.log


def walk(turns, **options):
    chat = open_scripted("airline", **options)
    return [chat.reset(), *(chat.invoke(turn) for turn in turns)], chat


# ---- data files


def test_guards_cover_all_kinds():
    table = guards("airline")
    assert len(table) >= 40 and {g["kind"] for g in table.values()} == KINDS
    assert all(all(row.values()) for row in faults("airline").values())
    assert len(faults("airline")) - len(table) >= 6
    others = {row["kind"] for key, row in faults("airline").items() if key not in table}
    assert others >= {"completion claimed", "accepted on retry", "weakened threshold", "skipped disclosure"}


def test_guards_of_the_code_are_the_guards_of_the_file():
    source = "".join(p.read_text() for p in [*FOLDER.glob("*.py"), *FOLDER.parent.glob("*.py")])
    assert all(f'"{guard}"' in source for guard in faults("airline"))
    assert set(re.findall(r's(?:elf)?\.guard\(\s*"([a-z_]+)"', source)) <= set(guards("airline"))


def test_data_is_what_the_generator_makes():
    assert generate.text(generate.make()) == (FOLDER / "data.json").read_text("utf-8")


def test_data_fits_together():
    d = data()
    assert len(d["users"]) >= 30 and len(d["reservations"]) >= 60
    assert Counter(r for u in d["users"].values() for r in u["reservations"]) == Counter(list(d["reservations"]))
    for reservation in d["reservations"].values():
        assert reservation["reservation_id"] in d["users"][reservation["user_id"]]["reservations"]
        assert re.fullmatch(r"(?=.*\d)[A-Z0-9]{6}", reservation["reservation_id"])
        assert reservation["flights"][0]["origin"] == reservation["origin"]
        for segment in reservation["flights"]:
            flight = d["flights"][segment["flight_number"]]
            assert (flight["origin"], flight["destination"]) == (segment["origin"], segment["destination"])


def test_brief_is_flat_and_true():
    given = brief("airline")
    assert len(given["seeds"]) == len(data()["users"])
    for seed in given["seeds"]:
        assert all(isinstance(v, str) for v in seed.values())
        assert data()["reservations"][seed["reservation_id_1"]]["user_id"] == seed["user_id"]


def test_inventory_has_39_provable_behaviours():
    inventory, policy = read("inventory.yaml"), (FOLDER / "policy.md").read_text("utf-8")
    assert len(inventory) == 39
    for _, section, proof in inventory.values():
        chapter, rule = section.split(".")
        assert re.search(rf"^## {chapter}\..*?^{rule}\. ", policy, re.MULTILINE | re.DOTALL)
        assert proof.get("guard", "user_id_required") in guards("airline")


@pytest.mark.parametrize("name", wordings("airline"))
def test_wordings_follow_their_brief(name):
    keys, words = read("wordings/keys.yaml"), read(f"wordings/{name}.yaml")
    assert set(words) == set(keys)
    for key, variants in words.items():
        meaning, required, others = keys[key]
        assert meaning and len(set(variants)) >= 4, key
        for variant in variants:
            found = set(wording.PLACEHOLDER.findall(variant))
            assert set(required) <= found <= {*required, *others}, (key, variant)


def test_wording_a_differs_between_acts():
    words = read("wordings/a.yaml")
    assert max(Counter(v for k, vs in words.items() if not k.startswith("item_") for v in vs).values()) == 1


# ---- faults and witnesses


def test_each_fault_has_a_witness():
    assert set(WITNESSES) == set(faults("airline"))


@pytest.mark.parametrize("fault", sorted(WITNESSES))
def test_witness(fault):
    for name in wordings("airline"):
        for seed in (0, 7):
            assert play(WITNESSES[fault], name=name, seed=seed)[0] == []
            assert play(WITNESSES[fault], name=name, seed=seed, fault=fault)[0] != []


def test_a_mutant_never_checks_its_own_guard():
    for fault in guards("airline"):
        outcomes = {
            e["outcome"]
            for e in play(WITNESSES[fault], fault=fault)[1]
            if e["event"] == "guard" and e["guard"] == fault
        }
        assert outcomes == {"skipped"}


def test_a_witness_of_a_guard_makes_that_guard_fail_on_the_reference():
    for guard in guards("airline"):
        failed = {e["guard"] for e in play(WITNESSES[guard])[1] if e["event"] == "guard" and e["outcome"] == "failed"}
        assert guard in failed, guard


def test_all_guards_hold_and_fail_and_all_behaviours_occur():
    logs = [play(turns)[1] for turns in WITNESSES.values()] + [walk(turns)[1].log for turns in WALKS]
    events = [event for log in logs for event in log]
    seen = {(e["guard"], e["outcome"]) for e in events if e["event"] == "guard"}
    assert {(g, o) for g in guards("airline") for o in ("held", "failed")} - seen == set()
    for key, (_, _, proof) in read("inventory.yaml").items():
        assert any(proof.items() <= {k: v for k, v in e.items() if isinstance(v, str)}.items() for e in events), key


def test_walks_write_what_they_say():
    for turns, tool in (
        (WALKS[0], "book_reservation"),
        (WALKS[1], "book_reservation"),
        (WALKS[2], "send_certificate"),
        (WALKS[5], "cancel_reservation"),
        (WALKS[6], "update_reservation_passengers"),
        (WALKS[10], "transfer_to_human_agents"),
    ):
        _, chat = walk(turns)
        assert tool in [e.get("name") for e in chat.log], (turns, chat.acts)


# ---- how people speak


@pytest.mark.parametrize("title", sorted(CONVERSATIONS))
def test_conversation(title):
    for name in wordings("airline"):
        for seed in (0, 5):
            failed, log = play(
                [[*turn, "!fallback", "!not_understood"] for turn in CONVERSATIONS[title]], name=name, seed=seed
            )
            assert failed == []
            assert log


def test_places_of_the_menu_are_those_of_every_list_of_services():
    """A number means the same whichever variant of the list was shown, and its words mean the same as its number."""
    named = ["book", "cancel", "chang|modif", "show|look up|look-up|details of", "search", "compensation|complaint"]
    for variant in read("wordings/a.yaml")["capabilities"]:
        low = variant.lower()
        at = [re.search(word, low).start() for word in named]
        assert at == sorted(at), variant
    by_number, by_name = (
        [walk(["what can you do", answer])[1].log[-1]["capability"] for answer in answers]
        for answers in (map(str, range(1, 7)), MENU)
    )
    assert by_number == by_name and len(set(by_name)) == 6


MENU = (
    "New bookings, please",
    "cancellations",
    "Changes to flights, cabin, passengers or bags",
    "details of my reservations",
    "flight search and flight status",
    "compensation claims",
)

NO_YES = (
    "before I confirm, how much is it?",
    "ok, how much is it?",
    "can you confirm the price?",
    "if you waive the fee, yes",
    "yes, if you waive the fee",
    "yes but with another card",
    "what happens if I confirm?",
    "will you do it today or tomorrow?",
    "ok so I was thinking about my sister's wedding",
    "ok then nothing",
)


@pytest.mark.parametrize("text", NO_YES)
def test_no_condition_or_question_is_a_yes(text):
    for opening in (
        "upgrade HFJ4XF to business with my credit card",
        "put three bags on T0DGMK and use my credit card",
    ):
        _, chat = walk([f"amara_okafor_1411: {opening}", text])
        assert not any(e.get("name", "").startswith("update_") for e in chat.log), chat.acts


@pytest.mark.parametrize(
    "text", ["yes", "ok", "go ahead", "Yes please!", "yep, do it", "can you go ahead please?", "y", "👍"]
)
def test_a_yes_is_a_yes(text):
    _, chat = walk(["amara_okafor_1411: upgrade HFJ4XF to business with my credit card", text])
    assert "cabin_done" in chat.acts


def test_slips_are_mended_and_names_are_not():
    known = spelling.vocabulary(FOLDER)
    assert spelling.mend("I wnat to CANCLE my flihgt to Chicgo", known) == "I wnat to CANCEL my flight to Chicago"
    people = [p for u in data()["users"].values() for p in (u["name"], *u["saved_passengers"])]
    for person in people:
        for text in (
            f"{person['first_name']} {person['last_name']}",
            f"i am {person['first_name']} {person['last_name']}.",
        ):
            assert spelling.mend(text, known) == text
            assert spelling.mend(text.lower(), known) == text.lower()


# ---- determinism, isolation


def test_equal_seeds_give_equal_bytes_and_other_seeds_other_words():
    turns = [turn[0] for turn in WITNESSES["nothing_pending"]]
    first, second, third = (walk(turns, seed=seed) for seed in (4, 4, 5))
    assert first[0] == second[0] != third[0]
    assert first[1].log == second[1].log == third[1].log


def test_the_log_is_privileged():
    for turns in WALKS:
        replies, chat = walk(turns)
        assert chat.log and not any(guard in reply for guard in guards("airline") for reply in replies)
    assert not any(guard in json.dumps(brief("airline")) for guard in guards("airline"))


def test_reset_and_instances_are_isolated():
    turns = [turn[0] for turn in WITNESSES["cancel_not_done"]]
    chat = open_scripted("airline", seed=1)
    logs = []
    for _ in range(2):
        chat.reset()
        for turn in turns:
            chat.invoke(turn)
        logs.append(chat.log)
    assert logs[0] == logs[1]
    other = open_scripted("airline")
    other.reset()
    other.invoke("bruno_lindqvist_4068, show me my reservations")
    assert "cancelled" not in other.invoke("show CGKC1E")
    assert data()["reservations"]["CGKC1E"]["status"] is None


@pytest.mark.parametrize("options", [{"domain": "shipping"}, {"wording": "zz"}, {"fault": "no_such"}])
def test_unknown_names_are_usage_errors(options):
    with pytest.raises(UsageError) as error:
        open_scripted(**{"domain": "airline", **options})
    assert "choose one of" in str(error.value) and "\n" not in str(error.value)


# ---- hostile and random input

HOSTILE = [
    "",
    " ",
    "\n\n",
    "🛫🧳😡",
    "<script>alert(1)</script>",
    "x" * 200_000,
    "a_b_1 " * 40_000,
    "{user_id} {items} {0}",
    "%s %d",
    "\x00\ud800",
    "'; DROP TABLE users; --",
    "__import__('os').system('touch owned')",
    "${7*7} {{7*7}}",
    "1" * 5000,
    "-5 bags",
    "from from to to",
    "yes no yes no",
    "99/99/9999",
    "0000-00-00",
    "Feb 30",
    "LW1",
    "to " * 2000,
    "My " * 2000,
    "?" * 3000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_gets_a_reply_in_every_situation(text):
    for turns in WALKS[:4]:
        chat = open_scripted("airline")
        chat.reset()
        for turn in turns:
            assert chat.invoke(text[:3000] if len(text) > 3000 and turn != turns[0] else text).strip()
            chat.invoke(turn)
    assert "49" not in chat.invoke("${7*7} {{7*7}}")


def test_braces_of_a_user_stay_text():
    chat = open_scripted("airline")
    chat.reset()
    reply = chat.invoke("flights from {items} to Zanzi{bar}, please, from JFK to {origin} on Sept 24")
    assert reply.strip()
    assert all(isinstance(json.dumps(e, default=str), str) for e in chat.log)


def vocabulary():
    words = [turn for turns in WALKS for turn in turns]
    words += [turn[0] for table in (WITNESSES, CONVERSATIONS) for turns in table.values() for turn in turns]
    return (
        words
        + HOSTILE[:5]
        + ["yes", "no", "I don't know", "the second one", "2", "never mind", "sorry, I meant the other one"]
    )


def stroll(n, fault=None):
    """A conversation with utterances in it that do not fit."""
    draw, words = random.Random(derive_seed("walk", n)), vocabulary()
    chat = open_scripted("airline", fault=fault, seed=n)
    chat.reset()
    for turn in draw.choice([*WALKS, *([t[0] for t in turns] for turns in CONVERSATIONS.values())]):
        for text in [*draw.choices(words, k=draw.choice([0, 0, 1, 2])), turn]:
            assert chat.invoke(text).strip(), text
    return chat.log


def test_random_walks_never_fail():
    for n in range(60):
        stroll(n, random.Random(n).choice(sorted(faults("airline"))))


def test_the_reference_writes_only_after_a_yes_and_only_for_the_owner():
    written = 0
    for log in map(stroll, range(150)):
        user = next((e["user_id"] for e in log if e.get("change") == "identified"), None)
        agreed = {e["turn"] for e in log if e.get("guard", "").startswith("confirm_") and e["outcome"] == "held"}
        for event in log:
            if re.match("book_|cancel_|update_|send_", event.get("name", "")):
                written += 1
                owner = data()["reservations"].get(event["arguments"].get("reservation_id"), {}).get("user_id", user)
                assert event["turn"] in agreed and event["arguments"].get("user_id", owner) == owner == user, event
    assert written > 40


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(max_size=80) | st.sampled_from(vocabulary()[:80]), max_size=6))
def test_any_text_gets_a_reply(turns):
    replies, _ = walk(turns)
    assert all(reply.strip() for reply in replies)
