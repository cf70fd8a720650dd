//! Whole campaigns on a scripted clock: from engines to a checked report, exact to the digit and without waiting.

use super::*;
use crate::measure::session::handle::Local;
use crate::measure::session::worker::Worker;
use crate::model::engine::{CaseError, Digest, Engine, Spec, Workload};
use crate::model::registry::{EngineOffer, Registry};
use crate::model::units::Units;
use crate::report::analysis::layout::shown;
use crate::report::assemble::{self, RunHeader};
use crate::report::check::problems;
use crate::report::documents::samples::{self, SamplesFile};
use crate::report::schema::{Build, Kind, Layout, Report, State, Status, Verdict};
use crate::stats::layout::LayoutEffect;
use crate::stats::order::six_digits;
use hashmill_machine::Machine;
use hashmill_machine::clock::ScriptedClock;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Returns its own size.
struct Nap;

impl Workload for Nap {
    type Input = u64;
    fn name(&self) -> &str {
        "nap"
    }
    fn units(&self, spec: &Spec) -> Units {
        Units::Bytes(spec.size)
    }
    fn prepare(&self, spec: &Spec, _: u64) -> Result<u64, CaseError> {
        Ok(spec.size)
    }
    fn reference(&self, _: &Spec, input: &u64) -> Result<Digest, CaseError> {
        Ok(Digest::new(&input.to_le_bytes()))
    }
}

/// Engine whose every call takes `ns`, and which gives wrong results or fails from a given call on.
struct SleepEngine {
    clock: ScriptedClock,
    ns: u64,
    calls: Rc<Cell<u64>>,
    wrong_from: u64,
    broken_from: u64,
}

impl Engine for SleepEngine {
    type Input = u64;
    type Context = ();
    type Buffer = ();
    type Output = u64;

    fn init(&self, spec: &Spec) -> Result<(), CaseError> {
        if spec.threads > 2 { Err(CaseError::unavailable("only two threads here")) } else { Ok(()) }
    }
    fn kernel(&self, (): &()) -> String {
        "scripted".into()
    }
    fn reserve(&self, (): &mut (), _: &u64) -> Result<(), CaseError> {
        Ok(())
    }
    fn run(&self, (): &mut (), (): &mut (), input: &u64) -> Result<u64, CaseError> {
        self.calls.set(self.calls.get() + 1);
        if self.calls.get() >= self.broken_from {
            return Err(CaseError::failed("it broke"));
        }
        self.clock.advance(self.ns);
        Ok(if self.calls.get() >= self.wrong_from { input + 1 } else { *input })
    }
    fn digest(&self, output: &u64) -> Digest {
        Digest::new(&output.to_le_bytes())
    }
    fn amounts(&self, (): &mut (), (): &mut (), _: &u64) -> Result<Vec<Amount>, CaseError> {
        Ok(vec![Amount { name: "length".to_owned(), bytes: self.ns }])
    }
}

struct Fixture {
    clock: ScriptedClock,
    registry: Registry,
}

impl Fixture {
    fn new() -> Self {
        let clock = ScriptedClock::default();
        let napper = |ns, wrong_from, broken_from| SleepEngine {
            clock: clock.clone(),
            ns,
            calls: Rc::default(),
            wrong_from,
            broken_from,
        };
        let mut registry = Registry::new();
        let offer = || EngineOffer::classes(&["kernel", "oneshot", "cold"]);
        registry
            .workload(Nap, &[64])
            .engine("even", napper(1000, u64::MAX, u64::MAX), offer())
            .engine("twin", napper(1000, u64::MAX, u64::MAX), offer())
            .engine("late", napper(1020, u64::MAX, u64::MAX), offer())
            .engine("wrong", napper(500, 3000, u64::MAX), offer())
            .engine("brittle", napper(1000, u64::MAX, 3000), offer());
        Fixture { clock, registry }
    }

    fn group(&self, a: &str, b: Option<&str>, control: bool) -> CaseGroup {
        let key = |text: &str| -> Key { self.registry.select(&[text]).expect("a case").remove(0) };
        let side =
            |label: &str, role, text: &str| Side { label: label.to_owned(), role, build: 0, key: key(text) };
        let mut sides = vec![side("A", Role::Baseline, a)];
        sides.extend(b.map(|b| side("B", Role::Candidate, b)));
        if control {
            sides.push(side("A again", Role::Control, a));
        }
        CaseGroup { title: a.to_owned(), sides, together: true, sessions: None, layouts: None }
    }

