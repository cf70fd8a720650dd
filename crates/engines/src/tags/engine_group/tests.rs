//! Tests of groups of engines, with simulated members.

use super::*;
use hashmill_hash::argon2::{Hasher, Input};
use hashmill_hash::engine::BatchLimits;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// An engine that is lost after a number of batches, counted over all engines of one factory.
struct FailingEngine {
    batches_left: Arc<AtomicUsize>,
    /// 1 to flip a bit of each tag.
    is_faulty: Arc<AtomicUsize>,
    width: usize,
    hasher: Hasher,
}

impl BatchEngine for FailingEngine {
    fn name(&self) -> &str {
        "toy"
    }

    fn limits(&self) -> BatchLimits {
        BatchLimits::new(self.width, 0, Duration::ZERO)
    }

    fn hash(&mut self, jobs: &mut [Job<'_>], _: &Stop) -> Result<usize, EngineError> {
        let taken =
            self.batches_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        taken.map_err(|_| EngineError::System { reason: "lost".to_owned() })?;
        for job in &mut *jobs {
            self.hasher.hash_into(&job.input, job.tag).expect("good inputs");
            job.tag[0] ^= self.is_faulty.load(Ordering::Relaxed) as u8;
        }
        Ok(jobs.len())
    }
}

type Requests = Arc<Mutex<Vec<usize>>>;

/// Makes [`FailingEngine`]s, or refuses with a message (`""`: for lack of memory). Records the batch length of each request.
struct TestFactory {
    refuses: Option<&'static str>,
    batches_left: Arc<AtomicUsize>,
    is_faulty: Arc<AtomicUsize>,
    requests: Requests,
}

impl EngineFactory for TestFactory {
    fn names(&self) -> (&'static str, Option<&str>) {
        ("wgpu", Some("a toy"))
    }

    fn engine(&self, params: Params, max_hashes: usize, _: &Budget) -> Result<Option<FundedEngine>, String> {
        self.requests.lock().expect("no panic").push(max_hashes);
        let engine = || FailingEngine {
            batches_left: Arc::clone(&self.batches_left),
            is_faulty: Arc::clone(&self.is_faulty),
            width: 4,
            hasher: Hasher::new(params),
        };
        match self.refuses {
            None => Ok(Some((Box::new(engine()), None))),
            Some("") => Ok(None),
            Some(why) => Err(why.to_owned()),
        }
    }

