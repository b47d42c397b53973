"""The offline labeller: speech acts of replies, user actions in context, and what hostile text may not do."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from agenteval.tester.rules import lexicon as lexicon_module
from agenteval.tester.rules.labeller import label
from agenteval.tester.rules.lexicon import load
from agenteval.tester.rules.replies import Context, Reading, read_reply
from agenteval.tester.rules.slots import requested
from agenteval.tester.rules.utterances import read_utterance, user_action

DATA = Path(__file__).parents[2] / "shared" / "data"
PACKAGE = Path(lexicon_module.__file__).parent


def read(reply: str, user: str = "I need help with this.", before: str = "", task: str = "") -> Reading:
    said = read_utterance(user, load())
    action = user_action(said, before, task)
    tasks = said.tasks + ((task,) if task else ())
    return read_reply(reply, Context(said, action, before, next(iter(tasks), ""), frozenset(tasks)), load())


def activities(*turns: tuple[str, str]) -> list[str]:
    session = {"id": "s", "greeting": "", "turns": [{"user": u, "agent": a} for u, a in turns]}
    return [t["activity"] for t in label([session])[0]["turns"]]


def actions(*turns: tuple[str, str]) -> list[str]:
    session = {"id": "s", "greeting": "", "turns": [{"user": u, "agent": a} for u, a in turns]}
    return [t["action"] for t in label([session])[0]["turns"]]


CANCELLING = (("Please cancel my other trip.", "Shall I go ahead and cancel it?"), ("Yes", "Your trip has been cancelled."))

# The rows of the prior study's table of examples, in our own words: user, reply, act, task.
EXAMPLES = [
    ("Can you find it any other way?", "As we could not find a booking with what you gave me, please look through your "
     "inbox for a booking mail. If anything turns up, share it here and I'll gladly help.", "report_unavailable", ""),
    ("Let's split it.", "This is how the three bookings add up:\n1. **Booking 1**:\n - Total: $833\n - Voucher: $500\n"
     "Would you like to proceed with this booking arrangement?", "request_confirmation", "book"),
    ("What happens to the money from gift cards?", "Refunds are typically made to the card that was used. However, the "
     "rest of a gift card is not refundable. That policy keeps payments safe.", "answer_question", ""),
    ("I want to cancel it.", "Since this is the cheapest class and was created two days ago, it cannot be canceled. I can "
     "transfer you to a human agent. Would you like me to do that?", "deny_and_explain_policy", "cancel"),
    ("Upgrade me please.", "It seems there is still an issue with seat 12 on May 3, which is not available for the "
     "upgrade. Would you like me to look for other flights, or would you prefer a human agent?", "report", ""),
    ("Cancel all that you can.", "Here are the remaining bookings:\n1. **ID: AAA111**\n - Class: economy\n2. **ID: BBB222**"
     "\n - Class: business\nOnly BBB222 can be cancelled. Would you like to proceed with the cancellation of the eligible "
     "one?", "request_confirmation", "cancel"),
    ("There must be an exception.", "I see how urgent it is, but unfortunately I am unable to make exceptions to the "
     "cancellation policy. Would you like me to transfer you to a human agent?", "deny_and_explain_policy", "cancel"),
    ("I want a refund for the insurance.", "I'm sorry, but once insurance is purchased, it cannot be canceled or refunded. "
     "If you have other questions, please let me know!", "deny_and_explain_policy", "cancel"),
    ("Cancel my trip.", "To proceed with the cancellation, I need to confirm a few details:\n1. Was the trip booked within "
     "the last day?\n2. If not, do you hold insurance? Please let me know.", "request", ""),
    ("I don't have the number.", "Unfortunately, I need the reservation ID to access your booking. Please look in your mail. "
     "Once you have the reservation ID, let me know, and we can proceed with the changes.", "request", ""),
    ("I'll look for it and come back.", "No problem at all! Take your time, and feel free to reach out whenever you're "
     "ready. I'm here to help!", "close", ""),
    ("Use the vouchers first.", "With the $500 voucher and $300 of the gift cards applied, $400 remain for your card. Would "
     "you like to proceed with booking the trip using these payment methods?", "request_confirmation", "book"),
    ("Upgrade both and add a bag.", "The cost to upgrade both of you is $1,200. Would you like to proceed with the upgrade "
     "and baggage addition?", "request_confirmation", "upgrade"),
    ("Any direct ones?", "Unfortunately, there are no nonstop flights available on May 22. If there's anything else you'd "
     "like to explore, please let me know!", "report_unavailable", ""),
    ("Cancel it please.", "I have found one of your bookings with ID **ABC123**. Since this is business class, it can be "
     "canceled. - **Insurance:** Yes\nWould you like to proceed with canceling it?", "request_confirmation", "cancel"),
    ("My flight was cancelled.", "I'm sorry to hear about your flight cancellation. Could you please provide me with your "
     "user ID and the reservation ID for the cancelled flight?", "request", ""),
    ("Use my card.", "It seems there was an error in the payment amount. The total is $628. Would you like to proceed with "
     "this amount using your credit card? Please confirm.", "request_confirmation", ""),
    ("Can I pay with a gift card?", "Yes, you can use a gift card for the payment when making changes. Once you have the "
     "reservation ID and are ready to proceed, please let me know.", "answer_question", ""),
    ("I want my money back.", "I understand the inconvenience. Unfortunately, the compensation policy allows me to offer a "
     "voucher only. Beyond that, I would need to transfer you to a human agent. Would you like me to do that?",
     "deny_and_explain_policy", ""),
]


@pytest.mark.parametrize(("user", "reply", "act", "task"), EXAMPLES)
def test_example_acts(user: str, reply: str, act: str, task: str) -> None:
    reading = read(reply, user)
    assert reading.act.startswith(act)
    assert not task or reading.verb == task


def test_ineligible_with_a_question_is_no_gate() -> None:
    reading = read("The details show that the booking was created on 2024-05-02, which is more than 24 hours ago. Could you "
                   "please confirm if there might be a misunderstanding?", "I booked it an hour ago.")
    assert reading.act in ("deny_and_explain_policy", "request")


@pytest.mark.parametrize("reply", [
    "The reservation was made on 2024-05-05, which is more than 24 hours ago, and there is no travel insurance.",
    "Your loan was renewed on 3 March.",
    "The card was blocked two weeks ago.",
    "If your order has been shipped, you can follow it online.",
    "It has not been cancelled.",
    "Once the payment has been processed, you will get a mail.",
])
def test_background_is_no_completion(reply: str) -> None:
    assert read(reply).act != "confirm_completion"


def test_completion_and_next_gate() -> None:
    reading = read("The cancellation of your current trip has been completed. The new one costs $2,499 in all. Would you like "
                   "to proceed with booking the new trip?", "Cancel and book again.")
    assert reading == Reading("confirm_completion", "cancel", gate_after="book")
    both = [("Cancel and book again.", "Your trip has been cancelled. Shall I go ahead and book the new one?"),
            ("Yes", "Your trip has been booked.")]
    assert activities(*both, *CANCELLING)[0] == "confirm_completion_cancel_and_request_confirmation_book"


def test_failure_and_next_gate() -> None:
    reading = read("It seems there is an issue with the larger voucher: the voucher is not valid. Would you like to proceed "
                   "with booking the trip using your credit card?", "Book it.")
    assert (reading.act, reading.gate_after) == ("report_failure", "book")