    fn run(&self, groups: Vec<CaseGroup>, plan: &Plan, observer: &mut dyn Observer) -> Vec<GroupResult> {
        run(groups, plan, self, observer)
    }
}

impl Launcher for Fixture {
    fn launch(&self, _: usize, _: usize) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
        Ok(Box::new(Local(Worker::new(&self.registry, &self.clock))))
    }
}

/// Stops after a number of queries.
struct Patience(Cell<u64>);

impl Observer for Patience {
    fn progress(&mut self, _: usize, _: usize, _: &[GroupResult]) {}
    fn stop(&self) -> bool {
        self.0.set(self.0.get().saturating_sub(1));
        self.0.get() == 0
    }
}

fn endless() -> Patience {
    Patience(Cell::new(u64::MAX))
}

fn plan() -> Plan {
    Plan { sample_ns: 100_000, rounds: 5, pin: false, ..Plan::default() }
}

pub(crate) fn header(plan: &Plan) -> RunHeader {
    let mut machine =
        Machine { cpu: "Scripted 1".into(), arch: "none".into(), logical_cores: 2, ..Machine::default() };
    machine.id = machine.fingerprint();
    RunHeader {
        kind: Kind::Engines,
        id: "test".into(),
        created: "2026-01-31T12:00:00Z".into(),
        command: vec!["lab".into(), "compare".into()],
        machine,
        builds: vec![Build {
            label: "self".into(),
            source: "this program".into(),
            program_sha256: crate::fingerprint::sha256_hex(b"program"),
            ..Build::default()
        }],
        plan: plan.clone(),
        same_code: false,
        answers: Vec::new(),
        noise: None,
        works: Vec::new(),
        before: Load::default(),
    }
}

fn report_of(all: &[GroupResult], plan: &Plan) -> Report {
    let mut all = all.to_vec();
    for measured in &mut all {
        for session in &mut measured.sessions {
            *session = SessionStats {
                before: Load::default(),
                after: Load::default(),
                memory: Memory::default(),
                cpu: None,
                iterations: session.iterations.clone(),
            };
        }
    }
    assemble::report(&header(plan), &all, Load::default(), 1000)
}

#[test]
fn a_known_slowdown_is_measured_to_the_digit() {
    let fixture = Fixture::new();
    let plan = plan();
    let all = fixture.run(
        vec![fixture.group("nap/even/kernel", Some("nap/late/kernel"), true)],
        &plan,
        &mut endless(),
    );
    let report = report_of(&all, &plan);
    assert_eq!(problems(&report), []);
    assert_eq!(report.state, State::Complete);
    let row = &report.rows[0];
    assert_eq!(row.status, Status::Ok);
    assert_eq!(row.sides[0].iterations, 98, "100 µs of the slower calls");
    assert_eq!(row.sides[1].iterations, 98, "about as fast, so as many");
    assert_eq!(row.sides[0].summary.expect("measured").median_ns, 1000.0);
    assert_eq!(row.sides[1].summary.expect("measured").median_ns, 1020.0);
    let [versus, control] = row.comparisons[..] else { panic!("two comparisons") };
    assert_eq!((versus.verdict, versus.sessions, versus.p), (Verdict::Slower, 10, six_digits(2.0 / 1024.0)));
    assert_eq!(versus.ratio, six_digits(1.0 / 1.02));
    assert_eq!(
        (control.verdict, control.ratio),
        (Verdict::Inconclusive, 1.0),
        "too few sessions for sameness"
    );
    assert_eq!(all[0].samples.len(), 10 * 5 * 3);
}

#[test]
fn counted_cases_need_one_session() {
    let fixture = Fixture::new();
    let plan = plan();
    let mut group = fixture.group("nap/even/kernel", Some("nap/late/kernel"), true);
    group.sessions = Some(1);
    let all = fixture.run(vec![group], &plan, &mut endless());
    assert_eq!(all[0].sessions.len(), 1);
    let report = report_of(&all, &plan);
    assert_eq!(problems(&report), []);
    let lengths: Vec<Option<u64>> = report.rows[0].sides.iter().map(|side| side.amount("length")).collect();
    assert_eq!(lengths, [Some(1000), Some(1020), None], "the control is the baseline once more");
}

