//! Simulation with fixed seeds: disturbed calibration probes must not make identical programs look different.
//!
//! Each simulated sample has a fixed cost beside its calls, as real ones have, and some probes are disturbed.

use super::*;
use crate::measure::session::protocol::Sampled;
use crate::stats::order_rng::TestNoise;
use crate::stats::verdict::Rule;
use std::cell::RefCell;

const CALL_NS: f64 = 8_700.0;
/// Refilling caches and predictors after the other side's process, as measured on 28 November.
const FIXED_NS: f64 = 10_000.0;
/// Factor of a disturbed probe.
const DISTURBED: f64 = 3.8;

/// Simulated machine on which all programs are equal.
struct SimulatedMachine {
    chance: RefCell<TestNoise>,
    /// Share of disturbed probes.
    disturbed: f64,
    /// ScriptedClock probe results per launch, in turn.
    scripted: RefCell<Vec<u64>>,
    /// Requested iterations of every sample.
    requested_iterations: RefCell<Vec<u64>>,
}

impl SimulatedMachine {
    fn new(seed: u64, disturbed: f64) -> Self {
        let (chance, scripted, requested_iterations) =
            (TestNoise::new(seed).into(), RefCell::default(), RefCell::default());
        SimulatedMachine { chance, disturbed, scripted, requested_iterations }
    }

    /// Iterations that one probe reports for `sample_ns`.
    fn probe(&self, sample_ns: u64) -> u64 {
        let mut chance = self.chance.borrow_mut();
        let slow = if chance.uniform() < self.disturbed { DISTURBED } else { 1.0 };
        (sample_ns as f64 / (CALL_NS * slow * (1.0 + 0.01 * chance.normal().abs()))) as u64
    }

    /// Time of a sample of a side with slowdown `pace` in this session.
    fn sample_ns(&self, pace: f64, iterations: u64) -> f64 {
        let noise = 1.0 + 0.004 * self.chance.borrow_mut().disturbed(0.05, 6.0).abs();
        iterations as f64 * CALL_NS * pace * noise + FIXED_NS
    }

    /// Effect of a session's placement and neighbours on one side.
    fn pace(&self) -> f64 {
        1.0 + 0.003 * self.chance.borrow_mut().normal()
    }
}

struct SimulatedSession<'a> {
    bench: &'a SimulatedMachine,
    pace: f64,
    scripted: Option<u64>,
}

impl Launcher for SimulatedMachine {
    fn launch(&self, _: usize, _: usize) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
        Ok(Box::new(SimulatedSession {
            bench: self,
            pace: self.pace(),
            scripted: self.scripted.borrow_mut().pop(),
        }))
    }
}

impl SessionHandle for SimulatedSession<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, SessionError> {
        let sampled = |ns: f64| {
            let digest = "07".to_owned();
            Reply::Sampled(Sampled { ns: ns as u64, digest, cpu_ns: None, faults: None, switches: None })
        };
        Ok(match request {
            Request::Open { .. } => Reply::Opened {
                unit: "operations".to_owned(),
                units: 1,
                working_set: 64,
                inputs: 64,
                setup_ns: 0,
                reference: "07".to_owned(),
            },
            Request::Check { .. } => {
                Reply::Checked { kernel: String::new(), digest: "07".to_owned(), amounts: Vec::new() }
            }
            Request::Calibrate { sample_ns, .. } => {
                let iterations = self.scripted.unwrap_or_else(|| self.bench.probe(*sample_ns));
                Reply::Calibrated { iterations, ns: *sample_ns }
            }
            Request::Sample { iterations, .. } => {
                self.bench.requested_iterations.borrow_mut().push(*iterations);
                sampled(self.bench.sample_ns(self.pace, *iterations))
            }
            Request::Work { iterations, .. } => sampled(*iterations as f64 * CALL_NS),
            Request::Memory => Reply::Memory(Memory::default()),
            _ => Reply::Pinned { cpu: None },
        })
    }
}

struct NeverStop;

impl Observer for NeverStop {
    fn progress(&mut self, _: usize, _: usize, _: &[GroupResult]) {}
    fn stop(&self) -> bool {
        false
    }
}

fn plan() -> Plan {
    Plan { rounds: 5, warm_ups: 0, pin: false, ..Plan::default() }
}

