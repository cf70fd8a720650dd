//! Work of the processor around that of a device, by a device that is the processor.

use super::*;

#[test]
fn threads_do_everything_once_and_name_the_first_error() {
    for count in [0, 1, AT_A_TIME, AT_A_TIME + 1, 10 * AT_A_TIME + 3] {
        let mut all = vec![0; count];
        let add = |number: usize, one: &mut usize| {
            *one += number + 1;
            Ok(())
        };
        assert_eq!(by_threads(&mut all, AT_A_TIME, add), Ok(()));
        assert!(all.iter().copied().eq(1..=count), "{count}");
    }
    let wrong = |number: usize, _: &mut usize| match number {
        70 | 500 => Err(Error::OutOfMemory { bytes: number as u64 }),
        _ => Ok(()),
    };
    assert_eq!(by_threads(&mut [0; 640], AT_A_TIME, wrong), Err(Error::OutOfMemory { bytes: 70 }));
    let (params, stop) = (Params::new(8, 1, 1).unwrap(), Stop::new());
    stop.set();
    let stopped = first_blocks(params, 1, &stop, |_, _| panic!("nothing is made"));
    assert_eq!(stopped.map(|_| ()), Err(Error::Hash(HashError::Stopped)));
}

#[test]
fn memory_that_could_not_be_wiped_is_an_error_also_after_a_stop() {
    let refused = || Error::Driver { reason: "no".to_owned() };
    let stopped = || Err::<(), _>(Error::Hash(HashError::Stopped));
    assert_eq!(after(stopped(), Err(refused())), Err(refused()));
    assert_eq!(after(Ok(()), Err(refused())), Err(refused()));
    assert_eq!(after(Err(Error::Lost), Err(refused())), Err::<(), _>(Error::Lost), "the first mistake");
    assert_eq!(after(stopped(), Ok(())), stopped());
    assert_eq!(after(Ok(1), Ok(())), Ok(1));
}

#[test]
fn where_memory_is_refused_there_are_fewer_rooms_or_a_smaller_one() {
    let with_memory_for = |memory: u32, asked: &mut Vec<u32>| {
        let mut left = memory;
        backing_off(&[20, 20, 5], |hashes| {
            asked.push(hashes);
            left = left.checked_sub(hashes).ok_or(Error::OutOfMemory { bytes: u64::from(hashes) })?;
            Ok(hashes)
        })
    };
    for (memory, rooms, right) in [
        (45, Ok(vec![20, 20, 5]), vec![20, 20, 5]),
        (44, Ok(vec![20, 20]), vec![20, 20, 5]),
        (39, Ok(vec![20]), vec![20, 20]),
        // The first is made smaller, and what is left is not for the next.
        (12, Ok(vec![10]), vec![20, 10, 20]),
        (0, Err(Error::OutOfMemory { bytes: 1 }), vec![20, 10, 5, 2, 1]),
    ] {
        let mut asked = Vec::new();
        assert_eq!(with_memory_for(memory, &mut asked), rooms, "{memory}");
        assert_eq!(asked, right, "{memory}");
    }
    // No other error.
    assert_eq!(backing_off(&[20], |_| Err::<(), _>(Error::Lost)), Err(Error::Lost));
    let second = |hashes| if hashes == 1 { Err(Error::Lost) } else { Ok(()) };
    assert_eq!(backing_off(&[20, 1], second), Err(Error::Lost));
}

#[test]
fn places_are_a_permutation_and_the_first_word_stays_the_first() {
    let mut places: Vec<_> = (0..128).map(place).collect();
    assert_eq!(places[0], 0);
    places.sort_unstable();
    assert!(places.into_iter().eq(0..128));
}

/// A device that does nothing.
struct Idle;

impl Device for Idle {
    fn width(&self) -> usize {
        4
    }

    fn run(&mut self, work: &mut dyn Work, _: &Stop) -> Result<(), Error> {
        while work.left() > 0 {
            let hashes = work.next(4)?.len() / 2;
            work.done(&vec![[0; 128]; hashes])?;
        }
        Ok(())
    }
}

#[test]
fn a_hit_that_the_processor_does_not_confirm_is_never_told() {
    let params = Params::new(8, 1, 1).unwrap();
    let recipe = hashmill_hash::argon2::pow::Recipe::NonceIsPassword { header_len: None };
    let pow = Pow::new(params, recipe, hashmill_hash::argon2::pow::Order::BigEndian);
    let (watch, job) = (Watch::new(), NonceJob::new(b"a header", [0xff; 32]));
    let nobody = |hit: Hit| panic!("{hit:?}");
    let name = ("idle", Plan::host(), pow);
    let searched = search(&mut Idle, name, &job, 0..9, &watch, &nobody);
    assert_eq!(searched, Err(EngineError::SelfTest { engine: "idle".to_owned() }));
    // Nothing is a hit, so nothing is asked.
    let job = NonceJob::new(b"a header", [0; 32]);
    let searched = search(&mut Idle, name, &job, 0..9, &watch, &nobody);
    assert_eq!((searched, watch.hashes()), (Ok(Searched::new(9, 9)), 4 + 9));
    // A range that ends before it begins is empty.
    let searched = search(&mut Idle, name, &job, Range { start: 9, end: 3 }, &watch, &nobody);
    assert_eq!((searched, watch.hashes()), (Ok(Searched::new(0, 9)), 4 + 9));
}
