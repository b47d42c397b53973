"""Text before any rule reads it: cleaned, cut to a cap, split into sentences, delexicalised.

Transcripts are untrusted. The cap bounds every later step, and each pattern here is linear in its input.
"""

from __future__ import annotations

import re
import unicodedata

from agenteval.tester.rules.lexicon import Lexicon

HEAD, TAIL = 5000, 1500
MAX_SENTENCES, MAX_SENTENCE = 80, 400

_QUOTES = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2013": "-",
        "\u2014": " - ",
        "\u2026": "...",
        "\u00a0": " ",
        "~": " ",
    }
)
_TAG = re.compile(r"<[^<>]{0,200}>")
_BULLET = re.compile(r"^\s*(?:[-*\u2022>#]+|\d{1,2}[.)])\s+")
_SPACE = re.compile(r"[ \t\r\f\v]+")
_BOUNDARY = re.compile(r"(?<=[.!?])[\"')\]*]{0,2}\s+|(?<=[?!])(?=[A-Z])")
_LAST_WORD = re.compile(r"([\w.]{1,12})\.$")

_MASKS = (
    (re.compile(r"\S{1,80}@\S{1,80}|https?://\S{1,200}"), " zaddress "),
    (re.compile(r"\"[^\"\n]{1,80}\""), " zquote "),
    (re.compile(r"[$\u20ac\u00a3]\s?\d[\d,.]*|\b\d[\d,.]*\s?(?:usd|eur|dollars|euros)\b", re.I), " zmoney "),
    (re.compile(r"\b\d{1,4}[-/]\d{1,2}(?:[-/]\d{1,4})?\b"), " zdate "),
    (re.compile(r"\b\d{1,2}(?::\d{2})?\s?(?:[ap]\.?m\b\.?)|\b\d{1,2}:\d{2}\b", re.I), " ztime "),
    (
        re.compile(r"#?\b(?=[A-Za-z_-]{0,30}\d)[A-Za-z_-]{1,30}\d[\w-]{0,30}\b|\b\d{1,10}[A-Za-z]{2,}\w{0,20}\b"),
        " zid ",
    ),
    (re.compile(r"#?\b\d[\d,.]*\b"), " znumber "),
)
_NAME = re.compile(r"(?<![.!?:\n] )(?<!^)(?<!\n)\b[A-Z][A-Za-z'-]{1,30}(?: [A-Z][A-Za-z'-]{1,30}){0,4}\b")
_TOKEN = re.compile(r"\w+(?:['-]\w+)*")


def clean(text: str) -> str:
    """Return the part of a text that is analysed: capped, normalised, without tags, marks and invisible characters.

    The head holds the act and the tail the question, so both ends of an over-long text are kept.

    >>> clean("Hel\\u200blo <b>there</b>\\ud800!")
    'Hello there!'
    """
    if len(text) > HEAD + TAIL:
        text = text[:HEAD] + "\n" + text[-TAIL:]
    text = unicodedata.normalize("NFKC", text.encode("utf-8", "ignore").decode("utf-8").translate(_QUOTES))
    text = "".join(c for c in text if c in "\n\t" or unicodedata.category(c)[0] != "C")[: HEAD + TAIL]
    text = _TAG.sub("", text).replace("**", "").replace("__", "").replace("`", "")
    lines = (_SPACE.sub(" ", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line).replace("?!", "?")


def sentences(cleaned: str, lexicon: Lexicon) -> list[str]:
    """Split a cleaned text into sentences; each line, as in a list, ends one.

    >>> from agenteval.tester.rules.lexicon import load
    >>> sentences("Dr. Lee is free. Which day?\\n- Monday", load())
    ['Dr. Lee is free.', 'Which day?', 'Monday']
    """
    found = []
    for line in cleaned.split("\n"):
        held = ""
        for piece in _BOUNDARY.split(_BULLET.sub("", line)):
            held = f"{held} {piece}".strip()
            last = _LAST_WORD.search(held[-14:])
            if last and last.group(1).lower().rstrip(".") in lexicon.words["abbreviations"]:
                continue
            if held:
                found.append(held[:MAX_SENTENCE])
            held = ""
        if held:
            found.append(held[:MAX_SENTENCE])
    if len(found) > MAX_SENTENCES:
        found = found[: MAX_SENTENCES - 20] + found[-20:]
    return found


def listed(cleaned: str) -> int:
    """Count the lines of a cleaned text that look like items of a list."""
    return sum(1 for line in cleaned.split("\n") if _BULLET.match(line))


def delexicalise(cleaned: str, lexicon: Lexicon) -> str:
    """Replace values by kinds, so that two replies about different records compare as equal wording.

    >>> from agenteval.tester.rules.lexicon import load
    >>> delexicalise("Order #W123 costs $20, Ann.", load())
    'order zid costs zmoney zname'
    """
    for pattern, mask in _MASKS:
        cleaned = pattern.sub(mask, cleaned)
    cleaned = _NAME.sub(" zname ", cleaned)
    dates = lexicon.words["months"] | lexicon.words["days"]
    tokens = ["zdate" if t in dates else t for t in _TOKEN.findall(cleaned.lower())]
    kept = [t for i, t in enumerate(tokens) if i == 0 or t != tokens[i - 1] or not t.startswith("z")]
    return " ".join(kept)
