"""The model auditor over a run folder: what it will cost, what it keeps, and how it goes on after an interruption."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agenteval.audit import model as auditor
from agenteval.audit.dossier import model_dossier
from agenteval.audit.linkage import candidates
from agenteval.audit.records import Audit, Pair
from agenteval.audit.roles import card, coverage, grouping, outcome, same_boundary, validity
from agenteval.audit.views import Case, cases
from agenteval.chain import Settings
from agenteval.errors import AgentEvalError, ProfileError, RunFolderError, UsageError
from agenteval.llm.ask import fence
from agenteval.llm.model import estimate_tokens
from agenteval.llm.wrappers import Budget
from agenteval.pipeline import STORE, Progress, Purse, silent
from agenteval.profiles import Profile, load, secrets
from agenteval.store import Run, content_id
from agenteval.types import Failure, Test, TestRun, Trace, Verdict

ROLES = (validity, coverage, card, same_boundary, grouping, outcome)
RECORDS, PAIRS, FAILURES = "privileged/audit-model", "privileged/audit-pairs", "privileged/audit-failures"
REPLY = {"validity": 120, "coverage": 400, "card": 220, "outcome": 150}
"""Tokens of an answer."""
CARD = 120
"""Tokens of a card."""


class Work(NamedTuple):
    """A model audit that is ready to begin, or to go on."""

    run: Run
    settings: Settings
    profile: Profile
    dossier: auditor.Dossier
    tests: list[Test]
    cases: list[Case]
    config: dict[str, Any]
    """What its records depend on; entered in the manifest."""
    finished: list[Audit]
    fresh: bool

    @property
    def left(self) -> list[Case]:
        done = {record.id for record in self.finished}
        return [case for case in self.cases if case.test.id not in done]


def open_audit(
    run: Run,
    settings: Settings,
    tests: Sequence[Test],
    *,
    profile: str | None = None,
    profiles: Path | None = None,
    dossier: Path | None = None,
    fresh: bool = False,
) -> Work:
    """Read everything that a model audit needs; nothing is asked or written.

    Raises
    ------
    UsageError
        No model for the auditor, no dossier, a dossier that is too long, or records of another auditor in the folder.
    """
    chosen = load(profile or settings.profile, profiles, roles=("auditor",))
    spec = chosen.auditor
    assert spec is not None
    if spec.provider == "rules":
        raise ProfileError(
            f"profile {chosen.name}: the auditor is `rules`, and rules never pose as a model auditor; name a model there, "
            "or use --auditor exact for a scripted subject"
        )
    papers = model_dossier(settings.subject, dossier)
    made = cases(
        tests, run.read("runs", TestRun), run.read("verdicts", Verdict), run.lines("privileged/tools"), run.read("traces", Trace),
        seed=settings.seed,
    )  # fmt: skip
    config = {
        "model": f"{spec.provider}:{spec.model or ''}",
        "dossier": content_id(papers.policy, dict(papers.sources), papers.items),
        "prompts": content_id(*([role.PROMPT, role.Reply.model_json_schema()] for role in ROLES)),
    }
    begun = run.manifest.get("auditor")
    if begun is not None and begun != config and not fresh and run.file(RECORDS).exists():
        changed = sorted(key for key in config if begun.get(key) != config[key])
        raise RunFolderError(
            f"{run.path}: the audit was begun with another {', '.join(changed)}; --fresh begins it again (the other's "
            "paid answers stay in the call store)"
        )
    work = Work(run, settings, chosen, papers, list(tests), made, config, [] if fresh else run.read(RECORDS, Audit), fresh)  # fmt: skip
    longest = max((validity_tokens(work, case) for case in work.left), default=0)
    most = spec.max_input_tokens
    if most is not None and longest > most:
        raise UsageError(
            f"the longest prompt of this audit has about {longest:,} tokens ({dossier_tokens(papers):,} of them the dossier), "
            f"and the auditor of profile {chosen.name} takes {most:,} (max_input_tokens); shorten the dossier's policy or "
            "sources, or name a model that takes more"
        )
    return work


def family(name: str) -> set[str]:
    """What tells a model's makers by its name: the vendor before the slash, and the first word of the model.

    >>> family("openai/gpt-5-mini") & family("gpt-4.1"), family("glm-5.2") & family("MiMo-v2.5-pro")
    ({'gpt'}, set())
    """
    vendor, _, model = name.casefold().rpartition("/")
    word = re.match(r"[a-z]+", model)
    return {part for part in (vendor.rpartition("/")[2], word.group() if word else model) if part}


def same_family(work: Work) -> list[str]:
    """Roles of the tester whose model is of the auditor's family."""
    kinds = {role: name.partition(":") for role, name in work.run.manifest["config"]["models"].items()}
    mine = work.profile.auditor.model or "" if work.profile.auditor else ""
    return sorted(role for role, (kind, colon, name) in kinds.items() if colon and family(name) & family(mine))


