#!/usr/bin/env python3
"""The time of programs from start to exit, in alternation: the median of ratios to the first, run by run.

    bench/startup.py 1500 'target/rivals/b3sum/bin/b3sum small' 'target/dist/hashmill sum small'
"""
import os
import random
import statistics
import sys
import time

runs = int(sys.argv[1])
programs = [line.split() for line in sys.argv[2:]]
nowhere = os.open(os.devnull, os.O_WRONLY)


def once(program):
    begin = time.perf_counter_ns()
    child = os.posix_spawn(program[0], program, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, nowhere, 1)])
    _, status = os.waitpid(child, 0)
    took = time.perf_counter_ns() - begin
    if status != 0:
        sys.exit(f"{' '.join(program)}: status {status}")
    return took


for program in programs:
    once(program)
times = [[] for _ in programs]
for _ in range(runs):
    order = list(range(len(programs)))
    random.shuffle(order)
    for index in order:
        times[index].append(once(programs[index]))
for program, took in zip(programs, times):
    ratio = statistics.median(ours / first for ours, first in zip(took, times[0]))
    print(f"{statistics.median(took) / 1e3:8.0f} µs  {ratio:.3f}  {' '.join(program)}")
