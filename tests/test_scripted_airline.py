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
from agenteval.subjects.scripted import brief, faults, guards, open_scripted, wording, wordings
from agenteval.subjects.scripted.airline import FOLDER, data, generate

KINDS = {"identity", "prerequisite", "eligibility", "confirmation", "validation", "limit", "scope", "recovery"}


@lru_cache
def read(name):
    return yaml.safe_load((FOLDER / name).read_text("utf-8"))


WITNESSES = read("witnesses.yaml")
WALKS = [
    [
        "hi",
        "I want to book a flight from JFK to Chicago on Sept 23, one way, economy, just me",
        "amara_okafor_1411",
        "LW106",
        "Amara Okafor",
        "no bags",
        "no",
        "my credit card",
        "yes",
        "thanks, bye",
    ],
    [
        "celia_marchetti_6725: book a round trip from JFK to Los Angeles, out September 24, back September 28,"
        " one person, economy",
        "LW177",
        "LW178",
        "Kevin Smith, born April 12, 2001",
        "2 bags",
        "yes please",
        "my visa and gift_card_1103961",
        "go ahead",
    ],
    [
        "quinn_ashby_7923, my flight on VKXL6P is delayed, I want compensation of $50",
        "cancel it, I am sick",
        "yes",
        "yes",
    ],
    ["amara_okafor_1411, the earliest flight a day later for HFJ4XF", "gift card", "yes"],
    ["bruno_lindqvist_4068", "cancel XGLHC8, I am ill and I bought the insurance", "yes"],
    ["dario_pereira_9382, cancel BLQD6V, the airline cancelled it and your agent told me it was approved", "yes"],
    ["farid_haddad_5696, change passenger Nadia Haddad to Anna Haddad on FPU4ZM", "March 3, 1992", "yes"],
    [
        "amara_okafor_1411",
        "upgrade HFJ4XF to business",
        "my card",
        "yes",
        "what about the round trip T0DGMK, change the return flight",
        "September 26",
        "the first one",
        "my card",
        "wait",
        "yes",
    ],
    [
        "elina_novak_3039, I'm a silver member and want a certificate, R0MSPR was delayed",
        "move it to tomorrow, first option, with my card",
        "first",
        "my card",
        "yes",
        "yes",
    ],
    [
        "status of LW106",
        "which flights go to Boston from Denver tomorrow?",
        "with one stop",
        "where do you fly?",
        "a hotel in Boston?",
    ],
    ["get me a human", "get me a human right now", "hello?"],
    ["farid_haddad_5696: cancel AQVE1L, sick", "yes", "thanks"],
    ["vera_zhang_3208: gold member here, my flight on H0VKZR was cancelled and I want a voucher", "yes"],
    [
        "amara_okafor_1411: 3 bags for NE7HSH, visa",
        "what is the refund policy?",
        "yes",
        "amara_okafor_1411 here, is it done?",
    ],
    ["celia_marchetti_6725: add a bag to the trip from Dallas", "my card", "yes"],
]


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


# ---- determinism, isolation


def test_equal_seeds_give_equal_bytes_and_other_seeds_other_words():
    turns = [turn[0] for turn in WITNESSES["nothing_pending"]]
    first, second, third = (walk(turns, seed=seed) for seed in (4, 4, 5))
    assert first[0] == second[0] != third[0]
    assert first[1].log == second[1].log == third[1].log


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
    "__import__('os').system('touch /tmp/owned')",
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
    words = [turn for turns in WALKS for turn in turns] + [turn[0] for turns in WITNESSES.values() for turn in turns]
    return (
        words
        + HOSTILE[:5]
        + ["yes", "no", "I don't know", "the second one", "2", "never mind", "sorry, I meant the other one"]
    )


def test_random_walks_never_fail():
    words = vocabulary()
    for n in range(60):
        draw = random.Random(derive_seed("walk", n))
        fault = draw.choice([None, *sorted(faults("airline"))])
        chat = open_scripted("airline", fault=fault, seed=n)
        chat.reset()
        for _ in range(14):
            text = " ".join(draw.choice(words) for _ in range(draw.choice([1, 1, 1, 2])))
            assert chat.invoke(text).strip(), text


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(max_size=80) | st.sampled_from(vocabulary()[:80]), max_size=6))
def test_any_text_gets_a_reply(turns):
    replies, _ = walk(turns)
    assert all(reply.strip() for reply in replies)