def dossier_tokens(dossier: auditor.Dossier) -> int:
    return estimate_tokens(fence("policy", dossier.policy)) + estimate_tokens(fence("sources", dict(dossier.sources)))


def validity_tokens(work: Work, case: Case) -> int:
    """The longest of a test's prompts."""
    first = case.executions[0] if case.executions else None
    shown = [work.dossier.items, work.settings.brief.model_dump(), case.session, case.scenario]
    shown += [first.conversation, first.tools] if first else []
    return dossier_tokens(work.dossier) + estimate_tokens(validity.PROMPT) + estimate_tokens(json.dumps(shown))


def estimate(work: Work) -> dict[str, Any]:
    """Calls and tokens of what is left, at most: as if every test were valid and all cards of one capability.

    Returns
    -------
    dict
        Of the form of `commands.estimate.estimate`.
    """
    base = dossier_tokens(work.dossier)
    inventory = estimate_tokens(json.dumps(work.dossier.items))
    left = [case for case in work.left if case.executions and case.executions[0].conversation["turns"]]
    seen = {
        case.id: estimate_tokens(json.dumps([case.scenario, *(e.conversation for e in case.executions[:1]), *(e.tools for e in case.executions[:1])]))
        for case in left
    }  # fmt: skip
    functional = [case for case in left if case.test.kind == "functional"]
    boundary = [case for case in left if case.test.kind == "boundary"]
    judged = [
        (case, e) for case in left for e in case.executions if e.verdict is not None and e.verdict.verdict != "inconclusive"
    ]  # fmt: skip
    known = {record.id: record.card for record in work.finished if record.card is not None}
    compared = {} if work.fresh else {pair.id for pair in work.run.read(PAIRS, Pair)}
    cards = len(known) + len(boundary)
    open_pairs = len([p for p in candidates({t: c.capability for t, c in known.items()}) if auditor.pair_id(*p) not in compared])  # fmt: skip
    pairs = open_pairs + len(boundary) * (len(boundary) - 1) // 2 + len(boundary) * len(known)
    grouped = cards > 1 and (bool(boundary) or any(r.card is not None and r.proposed < 0 for r in work.finished))

    def row(role: str, calls: int, given: int, answer: int) -> dict[str, Any]:
        return {"role": role, "calls": calls, "input": given, "output": calls * answer}

    def prompts(module: Any, chosen: Sequence[Case], more: int = 0) -> int:
        return sum(base + estimate_tokens(module.PROMPT) + more + seen[case.id] for case in chosen)

    batches = -(-pairs // auditor.BATCH)
    rows = [
        row("validity", len(left), sum(validity_tokens(work, case) for case in left), REPLY["validity"]),
        row("coverage", len(functional), prompts(coverage, functional, inventory), REPLY["coverage"]),
        row("card", len(boundary), prompts(card, boundary), REPLY["card"]),
        row("outcome", len(judged), prompts(outcome, [case for case, _ in judged], 200), REPLY["outcome"]),
        row(
            "same_boundary",
            batches,
            batches * (estimate_tokens(same_boundary.PROMPT) + 2 * auditor.BATCH * CARD),
            60 * auditor.BATCH,
        ),
        row(
            "grouping",
            int(grouped),
            int(grouped) * (estimate_tokens(grouping.PROMPT) + cards * CARD),
            40 * cards,
        ),
    ]
    return {"roles": rows, **{key: sum(r[key] for r in rows) for key in ("calls", "input", "output")}}


def audit(
    work: Work,
    *,
    store: Path = STORE,
    budget: Budget = Budget(),
    concurrency: int = 4,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda line: None,
) -> tuple[list[Audit], list[Failure], dict[str, Any]]:
    """Audit what is left, and keep records, pairs and failures in `privileged/`.

    What has no usable answer is asked again the next time; what has a record is not.

    Returns
    -------
    tuple
        Records with their clusters, failures, and what was spent.

    Raises
    ------
    AgentEvalError
        No test got a record; or the first error that stops the audit, which the same command then goes on with.
    """
    run, seed = work.run, work.settings.seed
    run.secrets = (*run.secrets, *secrets(work.profile))
    with Purse(run, work.profile, store=store, budget=budget, concurrency=concurrency, log="privileged/calls") as purse:
        model = purse.model("auditor")
        expected = estimate(work)
        if expected["calls"]:
            tell(
                f"auditor {work.config['model']}: at most about {expected['calls']:,} calls, {expected['input']:,} tokens in, "
                f"{expected['output']:,} out (estimated)"
            )
        shared = same_family(work)
        if shared:
            tell(warning(shared))
        if work.fresh:
            run.replace(RECORDS, [])
            run.replace(PAIRS, [])
        run.replace(FAILURES, [])
        earlier = run.manifest.get("audit", {})
        run.save_manifest(auditor=work.config, audit={k: v for k, v in earlier.items() if k == "exact"})
        failures: list[Failure] = []
        total, done = len(work.cases), [len(work.finished)]

        def keep(found: Audit | Failure) -> None:
            if isinstance(found, Failure):
                failures.append(found)
            run.append(FAILURES if isinstance(found, Failure) else RECORDS, [found])
            done[0] += 1
            progress("audit", done[0], total)

        def keep_pair(found: Pair | Failure) -> None:
            if isinstance(found, Failure):
                failures.append(found)
            run.append(FAILURES if isinstance(found, Failure) else PAIRS, [found])

        options = {"seed": seed, "workers": concurrency}
        progress("audit", done[0], total)
        auditor.audit(work.left, work.dossier, work.settings.brief, model, **options, keep=keep)
        audits = sorted(run.read(RECORDS, Audit), key=lambda a: a.id)
        auditor.compare(audits, model, decided=run.read(PAIRS, Pair), **options, keep=keep_pair)
        pairs = list({pair.id: pair for pair in run.read(PAIRS, Pair)}.values())
        audits = auditor.clustered(audits, pairs, _proposed(audits, model, seed, keep_pair))
        run.replace(RECORDS, audits)
        run.replace(PAIRS, pairs)
        run.replace(FAILURES, failures)
    if failures and not audits:
        raise AgentEvalError(f"no test could be audited ({failures[0].reason}); see {run.file(FAILURES)}")
    return audits, failures, purse.spent()


def warning(shared: Sequence[str]) -> str:
    return (
        f"warning: the auditor's model is of the same family as that of the {' and the '.join(shared)}, so this is partly a "
        "self-evaluation"
    )


def _proposed(audits: Sequence[Audit], model: Any, seed: int, keep: Callable[[Failure], None]) -> list[tuple[str, ...]]:
    """The clusters of the paper's variant: as they were kept, or asked for."""
    with_card = [a for a in audits if a.card is not None]
    if all(a.proposed >= 0 for a in with_card):
        numbers = sorted({a.proposed for a in with_card})
        return [tuple(a.id for a in with_card if a.proposed == number) for number in numbers]
    try:
        return auditor.propose(audits, model, seed=seed)
    except auditor.UNUSABLE as error:
        keep(auditor.failure("grouping", error))
        return []