#[test]
fn equal_engines_are_called_the_same_at_the_second_look() {
    let fixture = Fixture::new();
    let plan = plan();
    let all = fixture.run(
        vec![fixture.group("nap/even/kernel", Some("nap/twin/kernel"), false)],
        &plan,
        &mut endless(),
    );
    let report = report_of(&all, &plan);
    assert_eq!(problems(&report), []);
    let comparison = report.rows[0].comparisons[0];
    assert_eq!((comparison.verdict, comparison.sessions), (Verdict::Same, 20));
}

#[test]
fn engines_of_different_speed_get_samples_of_equal_time() {
    let fixture = Fixture::new();
    let wrong_but_unnoticed = fixture.group("nap/even/kernel", Some("nap/wrong/kernel"), false);
    let all = fixture.run(vec![wrong_but_unnoticed], &Plan { solo_sessions: 1, ..plan() }, &mut endless());
    assert_eq!(all[0].side_states[0].iterations, 100);
    assert_eq!(all[0].side_states[1].iterations, 200, "twice as fast");
    assert!(
        matches!(&all[0].outcome, Outcome::Incorrect(reason) if reason.contains("nap/wrong/kernel/64/t1 computed 41"))
    );
}

#[test]
fn wrong_results_failures_and_missing_requirements_end_only_their_row() {
    let fixture = Fixture::new();
    let plan = plan();
    let groups = vec![
        fixture.group("nap/wrong/kernel", None, false),
        fixture.group("nap/brittle/kernel", None, false),
        fixture.group("nap/even/kernel/64/t4", None, false),
        fixture.group("nap/even/oneshot", None, false),
    ];
    let all = fixture.run(groups, &plan, &mut endless());
    let report = report_of(&all, &plan);
    assert!(
        matches!(&report.rows[0].status, Status::Incorrect(reason) if reason.contains("the reference is 40"))
    );
    assert_eq!(report.rows[1].status, Status::Failed("it broke".into()));
    assert!(!all[1].samples.is_empty(), "samples before the fault are kept");
    assert_eq!(report.rows[2].status, Status::Skipped("only two threads here".into()));
    assert_eq!(report.rows[3].status, Status::Ok);
    assert_eq!(report.rows[3].sessions.len(), 10);
    assert_eq!(problems(&report), []);
    assert!(!report.is_valid());
}

#[test]
fn an_interrupt_keeps_the_samples() {
    let fixture = Fixture::new();
    let plan = plan();
    // Each session queries (2 + 5) · 2 = 14 times; stop within the fourth.
    let mut observer = Patience(Cell::new(3 * 14 + 8));
    let all = fixture.run(
        vec![fixture.group("nap/even/kernel", Some("nap/late/kernel"), false)],
        &plan,
        &mut observer,
    );
    let report = report_of(&all, &plan);
    assert_eq!(problems(&report), []);
    assert_eq!(report.state, State::Interrupted);
    let row = &report.rows[0];
    assert_eq!(row.status, Status::Unfinished);
    assert_eq!(row.sessions.len(), 3);
    assert!(all[0].samples.len() > 3 * 10, "the torn session's samples are kept, but in no conclusion");
    assert_eq!(row.comparisons[0].sessions, 3);
    assert_eq!(row.comparisons[0].verdict, Verdict::Inconclusive);
}

/// A busy machine causes samples of unequal length.
#[test]
fn samples_of_unequal_length_make_an_interrupted_row_no_worse_than_unfinished() {
    let fixture = Fixture::new();
    let plan = plan();
    let groups = vec![fixture.group("nap/even/kernel", Some("nap/late/kernel"), false)];
    let all = fixture.run(groups, &plan, &mut endless());
    let mut row = report_of(&all, &plan).rows[0].clone();
    row.sides[1].iterations = 500;
    assert!(row.is_unequal(1));
    row.status = Status::Unfinished;
    assert!(row.differs_in_length(1) && !row.is_unequal(1));
}

#[test]
fn cold_cases_take_one_call_of_a_fresh_session_each() {
    let fixture = Fixture::new();
    let plan = plan();
    let all = fixture.run(
        vec![fixture.group("nap/even/cold", Some("nap/late/cold"), false)],
        &plan,
        &mut endless(),
    );
    let report = report_of(&all, &plan);
    assert_eq!(problems(&report), []);
    let row = &report.rows[0];
    assert_eq!((row.rounds, row.sides[0].iterations), (1, 1));
    assert_eq!(all[0].samples.len(), 10 * 2);
    assert_eq!(row.comparisons[0].verdict, Verdict::Slower);
}

