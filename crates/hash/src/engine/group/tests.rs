//! Toy engines together: every job is done exactly once, also after failures and stops.

use super::*;
use crate::argon2::Input;

/// Behaviour of an engine in its call with this number.
type Does = fn(u64) -> Result<(), EngineError>;

/// An engine whose digests and tags are all ones.
struct Toy {
    name: &'static str,
    batch: u64,
    calls: u64,
    does: Does,
}

fn toy(name: &'static str, batch: u64, does: Does) -> Toy {
    Toy { name, batch, calls: 0, does }
}

fn well(_: u64) -> Result<(), EngineError> {
    Ok(())
}

/// Slow enough that an engine delayed for a moment is worth a retry.
fn unhurried(_: u64) -> Result<(), EngineError> {
    thread::sleep(Duration::from_millis(1));
    Ok(())
}

fn gone() -> EngineError {
    EngineError::System { reason: "gone".to_owned() }
}

impl BatchEngine for Toy {
    fn name(&self) -> &str {
        self.name
    }

    fn limits(&self) -> BatchLimits {
        BatchLimits::new(self.batch as usize, 100 * self.batch, Duration::from_millis(self.batch))
    }

    fn hash(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<usize, EngineError> {
        self.calls += 1;
        let count = jobs.len();
        for (number, job) in jobs.iter_mut().enumerate() {
            if stop.is_set() {
                return Ok(number);
            }
            if 2 * number + 1 >= count {
                (self.does)(self.calls)?;
            }
            job.tag.fill(1);
        }
        Ok(count)
    }
}

fn hashing(toys: Vec<Toy>) -> EngineGroup {
    let engines = toys.into_iter().map(|toy| Box::new(toy) as Box<dyn BatchEngine>);
    EngineGroup::hashing(engines.collect()).unwrap()
}

/// The engines that failed.
fn failed(engine: &EngineGroup) -> Vec<&str> {
    engine.shares().filter(|share| share.failed.is_some()).map(|share| share.name).collect()
}

/// Hashes `count` inputs, and returns the number of tags and the result.
fn hashed(engine: &mut EngineGroup, count: usize, stop: &Stop) -> (usize, Result<usize, EngineError>) {
    let mut tags = vec![[0; 4]; count];
    let mut jobs: Vec<_> = tags.iter_mut().map(|tag| Job { input: Input::default(), tag }).collect();
    let result = engine.hash(&mut jobs, stop);
    (tags.iter().filter(|tag| **tag == [1; 4]).count(), result)
}

#[test]
fn every_job_is_done_once_by_all_engines_together() {
    let mut engine = hashing(vec![toy("a", 7, well), toy("b", 3, well), toy("c", 1, well)]);
    assert_eq!(engine.name(), "a and b and c");
    assert_eq!(engine.limits(), BatchLimits::new(11, 1100, Duration::from_millis(7)));
    for count in [0, 1, 290, 40] {
        assert_eq!(hashed(&mut engine, count, &Stop::new()), (count, Ok(count)));
    }
    assert!(failed(&engine).is_empty() && EngineGroup::hashing(Vec::new()).is_err());
    assert_eq!(engine.shares().map(|share| share.done).sum::<u64>(), 1 + 290 + 40, "by whichever engine");
    assert!(format!("{engine:?}").contains("a and b"));
}

#[test]
fn failed_engine_is_replaced() {
    let broken: Does = |calls| if calls < 2 { Ok(()) } else { Err(gone()) };
    let mut engine = hashing(vec![toy("broken", 5, broken), toy("whole", 5, unhurried)]);
    // The working engine may have done everything before.
    let mut lists = (0..1000).map(|_| {
        let done = hashed(&mut engine, 1000, &Stop::new());
        (done, !failed(&engine).is_empty())
    });
    let (done, _) = lists.find(|(_, has_failed)| *has_failed).expect("it gets a second part");
    assert_eq!(done, (1000, Ok(1000)));
    let shares: Vec<_> = engine.shares().collect();
    assert_eq!(shares.iter().map(|share| share.name).collect::<Vec<_>>(), ["broken", "whole"]);
    assert_eq!([shares[0].failed, shares[1].failed], [Some(&gone()), None]);
    assert!(shares[0].done < 1000 && (shares[0].done + shares[1].done).is_multiple_of(1000), "{shares:?}");
    assert_eq!(engine.limits().width, 5, "the limits of the remaining engine");
    // Now the last one fails, too.
    let mut engine = hashing(vec![toy("a", 5, |_| Err(gone())), toy("b", 5, |_| Err(gone()))]);
    for _ in 0..2 {
        assert_eq!(hashed(&mut engine, 1000, &Stop::new()).1, Err(gone()));
    }
    assert_eq!(failed(&engine), ["a", "b"]);
}

#[test]
fn invalid_jobs_do_not_disable_engines() {
    let refuses: Does = |_| Err(EngineError::Forked);
    let mut engine = hashing(vec![toy("a", 5, refuses), toy("b", 5, refuses)]);
    assert_eq!(hashed(&mut engine, 1000, &Stop::new()).1, Err(EngineError::Forked));
    assert!(failed(&engine).is_empty());
}

#[test]
fn an_engine_that_ends_early_is_an_error() {
    struct Early;
    impl BatchEngine for Early {
        fn name(&self) -> &str {
            "early"
        }
        fn limits(&self) -> BatchLimits {
            BatchLimits::new(1, 0, Duration::ZERO)
        }
        fn hash(&mut self, _: &mut [Job<'_>], _: &Stop) -> Result<usize, EngineError> {
            Ok(0)
        }
    }
    let mut engine = EngineGroup::hashing(vec![Box::new(Early)]).unwrap();
    assert_eq!(hashed(&mut engine, 9, &Stop::new()).1, Err(EngineError::ended_early()));
}

#[test]
fn a_panic_is_passed_on_and_stops_all_engines() {
    let panics: Does = |calls| {
        assert!(calls < 3, "as a test wants it");
        Ok(())
    };
    let mut engine = hashing(vec![toy("a", 4, panics), toy("b", 9, panics)]);
    let stop = Stop::new();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| hashed(&mut engine, 1000, &stop)));
    assert!(ended.is_err() && stop.is_set());
}

#[test]
fn every_job_has_its_tag_whichever_engine_fails() {
    let broken: Does = |calls| if calls < 2 { Ok(()) } else { Err(gone()) };
    let mut engine = hashing(vec![toy("broken", 3, broken), toy("whole", 2, well)]);
    assert_eq!(BatchEngine::limits(&engine), BatchLimits::new(5, 500, Duration::from_millis(3)));
    for count in [0, 1, 5, 200] {
        let mut tags = vec![[0; 4]; count];
        let mut jobs: Vec<_> = tags.iter_mut().map(|tag| Job { input: Input::default(), tag }).collect();
        assert_eq!(engine.hash(&mut jobs, &Stop::new()), Ok(count));
        assert_eq!(tags, vec![[1; 4]; count]);
    }
    let (mut tag, stop) = ([0; 4], Stop::new());
    stop.set();
    assert_eq!(engine.hash(&mut [Job { input: Input::default(), tag: &mut tag }], &stop), Ok(0));
    assert_eq!(tag, [0; 4]);
    let mut engine = hashing(vec![toy("a", 3, |_| Err(gone()))]);
    assert_eq!(engine.hash(&mut [Job { input: Input::default(), tag: &mut tag }], &Stop::new()), Err(gone()));
    assert_eq!(BatchEngine::name(&engine), "a");
}
