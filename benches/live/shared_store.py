"""Figures of instances that share their state on Redis, for measure.py."""
import collections
import json
import re
import subprocess
import time
import tomllib
import urllib.request

from house import LINGUA, REDIS, ROOT, House, ask

OUT = ROOT / "out/measure-redis"
RATE = "scenarios/live/rate.toml"
LIGHT = "scenarios/live/light.toml"
PAIRS = "scenarios/live/instances.toml"
# Speakers of one utterance in 10 s of their own time, ten times as fast: about one a second each.
PLAN = ["--speed", "10", "--set", "duration=16s", "--set", "warmup=4s", "--set", "nodes.0.count=100",
        "--set", "sessions.0.gap.exponential=7s"]
# Between these the most sessions are searched that meet the same as in the simulated table.
LOW, HIGH, STEPS = 100, 3100, 5
P99_MS, REFUSED = 100, 0.001

# Speakers of half an utterance a second; 30 % of it comes after a reconnection, or after a switch of
# the language.
TOUCHES = ["--set", "duration=20s", "--set", "warmup=5s", "--set", "sessions.0.count=200",
           "--set", "sessions.0.gap.exponential=1s"]
MIXES = [("", []), (", 30 % reconnects", ["--set", 'sessions.0.reconnect="9/m"']),
         (", 30 % language switches", ["--set", 'sessions.0.switch_language="9/m"'])]

# Instances of each row, and whether the store is a Cluster. A Cluster with many instances is too much
# for two cores to search; how often each key is touched does not hang on their speed.
ROWS = [(f"{store}, {n} instance{'s' if n > 1 else ''}", n, cluster)
        for store, cluster in (("Redis single", False), ("Cluster of 3", True))
        for n in (1, 2, 3, 5, 8)]
SEARCHES = [row for row in ROWS if not row[2] or row[1] in (1, 3)]
HOTTEST = [(f"hottest key of {name}{mix}", n, cluster, more)
           for mix, more in MIXES for name, n, cluster in ROWS]
LIGHTS = ["dispatch mean < 5 ms, Redis", "reserve < 2 ms, Redis", "Redis about 5,000 ops/s, Redis",
          "about 100 MB per 1,000 nodes, Redis"]
COSTS = [("register < 10 ms, Redis", "register"), ("heartbeat < 3 ms, Redis", "heartbeat")]

KEY = re.compile(r'"lingua:v1:([^" ]+)"')
KEYS = ([("C", figure) for figure, *_ in SEARCHES + HOTTEST] + [("C", "commands to Redis per job")]
        + [("D", figure) for figure in LIGHTS] + [("D", figure) for figure, _ in COSTS])


def run(house, scenario, *more, targets=None):
    house.load(scenario, *more, targets=targets).wait()
    return json.loads((house.out / "load/run.json").read_text())


def stats(port):
    lines = [line.split(":", 1) for line in ask(port, "INFO", "all").splitlines() if ":" in line]
    return dict(lines)


def calls(house):
    """Commands of clients to Redis so far, those within scripts apart."""
    sent = 0
    for port in house.redis:
        # A script's own commands are counted as well, each under its name.
        sent += sum(int(value.split(",")[0].split("=")[1]) for name, value in stats(port).items()
                    if name in ("cmdstat_evalsha", "cmdstat_xreadgroup"))
    return sent


def steps(house, name):
    """A figure of all instances together."""
    total = 0.0
    for place in range(house.count):
        with urllib.request.urlopen(f"http://127.0.0.1:{house.port(place)}/metrics") as page:
            for line in page.read().decode().splitlines():
                if line.split(" ")[0] == name:
                    total += float(line.split(" ")[1])
    return total


def net(of):
    found = of["latency_ms"]["dispatch_net"]
    return f"p50 {found['p50']:.2f}, p99 {found['p99']:.2f} ms"


def search(ports, instances, cluster):
    """The most sessions for which nearly all jobs are quick and none is refused."""
    low, high, found = LOW, HIGH, None
    for _ in range(STEPS):
        middle = (low + high) // 2
        # A house for each: what is left of one run would reach the nodes of the next.
        house = House(OUT, ports, instances, cluster)
        try:
            house.start()
            tried = run(house, RATE, *PLAN, "--set", f"sessions.0.count={middle}")
        finally:
            house.stop()
        latency = tried["latency_ms"]["dispatch_net"]["p99"]
        quick = latency <= P99_MS and tried["refused_ratio"] <= REFUSED
        if tried["verdict"] != "void" and quick and tried["jobs"]["failed"] == 0:
            low, found = middle, tried
        else:
            high = middle
    if found is None:
        return f"below {LOW} sessions", f"sessions.0.count={LOW}"
    said = (f"{found['carried_per_s']:,.0f} jobs/s of {low:,} sessions, dispatch net {net(found)}, "
            f"oversold {found['oversold']['assignments']}")
    return said, f"{' '.join(PLAN)} --set sessions.0.count={low}"


