"""Turns the lines of all rounds (stdin) into a Markdown table of medians and ratios, and the
machine.json of whole worlds (a file of them, one after the other) into a line below it."""

import json
import statistics
import sys

rates, customers, waits = {}, {}, {}
for line in sys.stdin:
    name, count, _events, wait, _wall, rate = line.split()
    rates.setdefault(name, []).append(float(rate))
    waits.setdefault(name, []).append(float(wait))
    customers[name] = int(count)

median = {name: statistics.median(of) for name, of in rates.items()}
# The yardstick is no engine: the fastest peer is sought among the engines that are not ours.
engines = [name for name in median if name not in ("hand_loop", "lingua")]
fastest = max(engines, key=median.get)

print("| engine | customers | mean wait, s | M events/s | min to max | of hand_loop "
      f"| of {fastest} |")
print("|---|---:|---:|---:|---:|---:|---:|")
for name in sorted(median, key=median.get, reverse=True):
    of = rates[name]
    print(f"| {name} | {customers[name]:,} | {statistics.mean(waits[name]):.5f} "
          f"| {median[name] / 1e6:.3f} | {min(of) / 1e6:.3f} to {max(of) / 1e6:.3f} "
          f"| {median[name] / median['hand_loop']:.4f} | {median[name] / median[fastest]:.3f} |")

worlds, text = [], open(sys.argv[1], encoding="utf-8").read().strip()
while text:
    world, end = json.JSONDecoder().raw_decode(text)
    worlds.append(world)
    text = text[end:].lstrip()
if worlds:
    rate = statistics.median(world["events_per_s"] for world in worlds)
    job = statistics.median(world["ns_per_job"] for world in worlds)
    print(f"\nnodes-1000.toml, the whole world: {rate / 1e6:.3f} M events/s, "
          f"{rate / median['hand_loop']:.4f} of hand_loop, {job:,.0f} ns a counted job")
