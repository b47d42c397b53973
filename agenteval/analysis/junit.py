"""Verdicts as JUnit XML: fail is a failure, inconclusive is skipped, what could not be run or judged is an error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from agenteval.types import Failure, Test, Verdict

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(
    tests: Sequence[Test], verdicts: Sequence[Verdict], failures: Sequence[Failure], *, name: str = "agenteval"
) -> str:
    """One test case per run.

    Parameters
    ----------
    failures
        Those of the stages `run` and `judge`.
    """
    goals = {test.id: test for test in tests}
    suite = ElementTree.Element("testsuite", {"name": name})
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}

    def case(id: str, test: str) -> ElementTree.Element:
        counts["tests"] += 1
        known = goals.get(test)
        return ElementTree.SubElement(
            suite,
            "testcase",
            {"classname": known.kind if known else "test", "name": _clean(f"{id}: {known.goal}" if known else id)},
        )

    for verdict in verdicts:
        element = case(verdict.id, verdict.test)
        quotes = "\n".join(f"{q.criterion}, turn {q.turn}: {q.text}" for q in verdict.quotes)
        if verdict.verdict == "fail":
            counts["failures"] += 1
            ElementTree.SubElement(element, "failure", {"message": verdict.reason}).text = _clean(quotes)
        elif verdict.reason in ("tester_fault", "subject_error"):
            counts["errors"] += 1
            ElementTree.SubElement(element, "error", {"message": verdict.reason})
        elif verdict.verdict == "inconclusive":
            counts["skipped"] += 1
            ElementTree.SubElement(element, "skipped", {"message": verdict.reason})
    for failure in failures:
        counts["errors"] += 1
        ElementTree.SubElement(
            case(failure.id, failure.id.rpartition("-")[0]), "error", {"message": failure.reason}
        ).text = _clean(failure.detail)
    suite.attrib.update({key: str(n) for key, n in counts.items()})
    ElementTree.indent(suite, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
