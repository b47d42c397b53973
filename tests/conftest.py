"""Fixtures: a model server on loopback, a call store, and environments without anybody's keys."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch, tmp_path):
    """No test sees a key of the machine, reads its .env, or leaves a store behind."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AGENTEVAL_MODEL", "AGENTEVAL_TESTER_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server():
    from model_server import ModelServer

    with ModelServer() as running:
        yield running


@pytest.fixture
def data() -> Path:
    """Other people's recordings; they are not part of the project."""
    if not DATA.is_dir():
        pytest.skip("the shared data folder is absent")
    return DATA
