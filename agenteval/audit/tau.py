"""What an auditor may read about a tau-bench agent, taken from the installed tau2 package."""

from __future__ import annotations

import inspect
from typing import Any

from agenteval.subjects.tau_environment import RETRIEVAL, open_environment


def documents(domain: str, *, retrieval: str = RETRIEVAL) -> dict[str, str]:
    """The written truth about a domain.

    Returns
    -------
    dict
        `policy`: what the agent was told; `tools`: the source of its tools and of what they call; `customer_tools`: names and
        purposes of the tools of the customer's side, where the domain has any, which neither the agent nor a tester can call;
        `knowledge`: the documents that the agent of the bank searches.

    Raises
    ------
    UsageError
        tau2 or the domain is missing.
    """
    environment = open_environment(domain, retrieval=retrieval)
    found = {"policy": environment.get_policy(), "tools": sources(environment.tools)}
    if environment.user_tools is not None:
        found["customer_tools"] = "\n".join(
            f"{tool.name}: {tool.short_desc}" for tool in environment.user_tools.get_tools().values()
        )
    if domain == "banking":
        from tau2.domains.banking_knowledge.environment import get_knowledge_base

        found["knowledge"] = "\n\n".join(
            f"## {document.title}\n\n{document.content}" for document in get_knowledge_base().get_all_documents()
        )
    return found


def sources(toolkit: Any) -> str:
    """Source of the tools, also of those that are unlocked in a conversation, and of the private methods that they call.

    The package keeps checks of its own evaluation in the same classes; those are left out.
    """
    tools = set(toolkit.tools)
    if hasattr(toolkit, "get_discoverable_tools"):
        tools |= set(toolkit.get_discoverable_tools())
    texts = []
    for name, method in inspect.getmembers(type(toolkit), inspect.isfunction):
        ours = method.__module__.startswith("tau2.domains")
        if ours and (name in tools or (name.startswith("_") and not name.startswith("__"))):
            texts.append(inspect.getsource(method))
    return "\n".join(texts)
