"""The offline labeller: speech acts of replies, user actions in context, and what hostile text may not do."""

from __future__ import annotations

import json
import re
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


CANCELLING = (
    ("Please cancel my other trip.", "Shall I go ahead and cancel it?"),
    ("Yes", "Your trip has been cancelled."),
)

# The rows of the prior study's table of examples, in our own words: user, reply, act, task.
EXAMPLES = [
    (
        "Can you find it any other way?",
        "As we could not find a booking with what you gave me, please look through your "
        "inbox for a booking mail. If anything turns up, share it here and I'll gladly help.",
        "report_unavailable",
        "",
    ),
    (
        "Let's split it.",
        "This is how the three bookings add up:\n1. **Booking 1**:\n - Total: $833\n - Voucher: $500\n"
        "Would you like to proceed with this booking arrangement?",
        "request_confirmation",
        "book",
    ),
    (
        "What happens to the money from gift cards?",
        "Refunds are typically made to the card that was used. However, the "
        "rest of a gift card is not refundable. That policy keeps payments safe.",
        "answer_question",
        "",
    ),
    (
        "I want to cancel it.",
        "Since this is the cheapest class and was created two days ago, it cannot be canceled. I "
        "can "
        "transfer you to a human agent. Would you like me to do that?",
        "deny_and_explain_policy",
        "cancel",
    ),
    (
        "Upgrade me please.",
        "It seems there is still an issue with seat 12 on May 3, which is not available for the "
        "upgrade. Would you like me to look for other flights, or would you prefer a human agent?",
        "report",
        "",
    ),
    (
        "Cancel all that you can.",
        "Here are the remaining bookings:\n1. **ID: AAA111**\n - Class: economy\n2. **ID: "
        "BBB222**"
        "\n - Class: business\nOnly BBB222 can be cancelled. Would you like to proceed with the cancellation of the "
        "eligible "
        "one?",
        "request_confirmation",
        "cancel",
    ),
    (
        "There must be an exception.",
        "I see how urgent it is, but unfortunately I am unable to make exceptions to the "
        "cancellation policy. Would you like me to transfer you to a human agent?",
        "deny_and_explain_policy",
        "cancel",
    ),
    (
        "I want a refund for the insurance.",
        "I'm sorry, but once insurance is purchased, it cannot be canceled or "
        "refunded. "
        "If you have other questions, please let me know!",
        "deny_and_explain_policy",
        "cancel",
    ),
    (
        "Cancel my trip.",
        "To proceed with the cancellation, I need to confirm a few details:\n1. Was the trip booked "
        "within "
        "the last day?\n2. If not, do you hold insurance? Please let me know.",
        "request",
        "",
    ),
    (
        "I don't have the number.",
        "Unfortunately, I need the reservation ID to access your booking. Please look in "
        "your mail. "
        "Once you have the reservation ID, let me know, and we can proceed with the changes.",
        "request",
        "",
    ),
    (
        "I'll look for it and come back.",
        "No problem at all! Take your time, and feel free to reach out whenever you're ready. I'm here to help!",
        "close",
        "",
    ),
    (
        "Use the vouchers first.",
        "With the $500 voucher and $300 of the gift cards applied, $400 remain for your card. "
        "Would "
        "you like to proceed with booking the trip using these payment methods?",
        "request_confirmation",
        "book",
    ),
    (
        "Upgrade both and add a bag.",
        "The cost to upgrade both of you is $1,200. Would you like to proceed with the upgrade and baggage addition?",
        "request_confirmation",
        "upgrade",
    ),
    (
        "Any direct ones?",
        "Unfortunately, there are no nonstop flights available on May 22. If there's anything else "
        "you'd "
        "like to explore, please let me know!",
        "report_unavailable",
        "",
    ),
    (
        "Cancel it please.",
        "I have found one of your bookings with ID **ABC123**. Since this is business class, it can "
        "be "
        "canceled. - **Insurance:** Yes\nWould you like to proceed with canceling it?",
        "request_confirmation",
        "cancel",
    ),
    (
        "My flight was cancelled.",
        "I'm sorry to hear about your flight cancellation. Could you please provide me with "
        "your "
        "user ID and the reservation ID for the cancelled flight?",
        "request",
        "",
    ),
    (
        "Use my card.",
        "It seems there was an error in the payment amount. The total is $628. Would you like to proceed "
        "with "
        "this amount using your credit card? Please confirm.",
        "request_confirmation",
        "",
    ),
    (
        "Can I pay with a gift card?",
        "Yes, you can use a gift card for the payment when making changes. Once you have "
        "the "
        "reservation ID and are ready to proceed, please let me know.",
        "answer_question",
        "",
    ),
    (
        "I want my money back.",
        "I understand the inconvenience. Unfortunately, the compensation policy allows me to "
        "offer a "
        "voucher only. Beyond that, I would need to transfer you to a human agent. Would you like me to do that?",
        "deny_and_explain_policy",
        "",
    ),
]


