"""The model on SimPy, as its users write it: one process per customer and a Resource."""

import time

START = time.perf_counter()

import random

import simpy
from mmc import LAMBDA, MU, SERVERS, arguments, report

customers, seed = arguments()
draw = random.Random(seed).expovariate
env = simpy.Environment()
servers = simpy.Resource(env, capacity=SERVERS)
waited = 0.0


def customer():
    global waited
    arrived = env.now
    with servers.request() as turn:
        yield turn
        waited += env.now - arrived
        yield env.timeout(draw(MU))


def source():
    for _ in range(customers):
        yield env.timeout(draw(LAMBDA))
        env.process(customer())


env.process(source())
env.run()
report("simpy", customers, waited / customers, START)
