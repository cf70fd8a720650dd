//! Benches of any crate, for `cargo bench`.
//!
//! ```no_run
//! // All of the `main` of benches/sort.rs, for which Cargo.toml says `harness = false`.
//! hashmill_lab::benches(|b| {
//!     b.case("sort/1000").items(1000).inputs(|random| random.numbers(1000)).run_mut(|v| v.sort_unstable());
//!     b.case("sum/1000").items(1000).inputs(|random| random.numbers(1000)).run(|v| v.iter().fold(0_u64, |a, b| a ^ b));
//! });
//! ```
//!
//! What runs, and what is timed:
//!
//! - Inputs are made from seeds, outside the clock. Every process has inputs of its own, and a sample takes several in
//!   turn, so that what a branch predictor learns of one input does not pass for speed.
//! - The clock sees the calls alone. Inputs and results go through [`black_box`]; results are dropped, and told apart by
//!   their [`Debug`] text, after it has stopped.
//! - Looked at are, in every process, the result of one call on each input before the first sample, and the last result of
//!   each sample. Where results wait in a row until the clock has stopped, since calls use their inputs up or results own
//!   something that must be dropped, so are others, for a quarter of the time that calls take: all of them, if calls are
//!   long and their text is short. Numbers and the like do not wait, so the others of a sample go unseen.
//! - A result that is looked at and differs from the first call's on that input, or from that of [`Inputs::expect`], ends
//!   the case: what computes something else has no speed. Return `()` where there is nothing to compare.
//! - `cargo bench` sets the program against the one of the run before, which it kept: both run side by side, and each case is
//!   faster, slower, same or inconclusive.
//! - Without `--bench`, as in `cargo test --benches`, each case runs once and nothing is timed.

mod inputs;
mod random;
mod timed;

pub use random::Random;
pub use std::hint::black_box;

use crate::model::inputs::Limits;
use crate::model::key::{Key, Knobs, is_name};
use crate::model::registry::Registry;
use crate::model::units::{Size, Units};
use inputs::{Answer, Recipe};
use std::fmt::Debug;
use std::rc::Rc;
use timed::{ByMut, ByRef, ByValue, Call};

/// Runs the benches that `define` names, as the command line asks, and ends the process.
///
/// `--help` says what can be asked. The first word `lab` leads to all commands of the lab, such as `lab check`.
#[expect(clippy::exit, reason = "all that the `main` of a bench does")]
pub fn benches(define: impl FnOnce(&mut Benches)) -> ! {
    let mut benches = Benches::new(Limits::default());
    define(&mut benches);
    std::process::exit(crate::cmd::bench(&benches).code())
}

/// The cases of a bench, in the order of their definition.
pub struct Benches {
    pub(crate) registry: Registry,
    pub(crate) cases: Vec<Named>,
    limits: Limits,
}

/// A case under the name that its author gave it.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) key: Key,
}

impl Benches {
    fn new(limits: Limits) -> Self {
        Benches { registry: Registry::new(), cases: Vec::new(), limits }
    }

    /// Begins a case; `name` is what filters and tables see. Slashes group: in `sort/1000` the last part is a size.
    pub fn case(&mut self, name: impl Into<String>) -> Case<'_> {
        Case { benches: self, name: name.into(), units: Units::Operations(1), working_set: None, threads: 1 }
    }
}

/// A case that is being defined: what a call does, before what it does it to.
#[must_use = "a case without `run` measures nothing"]
pub struct Case<'a> {
    benches: &'a mut Benches,
    name: String,
    units: Units,
    working_set: Option<u64>,
    threads: u32,
}

impl<'a> Case<'a> {
    /// A call processes so many bytes: tables show a rate.
    pub fn bytes(self, count: u64) -> Self {
        Case { units: Units::Bytes(count), ..self }
    }

    /// A call handles so many items: tables show a rate.
    pub fn items(self, count: u64) -> Self {
        Case { units: Units::Operations(count), ..self }
    }

    /// Bytes that a call passes over. Without it, the growth of the process while inputs are made and used is taken.
    /// Where the data leave the caches of a core, only differences from 1 % on are claimed.
    pub fn working_set(self, bytes: u64) -> Self {
        Case { working_set: Some(bytes), ..self }
    }