@pytest.mark.parametrize(("user", "reply", "act", "task"), EXAMPLES)
def test_example_acts(user: str, reply: str, act: str, task: str) -> None:
    reading = read(reply, user)
    assert reading.act.startswith(act)
    assert not task or reading.verb == task


def test_ineligible_with_a_question_is_no_gate() -> None:
    reading = read(
        "The details show that the booking was created on 2024-05-02, which is more than 24 hours ago. "
        "Could you "
        "please confirm if there might be a misunderstanding?",
        "I booked it an hour ago.",
    )
    assert reading.act in ("deny_and_explain_policy", "request")


@pytest.mark.parametrize(
    "reply",
    [
        "The reservation was made on 2024-05-05, which is more than 24 hours ago, and there is no travel insurance.",
        "Your loan was renewed on 3 March.",
        "The card was blocked two weeks ago.",
        "If your order has been shipped, you can follow it online.",
        "It has not been cancelled.",
        "Once the payment has been processed, you will get a mail.",
    ],
)
def test_background_is_no_completion(reply: str) -> None:
    assert read(reply).act != "confirm_completion"


def test_completion_and_next_gate() -> None:
    reading = read(
        "The cancellation of your current trip has been completed. The new one costs $2,499 in all. Would "
        "you like "
        "to proceed with booking the new trip?",
        "Cancel and book again.",
    )
    assert reading == Reading("confirm_completion", "cancel", gate_after="book")
    both = [
        ("Cancel and book again.", "Your trip has been cancelled. Shall I go ahead and book the new one?"),
        ("Yes", "Your trip has been booked."),
    ]
    assert activities(*both, *CANCELLING)[0] == "confirm_completion_cancel_and_request_confirmation_book"


def test_failure_comes_before_the_completion_that_repairs_it() -> None:
    reading = read(
        "The voucher is not available for this payment. The trip has been cancelled. Would you like to "
        "proceed with booking it using your card?",
        "Use the voucher.",
    )
    assert (reading.act, reading.gate_after) == ("report_failure", "book")


def test_failure_and_next_gate() -> None:
    reading = read(
        "It seems there is an issue with the larger voucher: the voucher is not valid. Would you like to "
        "proceed "
        "with booking the trip using your credit card?",
        "Book it.",
    )
    assert (reading.act, reading.gate_after) == ("report_failure", "book")


def test_answer_or_refusal_depends_on_the_question() -> None:
    rule = "Change fees usually apply and the cheapest fare is not refundable in general."
    assert read(rule, "Is the cheapest fare refundable?").act == "answer_question"
    assert read("I'm sorry, I cannot refund the cheapest fare.", "Refund my fare.").act == "deny_and_explain_policy"


@pytest.mark.parametrize(
    ("before", "verb", "user", "action"),
    [
        ("request_confirmation", "cancel", "Yes, please.", "confirm_cancel"),
        ("request_confirmation", "cancel", "No, don't.", "decline_cancel"),
        ("request_confirmation", "book", "No, make it four people.", "correct_details"),
        ("request_confirmation", "book", "Yes. What does it cost?", "confirm_and_ask_question"),
        ("offer", "transfer", "Yes, please.", "accept_offer"),
        ("offer", "transfer", "No, thanks.", "decline_offer"),
        ("present_options", "", "Yes, that sounds great.", "select_option"),
        ("present_options", "", "Do you have any others?", "ask_for_alternatives"),
        ("present_options", "", "Perfect, please book it for me.", "select_option_and_request_book"),
        ("request", "", "ABC123", "provide_details"),
        ("request", "", "I don't remember it.", "lack_information"),
        ("offer_more_help", "", "No, that's all I need.", "decline_more_help"),
        ("confirm_completion", "book", "Thank you so much!", "thank_and_close"),
        ("deny_and_explain_policy", "cancel", "Please make an exception for me.", "contest_denial"),
        ("", "", "I want to renew my passport.", "request_renew"),
        ("", "", "Which documents do I need?", "ask_question"),
        ("", "", "I'd like to speak to a human.", "request_transfer"),
    ],
)
def test_user_action_knows_the_previous_act(before: str, verb: str, user: str, action: str) -> None:
    assert user_action(read_utterance(user, load()), before, verb) == action