#[test]
fn orders_differ_between_rounds_and_repeat_with_the_seed() {
    let fixture = Fixture::new();
    let plan = plan();
    let first_sides = || {
        let all = fixture.run(
            vec![fixture.group("nap/even/kernel", Some("nap/late/kernel"), false)],
            &plan,
            &mut endless(),
        );
        let firsts = all[0].samples.iter().filter(|s| s.position == 0).map(|s| s.side);
        firsts.collect::<Vec<usize>>()
    };
    let once = first_sides();
    assert_eq!(once, first_sides());
    let baseline_first = once.iter().filter(|side| **side == 0).count();
    assert!((15..=35).contains(&baseline_first), "{baseline_first} of {} rounds", once.len());
}

type Change<'a> = &'a dyn Fn(&mut Report);
type Spoil<'a> = &'a dyn Fn(&mut SamplesFile);

fn moved(by: f64, sessions: usize) -> LayoutEffect {
    LayoutEffect { by, sessions, case: "nap".to_owned(), report: "other".to_owned() }
}

/// One link per side, or only a handful of sessions, gives no layout effect.
#[test]
fn reports_layout_effects_with_enough_relinked_sessions() {
    let fixture = Fixture::new();
    let plan = plan();
    let shown_of = |control, by: fn(&str) -> Layout| {
        let group = fixture.group("nap/even/kernel", Some("nap/late/kernel"), control);
        let mut report = report_of(&fixture.run(vec![group], &plan, &mut endless()), &plan);
        report.builds.iter_mut().for_each(|build| build.layout = Some(by("ld")));
        shown(&report).into_iter().map(|(_, moved)| (moved.by, moved.sessions)).collect::<Vec<_>>()
    };
    let shuffled = |linker: &str| Layout::Shuffled(linker.to_owned());
    let fixed = |reason: &str| Layout::Fixed(reason.to_owned());
    assert_eq!(shown_of(true, shuffled), [(0.0, 20)], "with those of the control");
    assert_eq!(shown_of(false, shuffled), [], "ten are too few");
    assert_eq!(shown_of(true, fixed), []);
}

#[test]
fn tampered_reports_are_rejected_each_with_its_reason() {
    let fixture = Fixture::new();
    let plan = plan();
    let all = fixture.run(
        vec![fixture.group("nap/even/kernel", Some("nap/late/kernel"), true)],
        &plan,
        &mut endless(),
    );
    let honest = report_of(&all, &plan);
    assert_eq!(problems(&honest), []);

    let tamper = |change: Change<'_>| {
        let mut report = honest.clone();
        change(&mut report);
        let unsealed = problems(&report);
        assert!(unsealed.iter().any(|p| p.location == "seal"), "an accidental change shows in the seal");
        report.seal = report.compute_seal();
        let reasons: Vec<String> = problems(&report).iter().map(ToString::to_string).collect();
        reasons.join("\n")
    };
    let cases: [(Change<'_>, &str); 29] = [
        (&|r| r.rows[0].sides[1].deltas.iter_mut().for_each(|d| *d *= 0.5), "ratio is stated as"),
        (&|r| r.rows[0].sides[0].session_ns[3] = 0.0, "an invalid time or difference"),
        (
            &|r| r.rows[0].comparisons[0].verdict = Verdict::Faster,
            "stated as faster, but the sessions say slower",
        ),
        (&|r| r.rows[0].comparisons[0].ratio = 0.9, "ratio is stated as 0.9"),
        (&|r| r.rows[0].comparisons[0].interval = Some([1.01, 1.03]), "interval is stated as 1.01"),
        (&|r| r.rows[0].comparisons[0].sessions = 40, "claims 40 sessions, but there are 10"),
        (&|r| r.rows[0].comparisons.truncate(1), "one comparison for each side"),
        (&|r| r.rows[0].sides[1].reference = "42".into(), "but the reference is 42"),
        (&|r| r.rows[0].sides[2].digest = "42".into(), "different references for one case"),
        (&|r| r.rows[0].sides[1].digest = String::new(), "no digest"),
        (&|r| r.rows[0].sides[1].key = "nap/late/oneshot/64/t1".into(), "they time different phases"),
        (&|r| r.classes[0].includes.push("digest: reading".into()), "not those of the class"),
        (&|r| r.classes.clear(), "must be those of the rows"),
        (&|r| r.samples_sha256 = Some("abc".into()), "their hash is none"),
        (&|r| r.rows[0].sides[1].deltas.truncate(3), "10 sessions give 10 times and 10 differences"),
        (&|r| r.rows[0].sessions.truncate(9), "9 sessions give 9 times and 0 differences"),
        (&|r| r.rows[0].windows_ns.push(1), "only a sustained run has windows"),
        (&|r| r.machine.cpu = "Faster CPU".into(), "belongs to another machine"),
        (&|r| r.plan.min_effect = 0.05, "stated as slower, but the sessions say"),
        (&|r| r.plan.family = 7, "the family is 7, but 1 comparisons"),
        (&|r| r.plan.alpha[0] = 0.2, "more than the 1 %"),
        (&|r| r.plan.looks[0] = 9, "stopped after 10 sessions, before the rule ended"),
        (&|r| r.builds[0].program_sha256 = "abc".into(), "no fingerprint"),
        (&|r| r.quality.flags.clear(), "the flags should be"),
        (&|r| r.rows[0].sides[1].iterations = 500, "samples of unequal length"),
        (&|r| r.rows[0].sides[1].session_iterations = vec![100; 9], "its own number of iterations, or none"),
        (&|r| r.plan.same_code = true, "a program differed from itself"),
        (&|r| r.rows[0].layouts = Some(moved(1.5, 40)), "layouts cannot have this effect"),
        (&|r| r.rows[0].layouts = Some(moved(0.02, 10)), "or were measured too rarely"),
    ];
    for (i, (change, reason)) in cases.into_iter().enumerate() {
        let found = tamper(change);
        assert!(found.contains(reason), "case {i}: `{reason}` is not in:\n{found}");
    }
}

