//! Engines that do as they are told, together: everything once, whoever fails, and whoever stops.

use super::*;
use crate::argon2::Input;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an engine does in its call of this number.
type Does = fn(u64) -> Result<(), EngineError>;

/// The digest of a nonce, and the tag of a job, is the number of whoever made it.
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

/// Takes so long that whoever is kept from its work for a moment is worth asking again.
fn unhurried(_: u64) -> Result<(), EngineError> {
    thread::sleep(Duration::from_millis(1));
    Ok(())
}

fn gone() -> EngineError {
    EngineError::System { reason: "gone".to_owned() }
}

impl NonceEngine for Toy {
    fn name(&self) -> &str {
        self.name
    }

    fn limits(&self) -> NonceLimits {
        NonceLimits::new(self.batch as usize, 100 * self.batch, Duration::from_millis(self.batch))
    }

    fn search(
        &mut self,
        _: &NonceJob<'_>,
        nonces: Range<u64>,
        watch: &Watch,
        hit: &(dyn Fn(Hit) + Sync),
    ) -> Result<Searched, EngineError> {
        self.calls += 1;
        for (nonce, number) in nonces.clone().zip(0..) {
            if watch.stop().is_set() {
                return Ok(Searched::new(number, nonce));
            }
            // An engine fails when it has told half of what it has.
            if 2 * number + 1 >= nonces.end - nonces.start {
                (self.does)(self.calls)?;
            }
            watch.count(1);
            hit(Hit::new(nonce, [1; 32]));
        }
        Ok(Searched::new(nonces.end - nonces.start, nonces.end))
    }
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

fn searching(toys: Vec<Toy>) -> Together<dyn NonceEngine> {
    let engines = toys.into_iter().map(|toy| Box::new(toy) as Box<dyn NonceEngine>);
    Together::searching(engines.collect()).unwrap()
}

fn hashing(toys: Vec<Toy>) -> Together<dyn BatchEngine> {
    let engines = toys.into_iter().map(|toy| Box::new(toy) as Box<dyn BatchEngine>);
    Together::hashing(engines.collect()).unwrap()
}

/// Those that fell out.
fn failed<E: ?Sized + Send>(engine: &Together<E>) -> Vec<&str> {
    engine.shares().filter(|share| share.failed.is_some()).map(|share| share.name).collect()
}

/// What they find, each nonce once.
fn found(
    engine: &mut Together<dyn NonceEngine>,
    nonces: Range<u64>,
    watch: &Watch,
) -> Result<(Searched, Vec<u64>), EngineError> {
    let hits = Mutex::new(Vec::new());
    let searched = engine.search(&NonceJob::new(b"", [0xff; 32]), nonces, watch, &|hit| {
        hits.lock().unwrap().push(hit.nonce);
    })?;
    let mut hits = hits.into_inner().unwrap();
    hits.sort_unstable();
    Ok((searched, hits))
}

#[test]
fn every_nonce_is_tried_once_by_all_engines_together() {
    let mut engine = searching(vec![toy("a", 7, well), toy("b", 3, well), toy("c", 1, well)]);
    assert_eq!(NonceEngine::name(&engine), "a and b and c");
    let right = NonceLimits::new(11, 1100, Duration::from_millis(7));
    assert_eq!(NonceEngine::limits(&engine), right);
    for nonces in [0..0, 5..6, 10..300, u64::MAX - 40..u64::MAX] {
        let watch = Watch::new();
        let (searched, hits) = found(&mut engine, nonces.clone(), &watch).unwrap();
        let count = nonces.end - nonces.start;
        assert_eq!((searched, watch.hashes()), (Searched::new(count, nonces.end), count));
        assert!(hits.into_iter().eq(nonces));
    }
    let empty = Range { start: 9, end: 3 };
    assert_eq!(found(&mut engine, empty, &Watch::new()), Ok((Searched::new(0, 9), vec![])));
    assert!(failed(&engine).is_empty() && Together::searching(Vec::new()).is_err());
    assert_eq!(engine.shares().map(|share| share.done).sum::<u64>(), 1 + 290 + 40, "whoever had them");
    assert!(format!("{engine:?}").contains("a and b"));
}

#[test]
fn where_one_fails_others_do_its_part_and_nobody_hears_of_a_nonce_twice() {
    let broken: Does = |calls| if calls < 2 { Ok(()) } else { Err(gone()) };
    let mut engine = searching(vec![toy("broken", 5, broken), toy("whole", 5, unhurried)]);
    // The one that works may have done everything before.
    let mut searches = (0..1000).map(|_| {
        let found = found(&mut engine, 0..1000, &Watch::new()).unwrap();
        (found, !failed(&engine).is_empty())
    });
    let ((searched, hits), _) = searches.find(|(_, has_failed)| *has_failed).expect("it is asked twice");
    assert!(hits.into_iter().eq(0..1000));
    assert_eq!(searched.next, 1000);
    let shares: Vec<_> = engine.shares().collect();
    assert_eq!(shares.iter().map(|share| share.name).collect::<Vec<_>>(), ["broken", "whole"]);
    assert_eq!([shares[0].failed, shares[1].failed], [Some(&gone()), None]);
    assert!(shares[0].done < 1000 && (shares[0].done + shares[1].done).is_multiple_of(1000), "{shares:?}");
    assert_eq!(NonceEngine::limits(&engine).in_flight, 5, "what is left");
    // The last one fails, too.
    let mut engine = searching(vec![toy("a", 5, |_| Err(gone())), toy("b", 5, |_| Err(gone()))]);
    for _ in 0..2 {
        assert_eq!(found(&mut engine, 0..1000, &Watch::new()), Err(gone()));
    }
    assert_eq!(failed(&engine), ["a", "b"]);
}

#[test]
fn what_every_engine_would_refuse_is_refused_and_costs_none() {
    let refuses: Does = |_| Err(EngineError::Forked);
    let mut engine = searching(vec![toy("a", 5, refuses), toy("b", 5, refuses)]);
    assert_eq!(found(&mut engine, 0..1000, &Watch::new()), Err(EngineError::Forked));
    assert!(failed(&engine).is_empty());
}

#[test]
fn a_search_that_is_stopped_can_go_on_where_it_was() {
    let mut engine = searching(vec![toy("a", 4, well), toy("b", 9, well)]);
    let (watch, seen) = (Watch::new(), AtomicU64::new(0));
    let job = NonceJob::new(b"", [0xff; 32]);
    let stop = |_: Hit| {
        if seen.fetch_add(1, Ordering::Relaxed) == 500 {
            watch.stop().set();
        }
    };
    let searched = engine.search(&job, 0..u64::MAX, &watch, &stop).unwrap();
    assert!(searched.hashes >= 500 && searched.hashes == watch.hashes(), "{searched:?}");
    assert!(searched.next <= searched.hashes, "{searched:?}");
    assert_eq!(engine.search(&job, 3..9, &watch, &|_| ()), Ok(Searched::new(0, 3)));
    // An engine that ends early though nobody asked is not believed.
    struct Early;
    impl NonceEngine for Early {
        fn name(&self) -> &str {
            "early"
        }
        fn limits(&self) -> NonceLimits {
            NonceLimits::new(1, 0, Duration::ZERO)
        }
        fn search(
            &mut self,
            _: &NonceJob<'_>,
            nonces: Range<u64>,
            _: &Watch,
            _: &(dyn Fn(Hit) + Sync),
        ) -> Result<Searched, EngineError> {
            Ok(Searched::new(0, nonces.start))
        }
    }
    let mut engine = Together::searching(vec![Box::new(Early)]).unwrap();
    assert_eq!(found(&mut engine, 0..9, &Watch::new()), Err(early()));
}

#[test]
fn a_panic_comes_out_and_leaves_nobody_at_work() {
    let mut engine = searching(vec![toy("a", 4, well), toy("b", 9, well)]);
    let watch = Watch::new();
    let searched = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let panics = |hit: Hit| assert!(hit.nonce < 200, "as a test wants it");
        engine.search(&NonceJob::new(b"", [0xff; 32]), 0..u64::MAX, &watch, &panics)
    }));
    assert!(searched.is_err() && watch.stop().is_set());
}

#[test]
fn every_job_has_its_tag_whoever_fails() {
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