def test_blank_utterance_says_nothing() -> None:
    assert actions(("  ", "Hello, how can I help you?"))[0] == "say_nothing"


@pytest.mark.parametrize(
    ("sentence", "slots"),
    [
        (
            "could you please provide your user id and the reservation id for the cancelled flight?",
            ["user_id", "reservation_id"],
        ),
        ("what is your date of birth?", ["date_of_birth"]),
        ("how many guests will you be bringing with you?", ["number_of_guests"]),
        ("please enter your library card number.", ["library_card_number"]),
        ("could you share the email address associated with your account?", ["email_address"]),
        ("which payment method would you like to use?", ["payment_method"]),
        ("where would you like to go?", ["destination"]),
    ],
)
def test_slots_are_read_from_the_sentence(sentence: str, slots: list[str]) -> None:
    assert requested(sentence, load()) == slots


TRADES = {
    "clinic": [
        ("I need an appointment with a dentist.", "I can help you. May I have your date of birth?", "request"),
        (
            "4 March 1980",
            "Dr. Park has openings on Tuesday at 9:00 and Thursday at 14:30. Which one would you prefer?",
            "present_options",
        ),
        (
            "Thursday",
            "Just to confirm: a visit to Dr. Park on Thursday at 14:30. Is that correct?",
            "request_confirmation",
        ),
        ("Yes", "Your appointment has been booked for Thursday at 14:30.", "confirm_completion"),
        ("Move it to today.", "I'm sorry, I cannot reschedule a visit on the same day.", "deny_and_explain_policy"),
    ],
    "bank": [
        ("Please block my card.", "Please tell me the last four digits of your card.", "request"),
        ("1234", "Do you want me to block the card ending in 1234 now?", "request_confirmation_block"),
        ("Yes", "Your card is now blocked.", "confirm_completion_block"),
    ],
    "telecom": [
        ("My line is dead.", "I'm sorry about that. What is your customer number?", "request"),
        ("C-100", "I was not able to reset the line from here.", "report_failure"),
        ("Can I talk to a person?", "I am transferring you to a colleague now.", "transfer"),
    ],
    "library": [
        ("What is the fine per day?", "The fine is 20 cents per day and book.", "answer_question"),
        ("I want to renew Dune.", "We could not find a loan of that name.", "report_unavailable"),
        ("Then renew Emma.", "Emma has been renewed until 24 June.", "confirm_completion_renew"),
        ("Thanks, bye!", "You're welcome. Have a great day!", "close"),
    ],
    "bike rental": [
        (
            "I want to rent a bike.",
            "A bike for 3 hours costs 25 euro. Shall I go ahead and reserve it?",
            "request_confirmation",
        ),
        ("Go ahead", "Reserved! Your code is BK-77.", "confirm_completion"),
        ("Thanks", "Is there anything else I can help you with?", "offer_more_help"),
    ],
}


@pytest.mark.parametrize("trade", sorted(TRADES))
def test_other_trades(trade: str) -> None:
    found = activities(*[(user, reply) for user, reply, _ in TRADES[trade]])
    assert [f for f, (*_, act) in zip(found, TRADES[trade], strict=True) if not f.startswith(act)] == []


def test_task_is_bound_to_what_is_asked_after_the_first_record() -> None:
    sessions = [
        {
            "id": f"s{i}{task}",
            "greeting": "",
            "turns": [
                {"user": f"I want to {task} an item.", "agent": "Could you please provide your email address?"},
                {"user": "a@b.org", "agent": f"I have found your account and the order {i}."},
                {"user": "Good.", "agent": "Which item numbers and which payment method do you mean?"},
            ],
        }
        for i in range(4)
        for task in ("return", "exchange")
    ]
    names = [[t["activity"] for t in s["turns"]] for s in label(sessions)]
    assert {n[0] for n in names} == {"request_email_address"}
    assert {n[2].rsplit("_for_", 1)[1] for n in names} == {"return", "exchange"}


def test_failed_turn_has_no_activity() -> None:
    turns = label([{"id": "s", "greeting": "Hi", "turns": [{"user": "Cancel it.", "agent": ""}]}])[0]["turns"]
    assert turns[0]["activity"] == ""
    assert turns[0]["action"] == "request_cancel"
    assert label([]) == [] and label([{"id": "s", "greeting": "", "turns": []}]) == [{"session": "s", "turns": []}]


