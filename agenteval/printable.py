"""Untrusted text, made fit to be looked at: what the eye cannot see is spelled out.

A reply may hold control characters, direction marks or invisible tags; on a page they would reorder or hide words, and
in a terminal or an XML file do worse. `printable("a\\u202eb")` is the seven visible characters of its escape between a and b.
"""

from __future__ import annotations

import unicodedata

_KEEP = "\u200c\u200d"
"""Joiners: scripts and emoji need them, and they move nothing."""


def printable(text: str, *, keep: str = "") -> str:
    r"""Text in which control, format, private and surrogate characters and line separators stand as escapes.

    Parameters
    ----------
    keep
        Characters that stay, such as `"\n\t"` where they are wanted.

    Examples
    --------
    >>> printable("pay\u202enow\n")
    'pay\\u202enow\\n'
    >>> printable("two\nlines", keep="\n") == "two\nlines"
    True
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or c in _KEEP or not _hidden(c) else _escape(c) for c in text)


def _hidden(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
