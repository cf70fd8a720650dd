#!/usr/bin/env python3
"""How often `lab compare -- A B` and hyperfine mislead, and how often they find a difference, on a machine with a load.

    bench/commands.py 'target/release/hashmill lab' trials.jsonl --seconds 110 [0]  # as often as one likes: adds trials [of one effect]
    bench/commands.py trials.jsonl                                                  # the table of all trials

A command is a loop in awk of some 20 ms; the other one does 0, 2 or 5 % more rounds. While both are measured, a process for each
processor works and rests in turns, for times that chance decides. In each trial both tools measure the same pair, one after
the other, in an order that chance decides. The lab runs by its defaults; hyperfine gets as many runs as fit into the same time: those of
the lab with its control and its warm-up, for half as many commands. It starts no shell (-N), as the lab does not.
"""
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 1_200_000
EFFECTS = [0, 2, 5]
LOAD = """
import random, sys, time
chance = random.Random(int(sys.argv[1]))
while True:
    end = time.monotonic() + chance.expovariate(2)
    while time.monotonic() < end:
        pass
    time.sleep(chance.expovariate(2))
"""


def command(percent):
    rounds = ROUNDS * (100 + percent) // 100
    return f"awk 'BEGIN{{for(i=0;i<{rounds};i++)x+=i}}'"


def timed(words):
    begin = time.monotonic()
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(f"{' '.join(words)}: {done.returncode} {done.stderr}", file=sys.stderr)
    return done.returncode, time.monotonic() - begin


def by_lab(lab, pair, seed, folder):
    out = os.path.join(folder, "lab.json")
    words = [*lab, "compare", "--seed", str(seed), "--out", folder, "--export-json", out, "--", *pair]
    code, took = timed(words)
    results = json.load(open(out))["results"]
    beside = results[1]["beside_first"]
    return {"code": code, "s": took, "runs": len(results[0]["times"]), "verdict": beside["verdict"], "speed": beside["speed"]}


def by_hyperfine(pair, runs, folder):
    out = os.path.join(folder, "hyperfine.json")
    code, took = timed(["hyperfine", "-N", "-w", "1", "-r", str(runs), "--export-json", out, *pair])
    times = [result["times"] for result in json.load(open(out))["results"]]
    return {"code": code, "s": took, "runs": runs, "times": times}


def trials(lab, file, seconds, wanted):
    chance = random.Random()
    load = [subprocess.Popen([sys.executable, "-c", LOAD, str(chance.getrandbits(30))]) for _ in range(os.cpu_count())]
    end = time.monotonic() + seconds
    try:
        runs = 60
        while time.monotonic() < end:
            effects = wanted[:]
            chance.shuffle(effects)
            for effect in effects:
                pair = [command(0), command(effect)]
                with tempfile.TemporaryDirectory() as folder:
                    trial = {"effect": effect}
                    first = chance.random() < 0.5
                    # The number of runs has to be known: where hyperfine is first, it is that of the trial before.
                    if first:
                        trial["hyperfine"] = by_hyperfine(pair, runs, folder)
                    trial["lab"] = by_lab(lab, pair, chance.getrandbits(30), folder)
                    runs = max(10, trial["lab"]["runs"] * 3 // 2)
                    if not first:
                        trial["hyperfine"] = by_hyperfine(pair, runs, folder)
                with open(file, "a") as out:
                    print(json.dumps(trial), file=out)
    finally:
        for process in load:
            process.kill()


def ratio_of(trial):
    """What hyperfine prints: the ratio of the means with its error. Here of the second command, above 1 it is faster."""
    (a, b) = trial["hyperfine"]["times"]
    means, errors = [statistics.mean(t) for t in (a, b)], [statistics.stdev(t) for t in (a, b)]
    ratio = means[0] / means[1]
    return ratio, ratio * math.hypot(errors[0] / means[0], errors[1] / means[1])


def sign(value):
    return (value > 0) - (value < 0)


def beyond_error(trial):
    ratio, error = ratio_of(trial)
    # It names the faster one, so its ratio is above 1 in any case.
    larger = max(ratio, 1 / ratio)
    return sign(ratio - 1) if larger - 1 > error * larger / ratio else 0


def welch(trial):
    """The t test of the script that comes with hyperfine, at 5 %; with so many runs t is as good as normal."""
    (a, b) = trial["hyperfine"]["times"]
    error = math.sqrt(statistics.variance(a) / len(a) + statistics.variance(b) / len(b))
    t = (statistics.mean(a) - statistics.mean(b)) / error
    return sign(t) if abs(t) > 1.96 else 0


def by_verdict(trial):
    return {"faster": 1, "slower": -1}.get(trial["lab"]["verdict"], 0) if trial["lab"]["code"] == 0 else 0


READINGS = [
    ("lab: the verdict", by_verdict),
    ("hyperfine: who \"ran … times faster\"", lambda trial: sign(ratio_of(trial)[0] - 1)),
    ("hyperfine: the same, if by more than its ±", beyond_error),
    ("hyperfine's script: Welch's t test, 5 %", welch),
]


def table(file):
    all_trials = [json.loads(line) for line in open(file)]
    of = {effect: [trial for trial in all_trials if trial["effect"] == effect] for effect in EFFECTS}
    print("| | " + " | ".join(f"+{e} %, {len(of[e])} trials: right / wrong" if e else f"A/A, {len(of[e])} trials: a difference" for e in EFFECTS) + " |")
    print("|---|" + "---:|" * len(EFFECTS))
    for name, reading in READINGS:
        cells = []
        for effect in EFFECTS:
            said = [reading(trial) for trial in of[effect]]
            cells.append(f"{said.count(-1)} / {said.count(1)}" if effect else f"{len(said) - said.count(0)}")
        print(f"| {name} | " + " | ".join(cells) + " |")
    print()
    for effect in EFFECTS:
        lab, hyperfine = ([trial[tool] for trial in of[effect]] for tool in ("lab", "hyperfine"))
        words = sorted(result["verdict"] for result in lab)
        counts = ", ".join(f"{words.count(word)} {word}" for word in sorted(set(words)))
        invalid = sum(result["code"] != 0 for result in lab)
        spread = [
            sorted(abs(speed - 100 / (100 + effect)) * 100 for speed in speeds)[len(speeds) * 9 // 10]
            for speeds in ([trial["lab"]["speed"] for trial in of[effect]], [ratio_of(trial)[0] for trial in of[effect]])
        ]
        print(
            f"- +{effect} %: lab {counts}; its control failed in {invalid}; median time {statistics.median(r['s'] for r in lab):.1f} s beside "
            f"{statistics.median(r['s'] for r in hyperfine):.1f} s of hyperfine; nine of ten ratios off by no more than "
            f"{spread[0]:.2f} % (lab) and {spread[1]:.2f} % (hyperfine)"
        )


if len(sys.argv) == 2:
    table(sys.argv[1])
else:
    trials(sys.argv[1].split(), sys.argv[2], float(sys.argv[4]), [int(word) for word in sys.argv[5:]] or EFFECTS)
