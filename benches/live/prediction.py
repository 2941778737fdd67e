#!/usr/bin/env python3
"""Simulate and measure 1, 2 and 4 instances on one Redis, and lay both side by side.

    cargo build --release && benches/live/prediction.py        # all three, about 6 minutes
    cargo build --release && benches/live/prediction.py 2      # with two instances

`lingua calibrate` measures once what one instance costs. With that `lingua sim` predicts each
number of instances, `lingua load` measures it, and `lingua compare` tells the difference.
Needs redis-server and redis-cli, 7 or later, and a machine that does nothing else. Exit code 1
where prediction and measurement differ.
"""
import argparse
import subprocess
import sys

from house import LINGUA, ROOT, House

OUT = ROOT / "out/prediction"
COSTS = OUT / "costs.toml"
SCENARIO = "scenarios/live/instances.toml"
# First of 20 ports.
PORTS = 24020
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def lingua(*arguments, **more):
    command = [str(part) for part in (LINGUA, *arguments)]
    return subprocess.run(command, cwd=ROOT, check=False, **more)


def served(out, instances, play):
    """Lets so many instances serve for as long as this plays."""
    house = House(out, PORTS, instances)
    try:
        house.start()
        play(house)
    finally:
        house.stop()


def calibrate():
    # In a house of its own: speech that was cut short there would reach the nodes of the judge.
    served(OUT / "calibrated", 1, lambda house: lingua(
        "calibrate", "--target", house.targets(), "--out", COSTS, **QUIET))


def agree(instances):
    """Whether both agree with so many instances."""
    out = OUT / str(instances)
    simulated, measured = out / "sim", out / "measured"
    served(measured, instances, lambda house: house.load(SCENARIO).wait())
    lingua("sim", SCENARIO, "--set", f"scheduler.instances={instances}", "--costs", COSTS, "--out",
           simulated, **QUIET)
    print(f"\n{instances} instance{'s' if instances > 1 else ''} on Redis", flush=True)
    said = lingua("compare", simulated, measured / "load", "--out", out / "comparison")
    return said.returncode == 0


def instances(text):
    """A number of instances that one machine takes."""
    count = int(text)
    if not 1 <= count <= 8:
        raise argparse.ArgumentTypeError(f"{count} is not from 1 to 8")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("instances", nargs="*", type=instances, metavar="N",
                        help="how many instances, 1 to 8 (default: 1 2 4)")
    counts = parser.parse_args().instances or [1, 2, 4]
    calibrate()
    # All of them run, whatever the first says.
    sys.exit(0 if all([agree(count) for count in counts]) else 1)


if __name__ == "__main__":
    main()