def hottest(ports, instances, cluster, mix):
    """The key that is touched most often, and its share of all touches, scripts included. Counted is
    the middle half of the time that was listened to: neither opening nor end of the run."""
    house = House(OUT, ports, instances, cluster)
    monitors, logs = [], []
    try:
        house.start()
        for port in house.redis:
            if "role:master" in ask(port, "INFO", "replication"):
                logs.append(house.out / f"monitor-{port}")
                with open(logs[-1], "wb") as log:
                    command = ["redis-cli", "-p", str(port), "MONITOR"]
                    monitors.append(subprocess.Popen(command, stdout=log))
        verdict = run(house, PAIRS, *TOUCHES, *mix)["verdict"]
    finally:
        for monitor in monitors:
            monitor.kill()
            monitor.wait()
        house.stop()
    # Neither an invariant nor an expectation of so light a load may fail.
    if verdict != "ok":
        return f"not measured: the load was {verdict}"
    seen = []
    for log in logs:
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            at, _, command = line.partition(" ")
            # What a script touches is listed beside its call; the first line is no command.
            if '"EVALSHA"' not in command and at[:1].isdigit():
                seen.append((float(at), KEY.findall(command)))
    first, last = min(seen)[0], max(seen)[0]
    quarter = (last - first) / 4
    touches = collections.Counter()
    for at, keys in seen:
        if first + quarter <= at <= last - quarter:
            touches.update(keys)
    (key, count), total = touches.most_common(1)[0], touches.total()
    return f"{count / total:.1%} {key}"


def per_job(ports):
    """Commands for a job whose session and node are at one instance, or at two."""
    said = []
    for words, instances, nodes_at in (("at one instance", 1, 0), ("at two", 2, 1)):
        house = House(OUT, ports, instances)
        try:
            house.start()
            time.sleep(3)
            quiet = calls(house)
            time.sleep(10)
            idle = (calls(house) - quiet) / 10
            before, since = calls(house), time.monotonic()
            sessions, nodes = house.targets([0]), house.targets([nodes_at])
            done = run(house, LIGHT, "--set", "duration=40s", "--set", "warmup=0s", "--node-target",
                       nodes, targets=sessions)
            spent = calls(house) - before - idle * (time.monotonic() - since)
            time.sleep(6)
            beats = steps(house, 'scheduler_store_steps_total{step="heartbeat"}')
            beats += steps(house, 'scheduler_store_steps_total{step="register"}')
            said.append(f"{(spent - beats) / done['jobs']['offered']:.1f} where session and node "
                        f"are {words}")
        finally:
            house.stop()
    return ", ".join(said) + "; heartbeats and what an idle instance asks apart"


def light(ports):
    """One instance with little to do: latency, steps, memory."""
    house = House(OUT, ports, 1)
    port = house.port(REDIS)
    name = "scheduler_store_round_trip_seconds"
    try:
        house.start()
        found = run(house, LIGHT, "--set", "duration=40s")
        time.sleep(6)
        step = steps(house, f"{name}_sum") / steps(house, f"{name}_count")
        yield f"dispatch net mean {found['latency_ms']['dispatch_net']['mean']:.2f}, {net(found)}"
        yield f"{step * 1e3:.2f} ms per step on average, its way included"
        before = calls(house)
        fast = run(house, RATE, *PLAN, "--set", "sessions.0.count=1000")
        per_s = (calls(house) - before) / 16
        yield f"{per_s:,.0f} commands/s at {fast['carried_per_s']:,.0f} jobs/s"
        empty = int(stats(port)["used_memory"])
        many = subprocess.Popen([LINGUA, "load", RATE, "--target", house.targets(), "--set",
                                 "duration=15s", "--set", "warmup=1s", "--set", "sessions.0.count=1",
                                 "--out", OUT / "many"], cwd=ROOT, stdout=subprocess.DEVNULL)
        time.sleep(12)
        full = int(stats(port)["used_memory"])
        many.wait()
        yield f"{(full - empty) / 1e6:.1f} MB per 1,000 nodes in Redis"
    finally:
        house.stop()


def costs(ports, micros):
    house = House(OUT / "costs", ports, 1)
    file = OUT / "costs/costs.toml"
    try:
        house.start()
        subprocess.run([LINGUA, "calibrate", "--target", house.targets(), "--out", file], cwd=ROOT,
                       check=True, stdout=subprocess.DEVNULL)
    finally:
        house.stop()
    measured = tomllib.loads(file.read_text())["costs"]
    for figure, cost in COSTS:
        yield ("D", figure), (f"{micros(measured[cost]):.1f} µs of processor time",
                              "lingua calibrate --target ws://…")


def figures(wanted, ports, micros):
    """All figures whose name holds `wanted`: table and figure, what was measured, command."""
    for figure, instances, cluster in SEARCHES:
        if wanted in figure:
            said, command = search(ports, instances, cluster)
            yield ("C", figure), (said, f"lingua load {RATE} --target … {command}")
    for figure, instances, cluster, mix in HOTTEST:
        if wanted in figure:
            command = " ".join([PAIRS, "--target …", *TOUCHES, *mix])
            yield ("C", figure), (hottest(ports, instances, cluster, mix),
                                  f"redis-cli MONITOR beside lingua load {command}")
    if wanted in "commands to Redis per job":
        yield ("C", "commands to Redis per job"), (per_job(ports), f"lingua load {LIGHT} --target …")
    if any(wanted in figure for figure in LIGHTS):
        for figure, said in zip(LIGHTS, light(ports)):
            yield ("D", figure), (said, f"lingua load {LIGHT} --target …")
    if any(wanted in figure for figure, _ in COSTS):
        yield from costs(ports, micros)