/// The samples file reveals a changed session even if nothing else does.
#[test]
fn sessions_that_do_not_follow_from_the_samples_are_found() {
    let fixture = Fixture::new();
    let plan = plan();
    let groups = vec![fixture.group("nap/even/kernel", Some("nap/late/kernel"), true)];
    let all = fixture.run(groups, &plan, &mut endless());
    let file = SamplesFile::from_groups("test", &all);
    let judge = |change: Change<'_>, spoil: Spoil<'_>| {
        let (mut report, mut file) = (report_of(&all, &plan), file.clone());
        report.id = "test".to_owned();
        change(&mut report);
        spoil(&mut file);
        let text = crate::report::store::pretty(&file);
        report.samples_sha256 = Some(crate::fingerprint::sha256_hex(text.as_bytes()));
        let found = samples::verify(&report, text.as_bytes());
        found.map_err(|found| found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    };
    let keep = |_: &mut SamplesFile| {};
    assert_eq!(judge(&|_| {}, &keep), Ok(10 * 5 * 3));
    let changed: [Change<'_>; 4] = [
        &|r| r.rows[0].sides[2].session_ns[7] *= 1.000_01,
        &|r| r.rows[0].sides[1].deltas[7] += 1e-6,
        &|r| r.rows[0].sides[1].iterations += 1,
        &|r| r.rows[0].sides[1].session_iterations = (0..10).map(|s| if s == 3 { 99 } else { 98 }).collect(),
    ];
    for change in changed {
        assert!(
            judge(change, &keep).is_err_and(|reason| reason.contains("does not follow from the samples"))
        );
    }
    let spoilt: [(Spoil<'_>, &str); 7] = [
        (&|f| f.rows[0].ns.truncate(3), "differ in length"),
        (&|f| f.rows[0].ns[3] = 0, "took no time at all"),
        (&|f| f.rows[0].session.iter_mut().for_each(|s| *s += 1), "make 150 samples, but there are 135"),
        (&|f| f.rows[0].side[0] = 7, "outside of the sessions"),
        (&|f| f.rows[0].round[3] = 0, "repeats the place"),
        (&|f| f.id.clear(), "from another run"),
        (&|f| f.rows.clear(), "from another run"),
    ];
    for (spoil, message) in spoilt {
        let found = judge(&|_| {}, spoil);
        assert!(
            found.as_ref().is_err_and(|reason| reason.contains(message)),
            "`{message}` is not in {found:?}"
        );
    }
    let foreign = samples::verify(&report_of(&all, &plan), b"{}").expect_err("another file");
    assert_eq!(foreign[0].to_string(), "samples: it is not the file that the report refers to");
}

/// Records the requested links.
struct RecordingLauncher<'a> {
    fixture: &'a Fixture,
    launched: RefCell<Vec<(usize, Link)>>,
}

impl Launcher for RecordingLauncher<'_> {
    fn launch(&self, build: usize, padding: usize) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
        self.fixture.launch(build, padding)
    }
    fn launch_link(
        &self,
        build: usize,
        link: Link,
        padding: usize,
    ) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
        self.launched.borrow_mut().push((build, link));
        self.launch(build, padding)
    }
}

