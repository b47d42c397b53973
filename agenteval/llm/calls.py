"""The call store: answers that were paid for, in one SQLite file, by content address.

It holds validated answers only. Errors, refusals and cut-off answers never enter it; the agent under test is never
asked through it.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

from agenteval.errors import NotRecorded, StoreError
from agenteval.llm.model import Completion, Request

_TABLE = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY,      -- with the model's name
    question TEXT NOT NULL,    -- the same key without it, for replay
    model TEXT NOT NULL,
    role TEXT NOT NULL,
    completion TEXT NOT NULL   -- JSON
) WITHOUT ROWID
"""


class CallStore:
    """One SQLite file in WAL mode, shared by threads and processes.

    Raises
    ------
    StoreError
        The file cannot be opened or is no call store.
    """

    def __init__(self, path: Path | str):
        self.path = Path(path)
        self._local = threading.local()
        self._connection()

    def _connection(self) -> sqlite3.Connection:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute(_TABLE)
                connection.execute("CREATE INDEX IF NOT EXISTS by_question ON calls (question)")
            except (sqlite3.Error, OSError) as error:
                raise StoreError(
                    f"cannot open the call store {self.path}: {error}. Name another with --store"
                ) from error
            self._local.connection = connection
        return connection

    def get(self, request: Request, model: str) -> Completion | None:
        row = self._execute("SELECT completion FROM calls WHERE key = ?", (request.key(model),)).fetchone()
        return None if row is None else Completion.model_validate_json(row[0]).model_copy(update={"stored": True})

    def put(self, request: Request, model: str, completion: Completion) -> None:
        self._execute(
            "INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?)",
            (request.key(model), request.key(), model, request.role, completion.model_dump_json()),
        )

    def models(self, request: Request) -> dict[str, Completion]:
        """Answers to a request, whoever gave them."""
        rows = self._execute("SELECT model, completion FROM calls WHERE question = ?", (request.key(),))
        return {model: Completion.model_validate_json(text).model_copy(update={"stored": True}) for model, text in rows}

    def _execute(self, sql: str, values: tuple[str, ...]) -> sqlite3.Cursor:
        try:
            return self._connection().execute(sql, values)
        except sqlite3.Error as error:
            raise StoreError(
                f"the call store {self.path} refused: {error}. Everything finished so far is kept; free space or name another with --store"
            ) from error


class Replay:
    """A model that answers from a call store only, for rebuilding a published run without a key.

    Parameters
    ----------
    model
        Whose answers; None where the store holds the answers of one model only.

    Raises
    ------
    NotRecorded
        On every miss, with the role and the way out.
    """

    def __init__(self, store: CallStore, model: str | None = None):
        self.store = store
        self.model = model
        self.name = model or "replay"

    def complete(self, request: Request) -> Completion:
        # An answer that was invalid at first try was not stored, so the re-ask's answer stands for the question.
        for attempt in (0, 1):
            found = self.store.models(request.model_copy(update={"attempt": attempt}))
            if self.model is not None:
                found = {name: c for name, c in found.items() if name == self.model}
            if len(found) > 1:
                raise NotRecorded(
                    f"{self.store.path} holds answers of {', '.join(sorted(found))}; name one in the profile (model:)"
                )
            if found:
                return next(iter(found.values()))
        raise NotRecorded(
            f"{self.store.path} holds no answer to this call of role {request.role}; replay needs the store, the inputs and "
            "the version of the recorded run, or use a profile with a model"
        )