fn group(engines: [&str; 2]) -> CaseGroup {
    let side = |(build, engine): (usize, &str)| Side {
        label: engine.to_owned(),
        role: if build == 0 { Role::Baseline } else { Role::Candidate },
        build,
        key: format!("work/{engine}/kernel/1/t1").parse().expect("a key"),
    };
    let sides = [(0, engines[0]), (1, engines[1])].map(side).to_vec();
    CaseGroup { title: "A/A".to_owned(), sides, together: false, sessions: None, layouts: None }
}

#[test]
fn builds_of_one_case_have_equal_iteration_counts() {
    for scripted in [[15, 57], [57, 15], [9, 23]] {
        let bench = SimulatedMachine::new(1, 0.0);
        // Applies to the first session only; later ones measure the true value.
        *bench.scripted.borrow_mut() = scripted.to_vec();
        let all = run(vec![group(["a", "a"])], &plan(), &bench, &mut NeverStop);
        assert_eq!(all[0].outcome, Outcome::Complete);
        for session in &all[0].sessions {
            assert_eq!(session.iterations[0], session.iterations[1], "{scripted:?}");
        }
        let requested_iterations = bench.requested_iterations.into_inner();
        assert!(
            requested_iterations[..10].iter().all(|count| *count == requested_iterations[0]),
            "{requested_iterations:?}"
        );
        assert!(
            requested_iterations[10..].iter().all(|count| (50..=60).contains(count)),
            "calibrated again: {requested_iterations:?}"
        );
    }
}

#[test]
fn engines_get_samples_of_equal_time_again_in_every_session() {
    let bench = SimulatedMachine::new(1, 0.0);
    *bench.scripted.borrow_mut() = vec![15, 57];
    let all = run(vec![group(["a", "b"])], &plan(), &bench, &mut NeverStop);
    let counts: Vec<&[u64]> = all[0].sessions.iter().map(|session| &session.iterations[..]).collect();
    assert_ne!(counts[0][0], counts[0][1], "what all probes of a session say is taken for the truth");
    assert!(counts[1..].iter().all(|counts| counts[0] == counts[1] && counts[0] > 50), "{counts:?}");
}

/// False verdicts in `trials` comparisons, one per seed, by the current rule.
fn false_verdicts(engines: [&str; 2], trials: u64) -> usize {
    let claims = |seed: u64| {
        let all = run(vec![group(engines)], &plan(), &SimulatedMachine::new(seed, 0.25), &mut NeverStop);
        Rule::standard().judge(&[all[0].evidence(1)])[0].verdict.is_claim()
    };
    (1..=trials).filter(|seed| claims(*seed)).count()
}

/// The same with the former calibration: one probe per side, once for all sessions, and equal counts if they are
/// within a factor of 2.
fn false_verdicts_of_one_probe(trials: u64) -> usize {
    let claims = |seed: u64| {
        let (bench, plan, rule) = (SimulatedMachine::new(seed, 0.25), plan(), Rule::standard());
        let [first, second] = [(); 2].map(|()| bench.probe(plan.sample_ns));
        let near = second / 2 <= first && first / 2 <= second;
        let counts = [first, if near { first } else { second }];
        let mut evidence = Evidence::near(&[]);
        while rule.sessions_wanted(1, &evidence).is_some() {
            let paces = [(); 2].map(|()| bench.pace());
            let time = |side: usize| bench.sample_ns(paces[side], counts[side]) / counts[side] as f64;
            let rounds = (0..plan.rounds).map(|_| (time(0) / time(1)).ln()).collect::<Vec<f64>>();
            evidence.deltas.push(median(&rounds));
        }
        rule.judge(&[evidence])[0].verdict.is_claim()
    };
    (1..=trials).filter(|seed| claims(*seed)).count()
}

#[test]
fn a_disturbed_probe_causes_no_false_verdict() {
    let trials = 200;
    let most = trials as usize / 100;
    let before = false_verdicts_of_one_probe(trials);
    assert!(before > 10 * most, "one probe for all sessions: {before} of {trials}");
    for engines in [["a", "a"], ["a", "b"]] {
        let now = false_verdicts(engines, trials);
        assert!(now <= most, "{engines:?}: {now} of {trials}");
    }
}
