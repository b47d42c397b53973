"""The scripted airline: how its data fit together, what it writes, and how people speak to it."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial

import pytest
import scripted_play
from scripted_play import read, stroll

from agenteval.subjects.scripted import brief, open_scripted, spelling
from agenteval.subjects.scripted.airline import FOLDER, data

WALKS = read("airline", "walks.yaml")
walk = partial(scripted_play.walk, "airline")


# ---- data files


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


def test_places_of_the_menu_are_those_of_every_list_of_services():
    """A number means the same whichever variant of the list was shown, and its words mean the same as its number."""
    named = ["book", "cancel", "chang|modif", "show|look up|look-up|details of", "search", "compensation|complaint"]
    for variant in read("airline", "wordings/a.yaml")["capabilities"]:
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


# ---- hostile and random input


def test_braces_of_a_user_stay_text():
    chat = open_scripted("airline")
    chat.reset()
    reply = chat.invoke("flights from {items} to Zanzi{bar}, please, from JFK to {origin} on Sept 24")
    assert reply.strip()
    assert all(isinstance(json.dumps(e, default=str), str) for e in chat.log)


def test_the_reference_writes_only_after_a_yes_and_only_for_the_owner():
    written = 0
    for log in map(partial(stroll, "airline"), range(150)):
        user = next((e["user_id"] for e in log if e.get("change") == "identified"), None)
        agreed = {e["turn"] for e in log if e.get("guard", "").startswith("confirm_") and e["outcome"] == "held"}
        for event in log:
            if re.match("book_|cancel_|update_|send_", event.get("name", "")):
                written += 1
                owner = data()["reservations"].get(event["arguments"].get("reservation_id"), {}).get("user_id", user)
                assert event["turn"] in agreed and event["arguments"].get("user_id", owner) == owner == user, event
    assert written > 40
