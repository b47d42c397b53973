"""What holds of every scripted subject: its files, its faults and their witnesses, determinism, isolation, hostile input."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from importlib import import_module

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted_play import HOSTILE, KINDS, play, read, stroll, vocabulary, walk

from agenteval.errors import UsageError
from agenteval.subjects.scripted import DOMAINS, brief, faults, folder, guards, open_scripted, wording, wordings

BEHAVIOURS = {"airline": 39, "retail": 31, "telecom": 30, "banking": 45}
per_domain = pytest.mark.parametrize("domain", DOMAINS)
per_wording = pytest.mark.parametrize(("domain", "name"), [(d, w) for d in DOMAINS for w in wordings(d)])


def module(domain):
    return import_module(f"agenteval.subjects.scripted.{domain}")


# ---- data files


@per_domain
def test_guards_cover_all_kinds(domain):
    table = guards(domain)
    assert len(table) >= 30 and {g["kind"] for g in table.values()} == KINDS
    assert all(all(row.values()) for row in faults(domain).values())
    others = {row["kind"] for key, row in faults(domain).items() if key not in table}
    assert len(faults(domain)) - len(table) >= 4
    assert others >= {"completion claimed", "accepted on retry", "weakened threshold", "skipped disclosure"}


@per_domain
def test_guards_of_the_code_are_the_guards_of_the_file(domain):
    source = "".join(p.read_text() for p in [*folder(domain).glob("*.py"), *folder(domain).parent.glob("*.py")])
    assert [g for g in faults(domain) if f'"{g}"' not in source] == []
    assert set(re.findall(r's(?:elf)?\.guard\(\s*"([a-z_]+)"', source)) <= set(guards(domain))


@per_domain
def test_data_is_what_the_generator_makes(domain):
    generate = import_module(f"agenteval.subjects.scripted.{domain}.generate")
    assert generate.text(generate.make()) == (folder(domain) / "data.json").read_text("utf-8")


@per_domain
def test_brief_is_flat(domain):
    given = brief(domain)
    assert len(given["seeds"]) >= 20 and all(isinstance(v, str) for seed in given["seeds"] for v in seed.values())


@per_domain
def test_inventory_has_provable_behaviours(domain):
    inventory, policy = read(domain, "inventory.yaml"), (folder(domain) / "policy.md").read_text("utf-8")
    assert len(inventory) == BEHAVIOURS[domain]
    for _, section, proof in inventory.values():
        chapter, rule = section.split(".")
        assert re.search(rf"^## {chapter}\..*?^{rule}\. ", policy, re.MULTILINE | re.DOTALL), section
        assert "guard" not in proof or proof["guard"] in guards(domain)


@per_wording
def test_wordings_follow_their_brief(domain, name):
    keys, words = read(domain, "wordings/keys.yaml"), read(domain, f"wordings/{name}.yaml")
    assert set(words) == set(keys)
    for key, variants in words.items():
        meaning, required, others = keys[key]
        assert meaning and len(set(variants)) >= 4, key
        for variant in variants:
            found = set(wording.PLACEHOLDER.findall(variant))
            assert set(required) <= found <= {*required, *others}, (key, variant)


@per_wording
def test_a_wording_differs_between_acts(domain, name):
    words = read(domain, f"wordings/{name}.yaml")
    said = Counter(v for k, vs in words.items() if not k.startswith("item_") for v in vs)
    assert [v for v, n in said.items() if n > 1] == []


# ---- faults and witnesses


@per_domain
def test_each_fault_has_a_witness(domain):
    assert set(read(domain, "witnesses.yaml")) == set(faults(domain))


@pytest.mark.parametrize(("domain", "fault"), [(d, f) for d in DOMAINS for f in sorted(faults(d))])
def test_witness(domain, fault):
    turns = read(domain, "witnesses.yaml")[fault]
    for name in wordings(domain):
        for seed in (0, 7):
            assert play(domain, turns, name=name, seed=seed)[0] == []
            assert play(domain, turns, name=name, seed=seed, fault=fault)[0] != []


@per_domain
def test_a_mutant_never_checks_its_own_guard(domain):
    for fault in guards(domain):
        log = play(domain, read(domain, "witnesses.yaml")[fault], fault=fault)[1]
        assert {e["outcome"] for e in log if e["event"] == "guard" and e["guard"] == fault} == {"skipped"}, fault


@per_domain
def test_a_witness_of_a_guard_makes_that_guard_fail_on_the_reference(domain):
    for guard in guards(domain):
        log = play(domain, read(domain, "witnesses.yaml")[guard])[1]
        assert guard in {e["guard"] for e in log if e["event"] == "guard" and e["outcome"] == "failed"}, guard


@per_domain
def test_all_guards_hold_and_fail_and_all_behaviours_occur(domain):
    logs = [play(domain, turns)[1] for turns in read(domain, "witnesses.yaml").values()]
    logs += [walk(domain, turns)[1].log for turns in read(domain, "walks.yaml")]
    events = [event for log in logs for event in log]
    seen = {(e["guard"], e["outcome"]) for e in events if e["event"] == "guard"}
    assert {(g, o) for g in guards(domain) for o in ("held", "failed")} - seen == set()
    for key, (_, _, proof) in read(domain, "inventory.yaml").items():
        assert any(proof.items() <= {k: v for k, v in e.items() if isinstance(v, str)}.items() for e in events), key


# ---- how people speak


@pytest.mark.parametrize(("domain", "title"), [(d, t) for d in DOMAINS for t in sorted(read(d, "conversations.yaml"))])
def test_conversation(domain, title):
    turns = [[*turn, "!fallback", "!not_understood"] for turn in read(domain, "conversations.yaml")[title]]
    for name in wordings(domain):
        for seed in (0, 5):
            failed, log = play(domain, turns, name=name, seed=seed)
            assert failed == []
            assert log


# ---- determinism, isolation


@per_domain
def test_equal_seeds_give_equal_bytes_and_other_seeds_other_words(domain):
    turns = [turn[0] for turn in read(domain, "witnesses.yaml")["nothing_pending"]]
    first, second, third = (walk(domain, turns, seed=seed) for seed in (4, 4, 5))
    assert first[0] == second[0] != third[0]
    assert first[1].log == second[1].log == third[1].log


@per_domain
def test_the_log_is_privileged(domain):
    telling = [guard for guard in guards(domain) if "_" in guard]
    for turns in read(domain, "walks.yaml"):
        replies, chat = walk(domain, turns)
        assert chat.log and not any(guard in reply for guard in telling for reply in replies)
    assert not any(guard in json.dumps(brief(domain)) for guard in telling)


@per_domain
def test_reset_and_instances_are_isolated(domain):
    before = json.dumps(module(domain).data(), sort_keys=True)
    for turns in read(domain, "walks.yaml"):
        chat = open_scripted(domain, seed=1)
        logs = []
        for _ in range(2):
            chat.reset()
            for turn in turns:
                chat.invoke(turn)
            logs.append(chat.log)
        assert logs[0] == logs[1]
    assert json.dumps(module(domain).data(), sort_keys=True) == before


@pytest.mark.parametrize("options", [{"domain": "shipping"}, {"wording": "zz"}, {"fault": "no_such"}])
def test_unknown_names_are_usage_errors(options):
    with pytest.raises(UsageError) as error:
        open_scripted(**{"domain": "airline", **options})
    assert "choose one of" in str(error.value) and "\n" not in str(error.value)


# ---- hostile and random input


@per_domain
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_gets_a_reply_in_every_situation(domain, text):
    for turns in read(domain, "walks.yaml")[:4]:
        chat = open_scripted(domain)
        chat.reset()
        for turn in turns:
            assert chat.invoke(text[:3000] if len(text) > 3000 and turn != turns[0] else text).strip()
            chat.invoke(turn)
    assert "49" not in chat.invoke("${7*7} {{7*7}}")


@per_domain
def test_random_walks_never_fail(domain):
    for n in range(60):
        stroll(domain, n, random.Random(n).choice(sorted(faults(domain))))


@per_domain
def test_the_reference_never_does_what_a_guard_forbids(domain):
    """No log of the reference holds a skipped guard, or a fault."""
    for n in range(60):
        log = stroll(domain, n)
        assert not [e for e in log if e.get("outcome") == "skipped" or e["event"] == "fault"]


@per_domain
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_text_gets_a_reply(domain, data):
    turns = data.draw(st.lists(st.text(max_size=80) | st.sampled_from(vocabulary(domain)[:80]), max_size=6))
    replies, _ = walk(domain, turns)
    assert all(reply.strip() for reply in replies)
