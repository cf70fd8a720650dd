//! `--engine cpu,cuda`: several engines share a list of hashes, in one budget of memory.

use super::device::Device;
use super::{Asked, Computer, Share};
use crate::flags::{EngineFlags, EngineName, Misuse};
use crate::kept::Tuned;
use crate::{kept, out};
use anyhow::{Result, bail};
use hashmill_gpu::Budget;
use hashmill_hash::argon2::{Batches, Job, PagePolicy, Params, Plan, Stop};
use hashmill_hash::engine::{BatchEngine, EngineError, Together};
use hashmill_machine as machine;
use std::cell::RefCell;

/// Several engines, with memory for the parameters that came last.
pub(super) struct Several {
    /// What asked for them.
    flags: String,
    members: RefCell<Vec<Member>>,
    last: RefCell<Option<Made>>,
}

/// One of them, as long as the program runs.
struct Member {
    /// What asked for it.
    flags: String,
    source: Box<dyn Source>,
    /// How many it has computed.
    hashes: u64,
    /// Why it had no part, the first time; somebody was told.
    why: Option<String>,
    /// It is asked no more.
    is_lost: bool,
}

/// Where engines for hashes of whatever costs come from.
trait Source {
    /// Its engine, and its device.
    fn names(&self) -> (&'static str, Option<&str>);

    /// Whether it is the processor: its rate is kept beside what devices were measured to have.
    fn is_processor(&self) -> bool {
        false
    }

    /// Whether its memory is the host's.
    fn is_of_host(&self) -> bool {
        self.is_processor()
    }

    /// An engine for at most so many of these hashes, in what the budget has; none where that is nothing.
    fn engine(&self, params: Params, most: usize, budget: &mut Budget) -> Result<Option<Engine>, String>;

    /// An engine for one at a time, whatever the budget has, for where there is no other. None of a device, which knows its memory itself.
    fn beyond(&self, _: Params) -> Result<Option<Engine>, String> {
        Ok(None)
    }

    /// What `hashmill tune` has measured of it.
    fn measured(&self, params: Params) -> Option<&Tuned>;
}

type Engine = Box<dyn BatchEngine>;

/// All threads of the processor.
struct Processor {
    plan: Plan,
}

/// A device, with what was measured of it.
struct Card {
    device: Device,
    kept: Vec<Tuned>,
}

impl Processor {
    /// An engine of so many threads; none of none.
    fn hashing(&self, params: Params, threads: usize) -> Result<Option<Engine>, String> {
        if threads == 0 {
            return Ok(None);
        }
        let batches = Batches::new(params, self.plan, PagePolicy::default(), threads);
        batches.map(|batches| Some(Box::new(batches) as Engine)).map_err(|error| error.to_string())
    }
}

impl Source for Processor {
    fn names(&self) -> (&'static str, Option<&str>) {
        (EngineName::Cpu.name(), None)
    }

    fn is_processor(&self) -> bool {
        true
    }

    fn engine(&self, params: Params, most: usize, budget: &mut Budget) -> Result<Option<Engine>, String> {
        self.hashing(params, budget.processor(params, machine::threads().min(most)))
    }

    /// Whoever asks has found that one fits into what is free.
    fn beyond(&self, params: Params) -> Result<Option<Engine>, String> {
        self.hashing(params, 1)
    }

    fn measured(&self, _: Params) -> Option<&Tuned> {
        None
    }
}

impl Source for Card {
    fn names(&self) -> (&'static str, Option<&str>) {
        (self.device.engine(), Some(&self.device.info().name))
    }

    fn is_of_host(&self) -> bool {
        self.device.is_of_host()
    }