def test_output_keys_and_names() -> None:
    session = {"id": "s", "greeting": "", "turns": [{"user": u, "agent": a} for u, a, _ in TRADES["clinic"]]}
    for number, turn in enumerate(label([session])[0]["turns"], 1):
        assert set(turn) == {"turn", "action", "activity", "summary"} and turn["turn"] == number
        assert all(name.isascii() and name.replace("_", "a").isalnum() for name in (turn["action"], turn["activity"]))
        assert turn["summary"].endswith(".")


def _mixed() -> list[dict]:
    return [
        {
            "id": f"{trade} {i}",
            "greeting": "",
            "turns": [{"user": u, "agent": a.replace("14", str(10 + i))} for u, a, _ in turns],
        }
        for i in range(3)
        for trade, turns in TRADES.items()
    ]


def test_order_of_sessions_does_not_matter() -> None:
    forth, back = label(_mixed()), label(_mixed()[::-1])
    assert json.dumps(forth) == json.dumps(back[::-1])


def test_hash_seed_does_not_matter() -> None:
    code = (
        "import json,sys; from agenteval.tester.rules.labeller import label; "
        "print(json.dumps(label(json.load(sys.stdin))))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(_mixed()),
            capture_output=True,
            text=True,
            check=True,
            cwd=PACKAGE.parents[2],
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


HOSTILE = [
    "a" * 200_000,
    "would you like to " * 12_000,
    "?" * 200_000,
    "<" * 200_000,
    "<b>" * 70_000,
    "1-" * 100_000,
    "\u200b" * 1000,
    "\ud800 broken",
    "\x00\x07",
    "~B:cancel~ ~~",
    "\ufdfa" * 50_000,
    "((((" * 1000,
    "{0} %s {gap}",
    "no " * 60_000,
    "\n- x" * 50_000,
    "\U0001f600",
    "_",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_quick_and_harmless(text: str) -> None:
    start = time.process_time()
    turns = [{"user": text, "agent": text}, {"user": "yes", "agent": "Your order has been cancelled."}]
    named = label([{"id": "s", "greeting": text, "turns": turns}])[0]["turns"]
    assert named[0]["activity"] and json.dumps(named).isascii()
    assert time.process_time() - start < 2


def test_tags_and_invisible_characters_hide_nothing() -> None:
    assert read("Your <b>order</b> has been can\u200bcelled.").act == "confirm_completion"


@pytest.mark.parametrize("reply", ["Ihre Buchung wurde storniert.", "ご予約を承りました。", "¿Quiere la reserva?"])
def test_another_language_gets_a_sane_name(reply: str) -> None:
    assert activities(("Hallo", reply))[0].startswith(("present_", "request_", "answer_"))


def test_lexicon_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = yaml.safe_load((PACKAGE / "lexicon" / "en.yaml").read_text(encoding="utf-8"))
    kinds = {"base", "done", "ing", "noun", "weak"}
    assert all(set(forms) <= kinds and forms["base"] for forms in data["verbs"].values())
    assert data["generic"] in data["verbs"] and data["handover"] in data["verbs"]
    assert set(data["settling"].split()) <= set(data["verbs"])
    del data["gate"]
    (tmp_path / "lexicon").mkdir()
    (tmp_path / "lexicon" / "xx.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    monkeypatch.setattr(lexicon_module, "__file__", str(tmp_path / "lexicon.py"))
    with pytest.raises(ValueError, match="gate"):
        lexicon_module.load("xx")


def test_code_names_no_phrase_of_a_language() -> None:
    words = {"reservation", "flight", "airline", "refundable", "please", "sorry", "of", "the", "booking"}
    modules = ("acts", "clusters", "labeller", "lexicon", "replies", "slots", "text", "utterances")
    for path in (PACKAGE / f"{name}.py" for name in modules):
        code = "\n".join(line.split("#")[0] for line in path.read_text(encoding="utf-8").split('"""')[::2])
        literals = {word for text in re.findall(r'"([^"]*)"', code) for word in text.split()}
        assert not words & literals, path.name


@pytest.mark.skipif(not (DATA / "sgd").is_dir(), reason="shared data absent")
def test_recorded_dialogues_get_names() -> None:
    import gzip

    with gzip.open(DATA / "sgd" / "dialogues_test_subset.json.gz", "rt", encoding="utf-8") as file:
        dialogues = json.load(file)[:20]
    pairs = [zip(d["turns"][::2], d["turns"][1::2], strict=False) for d in dialogues]
    sessions = [
        {"id": str(n), "greeting": "", "turns": [{"user": u["utterance"], "agent": s["utterance"]} for u, s in pair]}
        for n, pair in enumerate(pairs)
    ]
    names = [t["activity"] for s in label(sessions) for t in s["turns"]]
    assert all(names) and 3 < len(set(names)) < len(names) / 2