    /// A call keeps so many threads busy. Only cases of one thread are kept on one processor.
    pub fn threads(self, count: u32) -> Self {
        Case { threads: count.max(1), ..self }
    }

    /// How an input is made. It runs outside the clock, for as many inputs as are needed.
    pub fn inputs<I: 'static>(self, make: impl Fn(&mut Random) -> I + 'static) -> Inputs<'a, I> {
        Inputs { case: self, make: Box::new(make), expected: None }
    }

    /// What is timed, where there is no input.
    ///
    /// # Panics
    /// When two cases have one name: the bench that defines them is wrong.
    pub fn run<O: Debug + 'static>(self, call: impl Fn() -> O + 'static) {
        self.inputs(|_| ()).run(move |()| call());
    }
}

/// A case whose inputs are known.
#[must_use = "a case without `run` measures nothing"]
pub struct Inputs<'a, I> {
    case: Case<'a>,
    make: Box<dyn Fn(&mut Random) -> I>,
    expected: Option<Box<Answer<I>>>,
}

impl<I: 'static> Inputs<'_, I> {
    /// The right answer for an input, from other code than that which is measured: all inputs are held to it once, and
    /// samples as the page of this module says. Without it, a call must give what the first call on that input gave.
    pub fn expect<O: Debug + 'static>(mut self, answer: impl Fn(&I) -> O + 'static) -> Self {
        self.expected = Some(Box::new(move |input| timed::fingerprint(&answer(input))));
        self
    }

    /// What is timed: it reads an input, which other calls read too.
    ///
    /// # Panics
    /// When two cases have one name: the bench that defines them is wrong.
    pub fn run<O: Debug + 'static>(self, call: impl Fn(&I) -> O + 'static) {
        self.add(ByRef(call));
    }

    /// What is timed: it changes an input, which is made anew for each call. Inputs are dropped outside the clock.
    ///
    /// # Panics
    /// When two cases have one name: the bench that defines them is wrong.
    pub fn run_mut<O: Debug + 'static>(self, call: impl Fn(&mut I) -> O + 'static) {
        self.add(ByMut(call));
    }

    /// What is timed: it consumes an input, which is made anew for each call.
    ///
    /// # Panics
    /// When two cases have one name: the bench that defines them is wrong.
    pub fn run_owned<O: Debug + 'static>(self, call: impl Fn(I) -> O + 'static) {
        self.add(ByValue(call));
    }

    fn add<C: Call<I>>(self, call: C) {
        let Inputs { case, make, expected } = self;
        let Case { benches, name, units, working_set, threads } = case;
        let key = key(&name, threads);
        assert!(!name.is_empty(), "a case needs a name");
        assert!(benches.cases.iter().all(|other| other.key != key), "the case `{name}` is defined twice");
        let recipe = Rc::new(Recipe { make, expected, call, units, working_set, limits: benches.limits });
        benches.registry.ready_made(&key, move |seed| recipe.prepare(seed), timed::driver::<I, C>);
        benches.cases.push(Named { name, key });
    }
}

/// A name as a key of the lab: what cannot stand in one becomes a hyphen, and a last part that is a size is the size.
fn key(name: &str, threads: u32) -> Key {
    let (group, size) = match name.rsplit_once('/').map(|(group, size)| (group, size.parse::<Size>())) {
        Some((group, Ok(size))) => (group, size),
        _ => (name, Size(1)),
    };
    let legible = |c: char| match c {
        '/' => '.',
        c if is_name(c.encode_utf8(&mut [0; 4])) => c,
        _ => '-',
    };
    Key {
        workload: group.chars().map(legible).collect(),
        engine: "bench".to_owned(),
        class: "kernel".parse().expect("a class"),
        size,
        threads,
        kernel: None,
        knobs: Knobs::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_keys_that_can_be_asked_for() {
        for (name, expected) in [
            ("fib", "fib/bench/kernel/1/t1"),
            ("sort/1000", "sort/bench/kernel/1000/t1"),
            ("json/parse/64KiB", "json.parse/bench/kernel/64KiB/t1"),
            ("in größe, sorted", "in-gr--e--sorted/bench/kernel/1/t1"),
        ] {
            let key = key(name, 1);
            assert_eq!(key.to_string(), expected);
            assert_eq!(key.to_string().parse(), Ok(key), "{name}");
        }
    }
}