    fn engine(&self, params: Params, most: usize, budget: &mut Budget) -> Result<Option<Engine>, String> {
        match budget.device(self.device.info(), params, most) {
            0 => Ok(None),
            most => match self.device.argon2(params, most, self.measured(params)) {
                Ok(argon2) => Ok(Some(argon2.engine())),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    fn measured(&self, params: Params) -> Option<&Tuned> {
        self.kept.iter().find(|tuned| tuned.has_costs(params))
    }
}

/// Engines for hashes of these costs.
struct Made {
    params: Params,
    /// For at most so many at a time.
    most: usize,
    /// Whose engines these are.
    members: Vec<usize>,
    engines: Together<dyn BatchEngine>,
}

impl Several {
    /// Those that flags ask for, each with one device at most.
    ///
    /// # Errors
    /// [`Misuse`] where one of them is not there.
    pub(super) fn open(flags: String, each: &[EngineFlags]) -> Result<Several> {
        let mut sources: Vec<(String, Box<dyn Source>)> = Vec::new();
        let mut devices: Vec<Device> = Vec::new();
        let kept = kept::find().kept();
        for flags in each {
            if !flags.is_device() {
                // It wants the least memory, and has it first.
                sources.insert(0, (flags.to_string(), Box::new(Processor { plan: kept.argon2() })));
                continue;
            }
            let device = Device::open(flags)?;
            let is_it =
                |other: &Device| other.engine() == device.engine() && other.info().is_same(device.info());
            if devices.iter().any(is_it) {
                bail!(Misuse(format!("{flags}: the same device twice")));
            }
            devices.push(device.clone());
            let kept = device.kept(&kept.devices);
            sources.push((flags.to_string(), Box::new(Card { device, kept })));
        }
        Ok(Several::of(flags, sources))
    }

    fn of(flags: String, sources: Vec<(String, Box<dyn Source>)>) -> Several {
        let member = |(flags, source)| Member { flags, source, hashes: 0, why: None, is_lost: false };
        Several {
            flags,
            members: RefCell::new(sources.into_iter().map(member).collect()),
            last: RefCell::default(),
        }
    }

    /// Engines of all that have not failed, for at most so many hashes in this budget.
    fn made(&self, params: Params, most: usize, budget: &mut Budget) -> Result<Made, String> {
        let mut members = self.members.borrow_mut();
        let (mut found, mut without) = (Vec::new(), Vec::new());
        for (number, member) in members.iter().enumerate().filter(|(_, member)| !member.is_lost) {
            match member.source.engine(params, most, budget) {
                Ok(Some(engine)) => found.push((number, engine)),
                Ok(None) => without.push((number, "no memory is left for such a hash".to_owned())),
                Err(why) => without.push((number, why)),
            }
        }
        if found.is_empty() {
            without.retain_mut(|(number, why)| match members[*number].source.beyond(params) {
                Ok(Some(engine)) => {
                    found.push((*number, engine));
                    false
                }
                Ok(None) => true,
                Err(error) => {
                    *why = error;
                    true
                }
            });
        }
        without.iter().for_each(|(number, why)| members[*number].say(why));
        // Whoever takes part now has not failed, whatever it lacked before.
        found.iter().for_each(|(number, _)| members[*number].why = None);
        let (numbers, engines): (Vec<usize>, Vec<Engine>) = found.into_iter().unzip();
        let kept = numbers.iter().map(|number| &members[*number].source);
        let kept: Vec<_> =
            kept.map(|source| (source.is_processor(), source.measured(params).cloned())).collect();
        let rates = expected(&kept);
        let engines =
            Together::hashing(engines).map_err(|_| self.words("none of these can compute such a hash"))?;
        Ok(Made { params, most, members: numbers, engines: engines.expecting(rates) })
    }

    /// Does this with engines for at most so many hashes.
    fn with<T>(&self, params: Params, most: usize, work: impl FnOnce(&mut Made) -> T) -> Result<T, String> {
        let mut last = self.last.borrow_mut();
        let kept = last.take().filter(|made| made.params == params && made.most >= most);
        let made = match kept {
            Some(made) => made,
            None => {
                // Half of what is free is left to whoever else there is.
                let half = machine::free_kib().map_or(u64::MAX, |free| free / 2 * 1024);
                self.made(params, most, &mut Budget::new(half))?
            }
        };
        Ok(work(last.insert(made)))
    }

    fn try_compute(&self, made: &mut Made, jobs: &mut [Job<'_>]) -> Result<(), EngineError> {
        let before: Vec<u64> = made.engines.shares().map(|share| share.done).collect();
        let done = made.engines.hash(jobs, &Stop::new());
        let mut members = self.members.borrow_mut();
        for ((share, before), number) in made.engines.shares().zip(before).zip(&made.members) {
            let member = &mut members[*number];
            member.hashes += share.done - before;
            if let Some(error) = share.failed.filter(|_| !member.is_lost) {
                member.is_lost = true;
                // Also of one that had no part in hashes of other costs.
                member.why = None;
                member.say(&error.to_string());
            }
        }
        done.map(drop)
    }

    fn words(&self, why: &str) -> String {
        format!("{}: {why}", self.flags)
    }
}

/// What each does in a second, as far as somebody has measured it. The processor, of which nothing is kept, was measured beside devices.
fn expected(kept: &[(bool, Option<Tuned>)]) -> Vec<Option<f64>> {
    let of_processor = kept.iter().find_map(|(_, tuned)| Some(tuned.as_ref()?.of_processor));
    let rate = |(is_processor, tuned): &(bool, Option<Tuned>)| match tuned {
        None if *is_processor => of_processor,
        tuned => Some(tuned.as_ref()?.hashes_per_second),
    };
    kept.iter().map(rate).collect()
}

impl Member {
    /// Tells once that the others have its part.
    fn say(&mut self, why: &str) {
        if self.why.is_none() {
            self.why = Some(why.to_owned());
            out::remark(&format!("take note: {}: {why}; its part is for the others", self.flags));
        }
    }
}

/// Whoever asked for several gets their answers, and no others.
impl Computer for Several {
    fn takes(&self, _: Params, _: usize) -> bool {
        true
    }

    fn compute(&self, params: Params, jobs: &mut [Job<'_>]) -> Result<(), String> {
        let left = || self.members.borrow().iter().filter(|member| !member.is_lost).count();
        loop {
            let before = left();
            let done = self.with(params, jobs.len(), |made| self.try_compute(made, jobs))?;
            let Err(error) = done else { return Ok(()) };
            self.last.take();
            // All that had a part are lost, but not the processor where it had none for want of memory.
            if !(1..before).contains(&left()) {
                return Err(self.words(&error.to_string()));
            }
        }
    }

    fn give_back(&self) {
        let members = self.members.borrow();
        self.last.replace_with(|last| {
            let of_host =
                |made: &Made| made.members.iter().any(|member| members[*member].source.is_of_host());
            last.take().filter(|made| !of_host(made))
        });
    }

    fn wrong(&self) -> String {
        self.words("one of these gives wrong digests: name one alone")
    }

    fn yields(&self, _: &str) -> bool {
        false
    }

    fn shares(&self) -> Vec<Share> {
        let share = |Member { source, hashes, why, .. }: &Member| {
            let (engine, device) = source.names();
            Share { engine, device: device.map(str::to_owned), hashes: *hashes, failed: why.clone() }
        };
        self.members.borrow().iter().map(share).collect()
    }
}

impl Asked for Several {
    fn width(&self, params: Params, most: usize) -> Result<usize, String> {
        self.with(params, most, |made| made.engines.limits().width.min(most))
    }

    fn names(&self) -> (String, String) {
        let members = self.members.borrow();
        let (engines, devices): (Vec<_>, Vec<_>) = members.iter().map(|member| member.source.names()).unzip();
        let devices: Vec<_> = devices.into_iter().flatten().collect();
        (engines.join(","), devices.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::argon2::{Hasher, Input};
    use hashmill_hash::engine::BatchLimits;
    use std::rc::Rc;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// An engine that computes so many lists, of all that are made of one source, and is then lost.
    struct Toy {
        lists: Arc<AtomicUsize>,
        most: usize,
        hasher: Hasher,
    }

    impl BatchEngine for Toy {
        fn name(&self) -> &str {
            "toy"
        }

        fn limits(&self) -> BatchLimits {
            BatchLimits::new(self.most, 0, Duration::ZERO)
        }

        fn hash(&mut self, jobs: &mut [Job<'_>], _: &Stop) -> Result<usize, EngineError> {
            let taken =
                self.lists.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            taken.map_err(|_| EngineError::System { reason: "lost".to_owned() })?;
            for job in &mut *jobs {
                self.hasher.hash_into(&job.input, job.tag).expect("good inputs");
            }
            Ok(jobs.len())
        }
    }

    /// Where a [`Toy`] comes from, unless it says why not; how often it was asked.
    struct Origin {
        refuses: Option<&'static str>,
        lists: Arc<AtomicUsize>,
        asked: Rc<RefCell<Vec<usize>>>,
    }

    impl Source for Origin {
        fn names(&self) -> (&'static str, Option<&str>) {
            ("wgpu", Some("a toy"))
        }

        fn engine(&self, params: Params, most: usize, _: &mut Budget) -> Result<Option<Engine>, String> {
            self.asked.borrow_mut().push(most);
            let toy = || Toy { lists: Arc::clone(&self.lists), most: 4, hasher: Hasher::new(params) };
            match self.refuses {
                None => Ok(Some(Box::new(toy()))),
                Some("") => Ok(None),
                Some(why) => Err(why.to_owned()),
            }
        }

        fn measured(&self, _: Params) -> Option<&Tuned> {
            None
        }
    }

    fn from(refuses: Option<&'static str>, lists: usize) -> (Origin, Rc<RefCell<Vec<usize>>>) {
        let asked = Rc::default();
        (Origin { refuses, lists: Arc::new(AtomicUsize::new(lists)), asked: Rc::clone(&asked) }, asked)
    }

    fn several(toy: Origin, with_processor: bool) -> Several {
        let mut sources: Vec<(String, Box<dyn Source>)> = vec![("--engine wgpu".to_owned(), Box::new(toy))];
        if with_processor {
            sources.insert(0, ("--engine cpu".to_owned(), Box::new(Processor { plan: Plan::host() })));
        }
        Several::of("--engine cpu,wgpu".to_owned(), sources)
    }

    /// Tags of so many hashes, each of which is right.
    fn compute(several: &Several, params: Params, count: usize) -> Result<(), String> {
        let salts: Vec<_> = (0..count as u64).map(u64::to_le_bytes).collect();
        let mut tags = vec![[0; 32]; count];
        let jobs = salts.iter().zip(&mut tags).map(|(salt, tag)| Job { input: Input::new(b"p", salt), tag });
        several.compute(params, &mut jobs.collect::<Vec<_>>())?;
        for (salt, tag) in salts.iter().zip(&tags) {
            assert_eq!(Hasher::new(params).hash::<32>(&Input::new(b"p", salt)), Ok(*tag));
        }
        Ok(())
    }

    fn params(passes: u32) -> Params {
        Params::new(16, passes, 1).expect("good costs")
    }

    #[test]
    fn all_share_a_list_and_say_how_much_each_has_had() {
        let (toy, asked) = from(None, usize::MAX);
        let several = several(toy, true);
        assert_eq!(several.width(params(1), 1), Ok(1));
        for count in [3, 100, 40] {
            compute(&several, params(1), count).expect("tags");
        }
        let shares = several.shares();
        assert_eq!(shares.iter().map(|share| share.hashes).sum::<u64>(), 143);
        assert_eq!((shares[0].engine, &shares[0].device), ("cpu", &None));
        assert_eq!((shares[1].engine, shares[1].device.as_deref()), ("wgpu", Some("a toy")));
        assert!(shares.iter().all(|share| share.failed.is_none()));
        assert_eq!(several.names(), ("cpu,wgpu".to_owned(), "a toy".to_owned()));
        assert_eq!(asked.borrow()[..], [1, 3, 100], "what there is is enough for fewer");
    }

    #[test]
    fn one_that_is_lost_leaves_its_part_to_the_others_and_is_asked_no_more() {
        let (toy, asked) = from(None, 1);
        let several = several(toy, true);
        let failed = || several.shares()[1].failed.clone();
        // The processor may have done everything before.
        let is_lost = (0..1000).any(|_| {
            compute(&several, params(1), 50).expect("tags");
            failed().is_some()
        });
        assert!(is_lost, "it is asked twice");
        let before = several.shares()[1].hashes;
        compute(&several, params(2), 50).expect("tags");
        assert!(failed().is_some_and(|why| why.contains("lost")));
        assert_eq!((asked.borrow().len(), several.shares()[1].hashes), (1, before));
    }

    #[test]
    fn one_without_memory_or_unfit_has_no_part_in_these_costs_alone() {
        for refuses in ["", "unfit"] {
            let (toy, asked) = from(Some(refuses), usize::MAX);
            let several = several(toy, true);
            for passes in [1, 2] {
                compute(&several, params(passes), 9).expect("tags");
            }
            assert_eq!((several.shares()[0].hashes, several.shares()[1].hashes), (18, 0));
            assert!(several.shares()[1].failed.is_some() && asked.borrow().len() == 2);
        }
    }

    /// One hash, of which the budget has none, by engines that are made for it.
    fn beyond_the_budget(several: &Several) -> Result<(), String> {
        let made = several.made(params(1), 1, &mut Budget::new(0))?;
        several.last.replace(Some(made));
        compute(several, params(1), 1)
    }

    #[test]
    fn what_is_beyond_the_budget_is_the_processors_only_where_nobody_else_has_it() {
        let hashes =
            |several: &Several| several.shares().iter().map(|share| share.hashes).collect::<Vec<_>>();
        let both = several(from(None, usize::MAX).0, true);
        beyond_the_budget(&both).expect("a tag");
        assert_eq!(hashes(&both), [0, 1]);
        assert_eq!(both.shares()[0].failed.as_deref(), Some("no memory is left for such a hash"));
        for refuses in ["", "unfit"] {
            let processor = several(from(Some(refuses), usize::MAX).0, true);
            beyond_the_budget(&processor).expect("a tag");
            assert_eq!(hashes(&processor), [1, 0]);
            assert_eq!(processor.shares()[0].failed, None);
        }
        let neither = several(from(Some(""), usize::MAX).0, false);
        let words = beyond_the_budget(&neither).expect_err("no memory");
        assert!(words.ends_with("none of these can compute such a hash"), "{words}");
        // Lost with the hash: it is done all the same.
        let lost = several(from(None, 0).0, true);
        beyond_the_budget(&lost).expect("a tag");
        assert_eq!(hashes(&lost), [1, 0]);
        assert_eq!(lost.shares()[0].failed, None, "it has done all of it");
        assert!(lost.shares()[1].failed.is_some());
    }

    #[test]
    fn one_that_was_unfit_and_is_then_lost_is_said_to_be_lost() {
        let several = several(from(None, 0).0, false);
        several.members.borrow_mut()[0].say("unfit");
        compute(&several, params(1), 1).expect_err("lost");
        assert_eq!(several.shares()[0].failed.as_deref(), Some("the system refuses: lost"));
    }

    #[test]
    fn where_all_have_failed_there_is_no_answer() {
        let alone = several(from(None, 1).0, false);
        compute(&alone, params(1), 2).expect("one list");
        for said in ["--engine cpu,wgpu: the system refuses: lost", "--engine cpu,wgpu: none of these can"] {
            let words = compute(&alone, params(2), 2).expect_err("lost");
            assert!(words.starts_with(said), "{words}");
            let words = compute(&alone, params(1), 2).expect_err("lost");
            assert!(words.starts_with("--engine cpu,wgpu: none of these can"), "{words}");
        }
    }

    #[test]
    fn the_processor_was_measured_beside_a_device() {
        let tuned = |hashes_per_second| Tuned {
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
        let (processor, card) = ((true, None), (false, None));
        let all = [processor.clone(), (false, Some(tuned(9.0))), card.clone()];
        assert_eq!(expected(&all), [Some(7.0), Some(9.0), None]);
        assert_eq!(expected(&[processor, card]), [None, None]);
    }
}
