//! Benchmarks of any crate, for `cargo bench`.
//!
//! ```no_run
//! // All of the `main` of benches/sort.rs, for which Cargo.toml says `harness = false`.
//! hashmill_lab::benches(|b| {
//!     b.case("sort/1000").items(1000).inputs(|random| random.numbers(1000)).run_mut(|v| v.sort_unstable());
//!     b.case("sum/1000").items(1000).inputs(|random| random.numbers(1000)).run(|v| v.iter().fold(0_u64, |a, b| a ^ b));
//! });
//! ```
//!
//! Rules:
//!
//! - Inputs are made from seeds, outside the clock. Every process has its own inputs, and a sample takes several in
//!   turn, so that branch predictors cannot learn a single input.
//! - Only the calls are timed. Inputs and results go through [`black_box`]; results are dropped, and compared by
//!   their [`Debug`] text, after the clock has stopped.
//! - Every process checks the result of one call on each input before the first sample, and the last result of each
//!   sample. If results must wait until the clock has stopped, because calls consume their inputs or results need to
//!   be dropped, it checks more of them, for up to a quarter of the time of the calls: all of them, if calls are long
//!   and their text is short. Plain values such as numbers do not wait, so the other results of a sample are not
//!   checked.
//! - A checked result that differs from the first call's on that input, or from that of [`Inputs::expect`], fails the
//!   case. Return `()` if there is nothing to compare.
//! - `cargo bench` compares the program with the one of the previous run, which it kept: both run side by side, and
//!   each case is faster, slower, same or inconclusive.
//! - Without `--bench`, as in `cargo test --benches`, each case runs once and nothing is timed.

mod call;
mod inputs;
mod random;
mod timed;

pub use random::Random;
pub use std::hint::black_box;

use crate::model::inputs::Limits;
use crate::model::key::{Key, Knobs, is_name};
use crate::model::registry::Registry;
use crate::model::units::{Size, Units};
use call::{ByMut, ByRef, ByValue, Call};
use inputs::{Answer, CaseDefinition};
use std::fmt::Debug;
use std::rc::Rc;

/// Cases of a bench, in definition order.
pub struct Benches {
    pub(crate) registry: Registry,
    pub(crate) cases: Vec<NamedCase>,
    limits: Limits,
}

/// A case with the name that its author gave it.
pub(crate) struct NamedCase {
    pub(crate) name: String,
    pub(crate) key: Key,
}

impl Benches {
    pub(crate) fn new(limits: Limits) -> Self {
        Benches { registry: Registry::new(), cases: Vec::new(), limits }
    }

    /// Starts a case; `name` is used by filters and tables. Slashes group: in `sort/1000` the last part is a size.
    pub fn case(&mut self, name: impl Into<String>) -> Case<'_> {
        Case { benches: self, name: name.into(), units: Units::Operations(1), working_set: None, threads: 1 }
    }
}

/// Builder of a case, before its inputs are defined.
#[must_use = "a case without `run` measures nothing"]
pub struct Case<'a> {
    benches: &'a mut Benches,
    name: String,
    units: Units,
    working_set: Option<u64>,
    threads: u32,
}

impl<'a> Case<'a> {
    /// Sets the number of bytes that a call processes: tables show a rate.
    pub fn bytes(self, count: u64) -> Self {
        Case { units: Units::Bytes(count), ..self }
    }

    /// Sets the number of items that a call handles: tables show a rate.
    pub fn items(self, count: u64) -> Self {
        Case { units: Units::Operations(count), ..self }
    }

    /// Sets the bytes that a call passes over. Default: the growth of the process while inputs are made and used. If
    /// the data exceed the private caches of a core, only differences of 1 % or more are claimed.
    pub fn working_set(self, bytes: u64) -> Self {
        Case { working_set: Some(bytes), ..self }
    }

    /// Sets the number of threads that a call uses. Only single-threaded cases are pinned to one processor.
    pub fn threads(self, count: u32) -> Self {
        Case { threads: count.max(1), ..self }
    }

    /// Sets how an input is made. `make` runs outside the clock, for as many inputs as needed.
    pub fn inputs<I: 'static>(self, make: impl Fn(&mut Random) -> I + 'static) -> Inputs<'a, I> {
        Inputs { case: self, make: Box::new(make), expected: None }
    }

    /// Times `call`, which has no input.
    ///
    /// # Panics
    /// When two cases have one name: the bench that defines them is wrong.
    pub fn run<O: Debug + 'static>(self, call: impl Fn() -> O + 'static) {
        self.inputs(|_| ()).run(move |()| call());
    }
}

/// Builder of a case with inputs.
#[must_use = "a case without `run` measures nothing"]
pub struct Inputs<'a, I> {
    case: Case<'a>,
    make: Box<dyn Fn(&mut Random) -> I>,
    expected: Option<Box<Answer<I>>>,
}

impl<I: 'static> Inputs<'_, I> {
    /// Sets the right answer for an input, from code that is not being measured. All inputs are checked once, and
    /// samples as described in the module documentation. Default: a call must return what the first call on that
    /// input returned.
    pub fn expect<O: Debug + 'static>(mut self, answer: impl Fn(&I) -> O + 'static) -> Self {
        self.expected = Some(Box::new(move |input| call::fingerprint(&answer(input))));
        self
    }

    /// Times `call`, which reads an input shared with other calls.
    ///
    /// # Panics
    /// When two cases have one name: the bench that defines them is wrong.
    pub fn run<O: Debug + 'static>(self, call: impl Fn(&I) -> O + 'static) {
        self.add(ByRef(call));
    }

    /// Times `call`, which changes an input that is made anew for each call. Inputs are dropped outside the clock.
    ///
    /// # Panics
    /// When two cases have one name: the bench that defines them is wrong.
    pub fn run_mut<O: Debug + 'static>(self, call: impl Fn(&mut I) -> O + 'static) {
        self.add(ByMut(call));
    }

    /// Times `call`, which consumes an input that is made anew for each call.
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
        let recipe =
            Rc::new(CaseDefinition { make, expected, call, units, working_set, limits: benches.limits });
        benches.registry.self_contained(&key, move |seed| recipe.prepare(seed), timed::driver::<I, C>);
        benches.cases.push(NamedCase { name, key });
    }
}

/// Converts a name to a key of the lab: invalid characters become hyphens, and a last part that is a size becomes the
/// size.
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
    fn names_become_valid_keys() {
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
