"""Time of a plan, compared with the floor: reading the same columns of the same snapshot, in the same order, with the usual checks.

Run it manually: python -m tests.bench.plan_scale [LEAVES …]   (default 400000 5400000; needs about 3 GB of disk at most)
Each plan is made in a separate process, so that its peak memory can be measured.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FLOOR = """
import json, sys, time
begun, cpu = time.perf_counter(), time.process_time()
from pathlib import Path
from gpcatalog.store.snapshot import Snapshot
with Snapshot(Path(sys.argv[1])) as s:
    wanted = "oid, root, parent, level, kind, storage, filled, bytes, max_segment_bytes, bound_key"
    n = len(s.columns(f"SELECT {wanted} FROM relation ORDER BY root, level, oid")["oid"])
print(json.dumps({"seconds": time.perf_counter() - begun, "cpu": time.process_time() - cpu, "rows": n}))
"""

PLAN = """
import json, re, sys, time
begun, cpu = time.perf_counter(), time.process_time()
from pathlib import Path
from gpcatalog.services.plans import plan_snapshot as run
from gpcatalog.emit import plan_text
from gpcatalog.emit.terminal import console
from gpcatalog.store.snapshot import Snapshot
with Snapshot(Path(sys.argv[1])) as s:
    planned = run(s, policy_file=None, workload_file="", overrides=json.loads(sys.argv[2]), rate="")
    out = console()
    out.file = open("/dev/null", "w")
    plan_text.show(planned.plan, planned.table_plans, planned.left(), planned.losses(), out)
    p = planned.plan
    taken, used = time.perf_counter() - begun, time.process_time() - cpu
    peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
    found = {"file": 0, "file_seconds": 0.0, "file_cpu": 0.0, "steps": 0}
    if len(sys.argv) > 3:
        from gpcatalog.planner import plan_file
        with open(sys.argv[3], "w") as file:
            found["steps"] = plan_file.write(p, planned.tables(), file.write)
            found["file"] = file.tell()
        found["file_seconds"], found["file_cpu"] = time.perf_counter() - begun - taken, time.process_time() - cpu - used
    print(json.dumps(found | {"seconds": taken, "cpu": used, "peak": peak,
                      "whole_peak": int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024,
                      "before": p.before.leaves, "after": p.after.leaves, "gap": p.optimum.gap, "over": p.optimum.bound_over}))
"""


def measured(code: str, *words: str) -> dict[str, float]:
    """The figures that one process prints about itself. The code runs as a file, because DuckDB prints progress with `python -c`."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(code)
        script.flush()
        done = subprocess.run(
            [sys.executable, script.name, *words], capture_output=True, text=True, check=True
        )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    from gpcatalog.lab import synthetic

    sizes = [int(word) for word in sys.argv[1:]] or [400_000, 5_400_000]
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            begun = time.perf_counter()
            file = synthetic.write(Path(folder) / f"{size}.gpcatalog", synthetic.published(size))
            print(
                f"{size:,} leaves in 331 tables: {file.stat().st_size / 2**20:.0f} MB written in {time.perf_counter() - begun:.0f} s"
            )
            floor = measured(FLOOR, str(file))
            print(
                f"  floor: reading the columns, {floor['seconds']:.2f} s, {floor['cpu']:.2f} s of CPU"
            )
            for name, limits in (
                ("no limits", {}),
                ("target_leaves", {"target_leaves": size // 4}),
                ("max_rewrite", {"max_rewrite": "1TB"}),
            ):
                p = measured(
                    PLAN,
                    str(file),
                    json.dumps(limits),
                    *([str(Path(folder) / "plan.json")] if not limits else []),
                )
                seconds, cpu = p["seconds"] / floor["seconds"], p["cpu"] / floor["cpu"]
                print(
                    f"  {name}: {seconds:.1f} × the floor ({p['seconds']:.2f} s), {cpu:.1f} × its CPU ({p['cpu']:.2f} s),"
                    f" peak {p['peak'] / 2**30:.2f} GB; {p['before']:,.0f} → {p['after']:,.0f} leaves, gap {p['gap']:.4%} over {p['over']}"
                )
                if p["steps"]:
                    print(
                        f"  its plan file: {p['steps']:,.0f} steps, {p['file'] / 2**20:.0f} MB, {p['file_seconds'] / floor['seconds']:.1f} ×"
                        f" the floor ({p['file_seconds']:.1f} s), {p['file_cpu'] / floor['cpu']:.1f} × its CPU ({p['file_cpu']:.1f} s),"
                        f" peak {p['whole_peak'] / 2**30:.2f} GB"
                    )


if __name__ == "__main__":
    main()
