"""What can go wrong, by the boundary that was crossed.

::

    AgentEvalError
    ├── UsageError               the caller asked for something that cannot be (exit 3)
    │   ├── FormatError          a file is not what it was taken for
    │   ├── ProfileError         a profile, a role or a key is missing or wrong
    │   └── RunFolderError       a run folder of another schema, config or input
    ├── StoreError               the disk refused; everything finished is kept (exit 2)
    ├── ModelError               a language model gave no usable answer (exit 2)
    │   ├── ModelUnreachable     no connection, time-out, server error after retries
    │   ├── ModelRateLimited     still refused after every retry
    │   ├── ModelRejected        400, 401, 403, 404, 422: the same call would fail again
    │   ├── ContextOverflow      the prompt is longer than the model takes
    │   ├── ModelRefused         the model declined, or a filter did
    │   ├── CutOff               the answer ended at the token cap, twice
    │   ├── ReplyInvalid         no JSON in the answer fits the schema, twice
    │   └── NotRecorded          replay asked for a call that is not in the store
    ├── ChatError                the agent under test failed; becomes a typed turn
    │   ├── ChatTimeout          no reply within the deadline
    │   └── ChatRefused          the agent declined the session or the message
    └── BudgetReached            a cap of calls, tokens, cost or time (exit 4, resumable)

Every class has a `reason`, the code that error records carry. Messages name the value, what was expected and the
way out. A library never exits; `cli` maps `exit_code`.
"""


class AgentEvalError(Exception):
    """Base of everything raised on purpose."""

    reason = "error"
    exit_code = 2


class UsageError(AgentEvalError):
    reason = "usage"
    exit_code = 3


class FormatError(UsageError):
    reason = "format"


class ProfileError(UsageError):
    reason = "profile"


class RunFolderError(UsageError):
    reason = "run_folder"


class StoreError(AgentEvalError):
    reason = "store"


class ModelError(AgentEvalError):
    """A call failed. `role` says which role asked; `ask` adds it."""

    reason = "model"
    role = ""

    def __str__(self) -> str:
        text = super().__str__()
        return f"{self.role}: {text}" if self.role else text


class ModelUnreachable(ModelError):
    reason = "unreachable"


class ModelRateLimited(ModelError):
    reason = "rate_limited"


class ModelRejected(ModelError):
    reason = "rejected"


class ContextOverflow(ModelError):
    reason = "context_overflow"


class ModelRefused(ModelError):
    reason = "model_refused"


class CutOff(ModelError):
    reason = "cut_off"


class ReplyInvalid(ModelError):
    """Holds the last raw answer, so that nothing that was paid for is lost."""

    reason = "reply_invalid"

    def __init__(self, message: str, raw: str = ""):
        super().__init__(message)
        self.raw = raw


class NotRecorded(ModelError):
    reason = "not_recorded"


class ChatError(AgentEvalError):
    reason = "subject_error"


class ChatTimeout(ChatError):
    reason = "subject_timeout"


class ChatRefused(ChatError):
    reason = "subject_refused"


class BudgetReached(AgentEvalError):
    reason = "budget"
    exit_code = 4