    fn tuned(&self, _: Params) -> Option<&TunedArgon2> {
        None
    }
}

fn factory(refuses: Option<&'static str>, batches: usize) -> (TestFactory, Requests) {
    let requests = Requests::default();
    let batches_left = Arc::new(AtomicUsize::new(batches));
    let is_faulty = Arc::default();
    (TestFactory { refuses, batches_left, is_faulty, requests: Arc::clone(&requests) }, requests)
}

fn group(device: TestFactory, with_cpu: bool) -> RequestedGroup {
    let mut factories: Vec<(String, Box<dyn EngineFactory>)> =
        vec![("--engine wgpu".to_owned(), Box::new(device))];
    if with_cpu {
        factories.insert(0, ("--engine cpu".to_owned(), Box::new(CpuEngine { plan: Plan::host() })));
    }
    let budget = Budget::of_free_memory();
    RequestedGroup::new("--engine cpu,wgpu".to_owned(), factories, budget, Arc::new(|_: &EngineEvent| {}))
}

/// Computes `count` hashes and checks each tag.
fn compute(group: &RequestedGroup, params: Params, count: usize) -> Result<(), EngineFailure> {
    let salts: Vec<_> = (0..count as u64).map(u64::to_le_bytes).collect();
    let mut tags = vec![[0; 32]; count];
    let jobs = salts.iter().zip(&mut tags).map(|(salt, tag)| Job { input: Input::new(b"p", salt), tag });
    group.compute(params, &mut jobs.collect::<Vec<_>>(), &Stop::new())?;
    for (salt, tag) in salts.iter().zip(&tags) {
        assert_eq!(Hasher::new(params).hash::<32>(&Input::new(b"p", salt)), Ok(*tag));
    }
    Ok(())
}

fn params(passes: u32) -> Params {
    Params::new(16, passes, 1).expect("good costs")
}

#[test]
fn members_share_a_batch_and_count_their_hashes() {
    let (device, requests) = factory(None, usize::MAX);
    let group = group(device, true);
    assert_eq!(group.batch_width(params(1), 1), Ok(1));
    for count in [3, 100, 40] {
        compute(&group, params(1), count).expect("tags");
    }
    let shares = group.shares();
    assert_eq!(shares.iter().map(|share| share.hashes).sum::<u64>(), 143);
    assert_eq!((shares[0].engine, &shares[0].device), ("cpu", &None));
    assert_eq!((shares[1].engine, shares[1].device.as_deref()), ("wgpu", Some("a toy")));
    assert!(shares.iter().all(|share| share.failed.is_none()));
    assert_eq!(group.names(), ("cpu,wgpu".to_owned(), "a toy".to_owned()));
    assert_eq!(requests.lock().expect("no panic")[..], [1, 3, 100], "a smaller batch reuses the engines");
}

#[test]
fn a_lost_member_gets_no_further_work() {
    let (device, requests) = factory(None, 1);
    let group = group(device, true);
    let failed = || group.shares()[1].failed.clone();
    // The CPU may compute a whole batch before the device gets a part.
    let is_lost = (0..1000).any(|_| {
        compute(&group, params(1), 50).expect("tags");
        failed().is_some()
    });
    assert!(is_lost, "the device gets a second batch");
    let before = group.shares()[1].hashes;
    compute(&group, params(2), 50).expect("tags");
    assert!(failed().is_some_and(|why| why.contains("lost")));
    assert_eq!((requests.lock().expect("no panic").len(), group.shares()[1].hashes), (1, before));
}

#[test]
fn a_member_that_refuses_parameters_is_not_lost() {
    for refuses in ["", "unfit"] {
        let (device, requests) = factory(Some(refuses), usize::MAX);
        let group = group(device, true);
        for passes in [1, 2] {
            compute(&group, params(passes), 9).expect("tags");
        }
        assert_eq!((group.shares()[0].hashes, group.shares()[1].hashes), (18, 0));
        assert!(group.shares()[1].failed.is_some() && requests.lock().expect("no panic").len() == 2);
    }
}

/// Computes one hash with an empty budget.
fn compute_beyond_budget(group: &RequestedGroup) -> Result<(), EngineFailure> {
    let open = group.open_engines(params(1), 1, &Budget::new(0))?;
    *group.last() = Some(open);
    compute(group, params(1), 1)
}

#[test]
fn the_cpu_exceeds_the_budget_only_if_no_device_is_left() {
    let hashes = |group: &RequestedGroup| group.shares().iter().map(|share| share.hashes).collect::<Vec<_>>();
    let both = group(factory(None, usize::MAX).0, true);
    compute_beyond_budget(&both).expect("a tag");
    assert_eq!(hashes(&both), [0, 1]);
    assert_eq!(both.shares()[0].failed.as_deref(), Some("no memory is left for such a hash"));
    for refuses in ["", "unfit"] {
        let cpu = group(factory(Some(refuses), usize::MAX).0, true);
        compute_beyond_budget(&cpu).expect("a tag");
        assert_eq!(hashes(&cpu), [1, 0]);
        assert_eq!(cpu.shares()[0].failed, None);
    }
    let neither = group(factory(Some(""), usize::MAX).0, false);
    let words = compute_beyond_budget(&neither).expect_err("no memory").to_string();
    assert!(words.ends_with("none of these can compute such a hash"), "{words}");
    // The device is lost during the hash; the CPU repeats it.
    let lost = group(factory(None, 0).0, true);
    compute_beyond_budget(&lost).expect("a tag");
    assert_eq!(hashes(&lost), [1, 0]);
    assert_eq!(lost.shares()[0].failed, None, "it computed the hash");
    assert!(lost.shares()[1].failed.is_some());
}

#[test]
fn a_member_that_was_readmitted_counts_when_another_is_tried() {
    // One batch is the self-test; the work is lost. The budget has no memory for the CPU, which comes in when no device is left.
    let mut group = group(factory(None, 1).0, true);
    group.budget = Budget::new(0);
    group.members()[1].quarantine.suspect(group.clock.now());
    compute(&group, params(1), 1).expect("the CPU repeats it");
    let shares = group.shares();
    assert_eq!((shares[0].hashes, shares[1].hashes), (1, 0));
    assert!(shares[1].failed.as_ref().is_some_and(|why| why.contains("lost")), "{shares:?}");
}

#[test]
fn the_cpu_replaces_a_requested_group_only_after_a_wrong_result() {
    let events: Arc<Mutex<Vec<EngineEvent>>> = Arc::default();
    let log = Arc::clone(&events);
    let mut group = group(factory(None, usize::MAX).0, false);
    group.events = Arc::new(move |event: &EngineEvent| log.lock().expect("no panic").push(event.clone()));
    for cause in [FailureCause::Stopped, FailureCause::NoEngineLeft] {
        assert!(!group.falls_back_to_cpu(&group.failure(cause)));
    }
    assert!(events.lock().expect("no panic").is_empty());
    let failure = group.report_wrong_result();
    assert!(group.falls_back_to_cpu(&failure));
    assert_eq!(*events.lock().expect("no panic"), [EngineEvent::CpuTakesOver { failure }]);
}

#[test]
fn an_idle_group_leaves_its_memory_to_another() {
    let (budget, params) = (Budget::new(3 << 20), Params::new(1024, 1, 1).expect("good costs"));
    let group = || {
        let cpu: Box<dyn EngineFactory> = Box::new(CpuEngine { plan: Plan::host() });
        let factories = vec![("cpu".to_owned(), cpu)];
        RequestedGroup::new("cpu".to_owned(), factories, budget.clone(), Arc::new(|_: &EngineEvent| {}))
    };
    let (first, second) = (group(), group());
    for group in [&first, &second, &first] {
        compute(group, params, 2).expect("tags");
        let open = group.last();
        let memory = open.as_ref().expect("it keeps its engines").reservations();
        assert_eq!(memory[0].hashes(), machine::threads().min(2), "as if it were alone");
        let reserved: u64 = budget.reserved_on_host();
        assert!(reserved <= 3 << 20 && reserved >= memory[0].hashes() as u64 * (1 << 20));
    }
}

#[test]
fn a_loss_replaces_an_earlier_failure() {
    let group = group(factory(None, 0).0, false);
    group.members()[0].report_failure("unfit", &group.events);
    compute(&group, params(1), 1).expect_err("lost");
    assert_eq!(group.shares()[0].failed.as_deref(), Some("the system refuses: lost"));
}

#[test]
fn fails_if_all_members_are_lost() {
    let alone = group(factory(None, 1).0, false);
    compute(&alone, params(1), 2).expect("one batch");
    for expected in ["--engine cpu,wgpu: the system refuses: lost", "--engine cpu,wgpu: none of these can"] {
        let words = compute(&alone, params(2), 2).expect_err("lost").to_string();
        assert!(words.starts_with(expected), "{words}");
        let words = compute(&alone, params(1), 2).expect_err("lost").to_string();
        assert!(words.starts_with("--engine cpu,wgpu: none of these can"), "{words}");
    }
}

#[test]
fn cpu_rate_comes_from_a_device_entry() {
    let tuned = |hashes_per_second| TunedArgon2 {
        measured: String::new(),
        engine: "wgpu".to_owned(),
        device: String::new(),
        kind: String::new(),
        memory_kib: 64,
        passes: 1,
        lanes: 1,
        tuning: String::new(),
        hashes_per_second,
        of_processor: 7.0,
    };
    let (cpu, device) = ((true, None), (false, None));
    let all = [cpu.clone(), (false, Some(tuned(9.0))), device.clone()];
    assert_eq!(expected_rates(&all), [Some(7.0), Some(9.0), None]);
    assert_eq!(expected_rates(&[cpu, device]), [None, None]);
}

#[test]
fn a_member_that_recovers_gets_work_again() {
    let (device, requests) = factory(None, usize::MAX);
    let batches_left = Arc::clone(&device.batches_left);
    let mut group = group(device, false);
    let seconds = Arc::new(AtomicU64::new(0));
    group.clock = QuarantineClock::standing_at(Arc::clone(&seconds));
    let events: Arc<Mutex<Vec<EngineEvent>>> = Arc::default();
    let log = Arc::clone(&events);
    group.events = Arc::new(move |event: &EngineEvent| log.lock().expect("no panic").push(event.clone()));
    compute(&group, params(1), 4).expect("tags");
    batches_left.store(0, Ordering::Relaxed);
    compute(&group, params(1), 4).expect_err("lost");
    batches_left.store(usize::MAX, Ordering::Relaxed);
    seconds.store(59, Ordering::Relaxed);
    compute(&group, params(1), 4).expect_err("in quarantine");
    assert_eq!(requests.lock().expect("no panic").len(), 1);
    seconds.store(60, Ordering::Relaxed);
    compute(&group, params(1), 4).expect("tags");
    assert_eq!((group.shares()[0].hashes, group.shares()[0].failed.clone()), (8, None));
    let name = "--engine wgpu".to_owned();
    let left =
        EngineEvent::MemberLeft { member: name.clone(), reason: "the system refuses: lost".to_owned() };
    assert_eq!(*events.lock().expect("no panic"), [left, EngineEvent::Readmitted { engine: name }]);
    // The second failure in a row: a longer quarantine, and the self-test fails.
    batches_left.store(0, Ordering::Relaxed);
    compute(&group, params(1), 4).expect_err("lost");
    seconds.store(179, Ordering::Relaxed);
    compute(&group, params(1), 4).expect_err("in quarantine");
    seconds.store(180, Ordering::Relaxed);
    compute(&group, params(1), 4).expect_err("the self-test fails");
    batches_left.store(usize::MAX, Ordering::Relaxed);
    seconds.store(180 + 239, Ordering::Relaxed);
    compute(&group, params(1), 4).expect_err("in quarantine");
    seconds.store(180 + 240, Ordering::Relaxed);
    compute(&group, params(1), 4).expect("tags");
}

#[test]
fn a_member_that_computes_wrong_tags_is_found_by_the_self_test() {
    let is_faulty = Arc::new(AtomicUsize::new(0));
    let (mut device, _) = factory(None, usize::MAX);
    device.is_faulty = Arc::clone(&is_faulty);
    let group = group(device, true);
    compute(&group, params(1), 40).expect("tags");
    is_faulty.store(1, Ordering::Relaxed);
    assert!(group.report_wrong_result().to_string().ends_with("request one engine alone"));
    let before = group.shares()[1].hashes;
    compute(&group, params(1), 40).expect("the CPU passes its self-test");
    assert_eq!(group.shares()[1].hashes, before);
    assert!(group.shares()[1].failed.as_ref().is_some_and(|why| why.contains("wrong digests")));
    assert_eq!(group.shares()[0].failed, None);
}

#[test]
fn a_stop_ends_the_batch_and_quarantines_nothing() {
    let (device, _) = factory(None, usize::MAX);
    let group = group(device, true);
    let stop = Stop::new();
    stop.set();
    let mut tag = [0; 32];
    let mut jobs = [Job { input: Input::new(b"p", b"eight or more"), tag: &mut tag }];
    let failure = group.compute(params(1), &mut jobs, &stop).expect_err("stopped");
    assert!(failure.is_stop() && group.shares().iter().all(|share| share.failed.is_none()));
    compute(&group, params(1), 9).expect("tags");
}
