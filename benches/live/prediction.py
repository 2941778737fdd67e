#!/usr/bin/env python3
"""Simulate and measure 1, 2 and 4 instances on one Redis, and lay both side by side.

    cargo build --release && benches/live/prediction.py        # all three, about 9 minutes
    cargo build --release && benches/live/prediction.py 2      # with two instances

For each: Redis and the instances are started, `lingua calibrate` measures what they cost,
`lingua sim` predicts with that, `lingua load` measures, and `lingua compare` tells the difference.
Needs redis-server and redis-cli, 7 or later, and a machine that does nothing else. Exit code 1
where prediction and measurement differ.
"""
import subprocess
import sys

from house import LINGUA, ROOT, House

OUT = ROOT / "out/prediction"
SCENARIO = "scenarios/live/instances.toml"
# First of 20 ports.
PORTS = 24020


def lingua(*arguments, **more):
    command = [str(part) for part in (LINGUA, *arguments)]
    return subprocess.run(command, cwd=ROOT, check=False, **more)


def agree(instances):
    """Whether both agree with so many instances."""
    out = OUT / str(instances)
    house = House(out, PORTS, instances)
    costs, simulated = out / "costs.toml", out / "sim"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        house.start()
        lingua("calibrate", "--target", house.targets(), "--out", costs, **quiet)
        house.load(SCENARIO).wait()
    finally:
        house.stop()
    lingua("sim", SCENARIO, "--set", f"scheduler.instances={instances}", "--costs", costs, "--out",
           simulated, **quiet)
    print(f"\n{instances} instance{'s' if instances > 1 else ''} on Redis", flush=True)
    said = lingua("compare", simulated, out / "load", "--out", out / "comparison")
    return said.returncode == 0


def main():
    counts = [int(word) for word in sys.argv[1:]] or [1, 2, 4]
    # All of them run, whatever the first says.
    sys.exit(0 if all([agree(count) for count in counts]) else 1)


if __name__ == "__main__":
    main()
