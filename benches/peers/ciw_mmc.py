"""The model on Ciw, a library of queueing networks: one node of c servers."""

import time

START = time.perf_counter()

import ciw
from mmc import LAMBDA, MU, SERVERS, arguments, report

customers, seed = arguments()
ciw.seed(seed)
network = ciw.create_network(
    arrival_distributions=[ciw.dists.Exponential(rate=LAMBDA)],
    service_distributions=[ciw.dists.Exponential(rate=MU)],
    number_of_servers=[SERVERS],
)
simulation = ciw.Simulation(network)
simulation.simulate_until_max_customers(customers, method="Finish")
# Records are its one way to give waits back, so they are part of the run.
waits = [record.waiting_time for record in simulation.get_all_records()]
report("ciw", len(waits), sum(waits) / len(waits), START)
