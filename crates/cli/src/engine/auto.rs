//! `--engine auto`: the processor, unless `hashmill tune` has measured that a device is faster.

use super::Computer;
use super::tags::Tags;
use crate::{kept, out};
use hashmill_gpu::Tuning;
use hashmill_hash::argon2::{Job, Params};
use kept::Tuned;
use std::cell::{Cell, RefCell};

/// Devices that were measured to be faster than the processor. None is asked for anything before it has work.
pub(super) struct Auto {
    faster: Vec<Tuned>,
    /// The one that had work last.
    opened: RefCell<Option<(Tuned, Tags)>>,
    /// One of them failed, and the processor has all that follows.
    is_over: Cell<bool>,
}

impl Auto {
    /// Where nothing was measured to be faster there is none.
    pub(super) fn find() -> Option<Auto> {
        let mut faster = kept::find().kept().devices;
        faster.retain(Tuned::is_faster);
        let auto = Auto { faster, opened: RefCell::default(), is_over: Cell::new(false) };
        (!auto.faster.is_empty()).then_some(auto)
    }

    /// The fastest of them at so many hashes.
    fn choose(&self, params: Params, count: usize) -> Option<&Tuned> {
        let of_them = self.faster.iter().filter(|tuned| tuned.has_costs(params));
        of_them.min_by(|one, other| seconds(one, count).total_cmp(&seconds(other, count)))
    }
}

/// How long a device takes: one hash there takes as long as all that go side by side.
fn seconds(tuned: &Tuned, count: usize) -> f64 {
    let together = tuned.tuning.parse().map_or(usize::MAX, |tuning: Tuning| tuning.hashes as usize);
    (count.div_ceil(together) as f64 * together as f64) / tuned.hashes_per_second
}

impl Computer for Auto {
    fn takes(&self, params: Params, count: usize) -> bool {
        let is_sooner = |tuned: &Tuned| seconds(tuned, count) < count as f64 / tuned.of_processor;
        !self.is_over.get() && self.choose(params, count).is_some_and(is_sooner)
    }

    fn compute(&self, params: Params, jobs: &mut [Job<'_>]) -> Result<(), String> {
        // Also of fewer than it takes: of what it took it computes some a second time.
        let chosen = self.choose(params, jobs.len()).ok_or("--engine auto: nothing was measured for this")?;
        let mut opened = self.opened.borrow_mut();
        let is_it = |(of, _): &(Tuned, Tags)| of.is_for(&chosen.engine, &chosen.device);
        let (_, tags) = match opened.take().filter(is_it) {
            Some(same) => opened.insert(same),
            None => opened.insert((chosen.clone(), Tags::of(chosen, &self.faster)?)),
        };
        tags.compute(params, jobs)
    }

    fn give_back(&self) {
        if let Some((_, tags)) = &*self.opened.borrow() {
            tags.give_back();
        }
    }

    fn wrong(&self) -> String {
        self.opened.borrow().as_ref().map_or_else(String::new, |(_, tags)| tags.wrong())
    }

    fn yields(&self, why: &str) -> bool {
        if !self.is_over.replace(true) {
            out::remark(&format!("take note: {why}; the processor goes on"));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuned(passes: u32, hashes: u32, rates: [f64; 2]) -> Tuned {
        Tuned {
            measured: "2026-11-27T00:00:00Z".to_owned(),
            engine: "wgpu".to_owned(),
            device: format!("of {hashes}"),
            kind: String::new(),
            memory_kib: 64,
            passes,
            lanes: 1,
            tuning: format!("hashes={hashes} strip-us=4000 ahead=0 grow=yes pairs=no shared=no"),
            hashes_per_second: rates[0],
            of_processor: rates[1],
        }
    }

    fn auto(faster: Vec<Tuned>) -> Auto {
        Auto { faster, opened: RefCell::default(), is_over: Cell::new(false) }
    }

    fn params(passes: u32) -> Params {
        Params::new(64, passes, 1).expect("good costs")
    }

    #[test]
    fn a_device_takes_what_it_is_measured_to_be_faster_at() {
        // A hundred side by side in a tenth of a second, in which the processor computes ten.
        let auto = auto(vec![tuned(1, 100, [1000.0, 100.0])]);
        let takes = |count| auto.takes(params(1), count);
        assert_eq!([0, 1, 9, 10].map(takes), [false; 4]);
        assert_eq!([11, 100, 101, 4096].map(takes), [true; 4]);
        assert!(!auto.takes(params(2), 4096), "nobody measured that");
    }

    #[test]
    fn the_narrow_device_has_few_and_the_wide_one_many() {
        let auto = auto(vec![tuned(1, 1000, [10_000.0, 1.0]), tuned(1, 10, [200.0, 1.0])]);
        let chosen = |count| auto.choose(params(1), count).map(|tuned| tuned.device.clone());
        assert_eq!(chosen(1).as_deref(), Some("of 10"));
        assert_eq!(chosen(900).as_deref(), Some("of 1000"));
    }

    #[test]
    fn what_failed_once_is_not_asked_again() {
        let auto = auto(vec![tuned(1, 100, [1000.0, 100.0])]);
        assert!(auto.takes(params(1), 4096) && auto.yields("lost"));
        assert!(!auto.takes(params(1), 4096));
    }
}