#[test]
fn every_session_and_control_has_its_own_link() {
    let fixture = Fixture::new();
    let launcher = RecordingLauncher { fixture: &fixture, launched: RefCell::default() };
    let mut group = fixture.group("nap/even/kernel", Some("nap/even/kernel"), true);
    group.together = false;
    group.sides[1].build = 1;
    let all = run(vec![group], &plan(), &launcher, &mut endless());
    let mut launched = launcher.launched.into_inner();
    launched.sort_unstable();
    let sessions = all[0].sessions.len();
    let mut expected: Vec<(usize, Link)> = (0..sessions)
        .flat_map(|session| {
            [(0, false), (0, true), (1, false)].map(|(build, control)| (build, Link { session, control }))
        })
        .collect();
    expected.sort_unstable();
    assert!(sessions >= 10, "{sessions}");
    assert_eq!(launched, expected);
}

/// Sessions that end at chosen requests, counted over all of them, with a record of the seeds.
struct FlakyLauncher<'a> {
    fixture: &'a Fixture,
    deaths: &'a [usize],
    requests: Cell<usize>,
    seeds: RefCell<Vec<u64>>,
}

struct FlakySession<'a> {
    flaky: &'a FlakyLauncher<'a>,
    handle: Box<dyn SessionHandle + 'a>,
}

impl Launcher for FlakyLauncher<'_> {
    fn launch(&self, build: usize, padding: usize) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
        Ok(Box::new(FlakySession { flaky: self, handle: self.fixture.launch(build, padding)? }))
    }
}

impl SessionHandle for FlakySession<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, SessionError> {
        self.flaky.requests.set(self.flaky.requests.get() + 1);
        if let Request::Open { seed, .. } = request {
            self.flaky.seeds.borrow_mut().push(*seed);
        }
        if self.flaky.deaths.contains(&self.flaky.requests.get()) {
            return Err(SessionError::Hung(1));
        }
        self.handle.ask(request)
    }
}

fn flaky<'a>(fixture: &'a Fixture, deaths: &'a [usize]) -> (Vec<GroupResult>, FlakyLauncher<'a>) {
    let flaky = FlakyLauncher { fixture, deaths, requests: Cell::new(0), seeds: RefCell::default() };
    let group = fixture.group("nap/even/kernel", Some("nap/late/kernel"), false);
    (run(vec![group], &plan(), &flaky, &mut endless()), flaky)
}

#[test]
fn a_lost_session_is_taken_again_once_and_reported() {
    let fixture = Fixture::new();
    // Two opens, two checks, six probes, four warm-ups with their lead-ins: request 20 is for a sample.
    let (all, _) = flaky(&fixture, &[20]);
    let report = report_of(&all, &plan());
    assert_eq!(problems(&report), []);
    let row = &report.rows[0];
    assert_eq!(
        (&row.status, row.sessions.len(), row.comparisons[0].verdict),
        (&Status::Ok, 10, Verdict::Slower)
    );
    assert_eq!(all[0].samples.len(), 10 * 5 * 2, "what the lost session gave is left out");
    let [retry] = &row.retried[..] else { panic!("{:?}", row.retried) };
    assert_eq!((retry.session, &*retry.why), (0, "the session did not answer within 1 s and was killed"));
    assert!(report.quality.flags.iter().any(|flag| flag == "retried"), "{:?}", report.quality.flags);

    // Lost again at once: an error.
    let (all, _) = flaky(&fixture, &[20, 21]);
    let report = report_of(&all, &plan());
    assert_eq!(problems(&report), []);
    assert!(matches!(&report.rows[0].status, Status::Failed(reason) if reason.contains("did not answer")));
    assert!(!all[0].samples.is_empty() && report.rows[0].sessions.is_empty());
    assert!(!report.is_valid());
}

#[test]
fn sides_share_the_inputs_of_a_session_and_sessions_have_their_own() {
    let fixture = Fixture::new();
    let (_, flaky) = flaky(&fixture, &[]);
    let seeds = flaky.seeds.borrow();
    assert_eq!(seeds.len(), 2 * 10);
    assert!(seeds.chunks(2).all(|sides| sides[0] == sides[1]));
    let different: std::collections::BTreeSet<_> = seeds.iter().collect();
    assert_eq!(different.len(), 10);
}
