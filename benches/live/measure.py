#!/usr/bin/env python3
"""Measure the live figures of docs/capacity.md and write them to scenarios/live/measured.csv.

    cargo build --release --workspace && benches/live/measure.py && target/release/lingua publish

With a word, e.g. `benches/live/measure.py Opus`, only the rows that name it are measured anew.
Takes about an hour on a machine that does nothing else. A run that is void is made again, three
times at most; then its row says so. Needs 20,000 descriptors.
"""
import csv
import datetime
import json
import pathlib
import subprocess
import sys
import tomllib

import shared_store

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINGUA = ROOT / "target/release/lingua"
OUT = ROOT / "out/measure"
RATE = "scenarios/live/rate.toml"
SHORT = "--set duration=18s --set warmup=6s"
FAST = f"{RATE} --speed 10"
CALM = f"{RATE} {SHORT}"
# First of 20 ports for instances and Redis.
PORTS = 22020
TIMES = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


def latency(run):
    net = run["latency_ms"]["dispatch_net"]
    return f"dispatch net mean {net['mean']:.2f}, p50 {net['p50']:.2f}, p99 {net['p99']:.2f} ms"


def rate(run):
    return f"{run['carried_per_s']:,.0f} jobs/s, {run['refused_ratio']:.2%} refused, {latency(run)}"


def held(run):
    nodes, sessions = run["load"]["nodes"], run["load"]["sessions"]
    outage = run["load"]["outages"][0]
    back = outage["back_s"]
    return (
        f"{nodes['held_max']:,} nodes and {sessions['held_max']:,} sessions held; after a restart "
        f"99 % of their sockets back in {back:.1f} s, {run['load']['kib_per_socket']:.1f} KiB per "
        "socket in the generator"
    )


def beats(per_s):
    return lambda run: f"{per_s:,.0f} heartbeats/s beside {rate(run)}"


# Table, figure, arguments of `lingua load`, and what its report says.
LOADS = [
    ("A", "dispatch requests/s, 9 kB of Opus each", f"{FAST} --set sessions.0.count=4000", rate),
    ("A", "dispatch requests/s, 96 kB of PCM16 each",
     f"{FAST} --audio pcm16 --set sessions.0.bytes_per_ms=32 --set sessions.0.count=2500", rate),
    ("A", "dispatch requests/s, one small chunk each",
     f"{FAST} --set sessions.0.utterance=100ms --set sessions.0.gap=10s "
     "--set sessions.0.count=7000", rate),
    ("A", "at real pace, bound by the 20,000 descriptors of one process",
     f"{RATE} --set sessions.0.count=8000 --set sessions.0.gap.exponential=10s", rate),
    ("A", "nodes and concurrent sessions", "scenarios/live/sockets.toml", held),
    ("A", "heartbeat writes/s",
     f"{CALM} --set nodes.0.count=2000 --set nodes.0.heartbeat=1s --set sessions.0.count=1000",
     beats(2000)),
    *[("B", f"nodes {n:,}", f"{CALM} --set nodes.0.count={n} --set sessions.0.count=1000", rate)
      for n in (10, 100, 1000, 2000)],
    *[("B", f"sessions {n:,}", f"{CALM} --set nodes.0.count=100 --set sessions.0.count={n}", rate)
      for n in (100, 1000, 3000, 10000)],
    *[("B", f"dispatch/s {n:,}", f"{FAST} {SHORT} --set sessions.0.count={n * 5 // 3}", rate)
      for n in (500, 1000, 2000)],
    *[("B", f"heartbeat every {s} s",
       f"{CALM} --set nodes.0.heartbeat={s}s --set sessions.0.count=1000", beats(1000 / s))
      for s in (1, 10)],
    ("D", "dispatch mean < 5 ms", f"{FAST} {SHORT} --set sessions.0.count=830", latency),
    ("D", "> 10,000 jobs/s",
     f"{FAST} --set sessions.0.utterance=100ms --set sessions.0.gap=6.9s "
     "--set sessions.0.count=7900", rate),
]

# Promise of table D, and the cost that `lingua calibrate` measures for it.
COSTS = [("reserve < 2 ms", "dispatch"), ("register < 10 ms", "register"),
         ("heartbeat < 3 ms", "heartbeat")]


def load(arguments):
    for _ in range(3):
        command = [LINGUA, "load", *arguments.split(), "--out", OUT]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        run = json.loads((OUT / "run.json").read_text())
        if run["verdict"] != "void":
            break
    return run


def machine():
    told = [OUT / "machine.json", shared_store.OUT / "load/machine.json"]
    run = json.loads(next(file for file in told if file.exists()).read_text())
    cores = subprocess.run(["nproc"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{run['processor']}, {cores} cores shared by all processes"


def micros(text):
    """Microseconds of a duration like `33us350ns`."""
    total, digits = 0.0, ""
    rest = text
    while rest:
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        rest = rest[len(digits):]
        unit = rest[: len(rest) - len(rest.lstrip("nums"))]
        rest = rest[len(unit):]
        total += float(digits) * TIMES[unit]
    return total


def calibrated():
    costs = OUT / "costs.toml"
    subprocess.run([LINGUA, "calibrate", "--out", costs], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    measured = tomllib.loads(costs.read_text())["costs"]
    for figure, cost in COSTS:
        said = f"{micros(measured[cost]):.1f} µs of processor time"
        yield ("D", figure), (said, "lingua calibrate --out costs.toml")


def measured(wanted):
    """Table, figure, what was measured and by which command, for all figures that hold `wanted`."""
    for table, figure, arguments, words in LOADS:
        if wanted not in figure:
            continue
        run = load(arguments)
        said = words(run)
        if run["verdict"] == "void":
            said = "void: " + "; ".join(run["reasons"])
        yield (table, figure), (said, f"lingua load {arguments}")
    if any(wanted in figure for figure, _ in COSTS):
        yield from calibrated()
    yield from shared_store.figures(wanted, PORTS, micros)


def save(path, rows):
    every = [row[:2] for row in LOADS] + [("D", figure) for figure, _ in COSTS]
    every += shared_store.KEYS
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["table", "figure", "measured", "machine", "date", "command"])
        out.writerows(rows[key] for key in every if key in rows)


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    path = ROOT / "scenarios/live/measured.csv"
    with open(path, newline="", encoding="utf-8") as file:
        rows = {(row[0], row[1]): row for row in list(csv.reader(file))[1:]}
    OUT.mkdir(parents=True, exist_ok=True)
    today = datetime.date.today().isoformat()
    for key, (said, command) in measured(wanted):
        print(f"{key[0]} {key[1]}: {said}", file=sys.stderr)
        rows[key] = [*key, said, machine(), today, command]
        # After each, so that a figure that fails costs no other.
        save(path, rows)


if __name__ == "__main__":
    main()
