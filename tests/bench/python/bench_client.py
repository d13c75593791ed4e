"""What the Python bench clients share: their command line, the calls and the figures; the driver says which.

Usage: client_X.py SEQ CONC TOTAL -- SERVER...
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable

SEQ, CONC, TOTAL = map(int, sys.argv[1:4])
SERVER = sys.argv[5:]


def percentile(values: list[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


async def drive(call: Callable[[str], Awaitable[str]]) -> None:
    """`call` makes one call of echo and gives the text of its answer."""

    async def checked(text: str) -> None:
        answer = await call(text)
        if answer != text:
            raise RuntimeError(f"echo of {text!r} was answered with {answer!r}")

    async def worker(calls: int) -> None:
        for n in range(calls):
            await checked(f"{n:016x}")

    await checked("0123456789abcdef")
    print("FIRST", flush=True)
    if not SEQ:
        return
    await worker(min(1000, SEQ))
    latencies = []
    cpu = time.process_time()
    for n in range(SEQ):
        sent = time.perf_counter()
        await checked(f"{n:016x}")
        latencies.append((time.perf_counter() - sent) * 1e6)
    seq_cpu = time.process_time() - cpu

    cpu, begun = time.process_time(), time.perf_counter()
    await asyncio.gather(*(worker(TOTAL // CONC) for _ in range(CONC)))
    took, conc_cpu, calls = (
        time.perf_counter() - begun,
        time.process_time() - cpu,
        TOTAL // CONC * CONC,
    )
    figures = {
        "seq_p50_us": percentile(latencies, 50),
        "seq_p99_us": percentile(latencies, 99),
        "seq_cpu_us": seq_cpu / SEQ * 1e6,
        "conc_per_s": calls / took,
        "conc_cpu_us": conc_cpu / calls * 1e6,
    }
    print(json.dumps(figures), flush=True)
