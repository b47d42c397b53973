"""Workers that do groups of cells: processes of this machine, or those of a Dask cluster.

Results come back through the folder of the cells. A worker is told one group at a time, so that a worker that dies costs the
cell it was at: the group is given to another one, which finds the finished cells.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from agenteval.commands.cells import Bench, Cell, Wrong, run_group
from agenteval.errors import UsageError

ATTEMPTS = 3
"""Workers that a group may cost before it is given up."""
Groups = Sequence[Sequence[Cell]]


class Worker(NamedTuple):
    """A process and our end of its pipe."""

    process: Any
    pipe: Connection


def serve(pipe: Connection, bench: Bench) -> None:
    """A worker process: takes groups until the pipe is closed. Ctrl-C is the parent's business, which then ends us."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            group = pipe.recv()
        except EOFError:
            return
        try:
            said = run_group(group, bench, lambda: pipe.send(None))
        except Exception as error:  # a fault of ours: told, so that the other groups are finished
            said = [Wrong(f"{group[0].folder}: {type(error).__name__}: {error}")]
        pipe.send(said)


def _start(bench: Bench) -> Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, bench), daemon=True)
    process.start()
    theirs.close()
    return Worker(process, ours)


def on_processes(todo: Groups, bench: Bench, workers: int, done: Callable[[], None]) -> list[list[Wrong]]:
    """Do groups on this machine.

    Returns
    -------
    list of list of Wrong
        What went wrong, for each group.
    """
    waiting = [(number, 1) for number in range(len(todo))]
    busy: dict[Worker, tuple[int, int, int]] = {}
    """Worker to its group, the how-manieth attempt this is, and the cells it has finished of it."""
    wrong: list[list[Wrong]] = [[] for _ in todo]
    counted = [0] * len(todo)
    idle: list[Worker] = [_start(bench) for _ in range(workers)]
    try:
        while waiting or busy:
            while waiting and idle:
                worker = idle.pop()
                number, attempt = waiting.pop(0)
                busy[worker] = (number, attempt, 0)
                with contextlib.suppress(OSError):  # it died while idle; its pipe ends below
                    worker.pipe.send(list(todo[number]))
            for pipe in wait([worker.pipe for worker in busy]):
                worker = next(w for w in busy if w.pipe is pipe)
                number, attempt, finished = busy[worker]
                try:
                    said = worker.pipe.recv()
                except (EOFError, OSError):
                    del busy[worker]
                    worker.process.join()
                    worker.pipe.close()
                    idle.append(_start(bench))
                    if attempt < ATTEMPTS:
                        waiting.insert(0, (number, attempt + 1))
                    else:
                        wrong[number] = [Wrong(f"{todo[number][finished].folder}: {attempt} workers died at it")]
                    continue
                if said is None:
                    busy[worker] = (number, attempt, finished + 1)
                    if finished + 1 > counted[number]:
                        counted[number] = finished + 1
                        done()
                else:
                    wrong[number] = said
                    idle.append(worker)
                    del busy[worker]
    finally:
        for worker in [*idle, *busy]:
            worker.process.terminate()
            worker.process.join()
            worker.pipe.close()
    return wrong


def on_dask(todo: Groups, bench: Bench, address: str, done: Callable[[], None]) -> list[list[Wrong]]:
    """Do groups on an existing Dask cluster, whose workers have agenteval installed and see the folder of the cells.

    Raises
    ------
    UsageError
        Dask is not installed, or no scheduler answers at the address.
    """
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise UsageError(
            "--dask needs Dask's distributed, which the extra installs: pip install 'agenteval[dask]'"
        ) from error
    absolute = bench._replace(folder=bench.folder.resolve(), calls=bench.calls.resolve())
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"no Dask scheduler answers at {address} ({type(error).__name__}); give --dask HOST:PORT"
        ) from error
    wrong: list[list[Wrong]] = [[] for _ in todo]
    with client:
        futures = {client.submit(run_group, list(group), absolute, pure=False, retries=ATTEMPTS - 1): n for n, group in enumerate(todo)}  # fmt: skip
        for future in as_completed(futures):
            number = futures[future]
            try:
                wrong[number] = future.result()
            except Exception as error:
                wrong[number] = [Wrong(f"{todo[number][0].folder}: {type(error).__name__}: {error}")]
            for _ in todo[number]:
                done()
    return wrong
