"""What the Python peers share; the counterpart of src/lib.rs, with the same numbers."""

import math
import sys
import time

SERVERS, LAMBDA, MU = 100, 90.0, 1.0
THEORY_WAIT = 0.02169404809
ERROR_SCALE = 1.5
ERRORS_ALLOWED = 4.0


def arguments():
    """CUSTOMERS [SEED]"""
    numbers = [int(word) for word in sys.argv[1:]] + [1]
    if len(numbers) < 2:
        sys.exit(f"usage: {sys.argv[0]} CUSTOMERS [SEED]")
    return numbers[0], numbers[1]


def report(name, customers, mean_wait, start):
    """Prints the line, then judges the mean wait.

    The model's two events per customer are counted, not what the engine adds of its own.
    """
    wall = time.perf_counter() - start
    events = 2 * customers
    print(f"{name} {customers} {events} {mean_wait:.8f} {wall:.4f} {events / wall:.0f}")
    tolerance = ERRORS_ALLOWED * ERROR_SCALE / math.sqrt(customers)
    if abs(mean_wait - THEORY_WAIT) > tolerance:
        sys.exit(f"{name}: mean wait {mean_wait:.6f} is not {THEORY_WAIT:.6f} ± {tolerance:.6f}")
