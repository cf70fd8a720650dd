//! The two traits that a program implements to be measured, and what passes through them.

use super::class::Class;
use super::floor::Work;
use super::key::Knobs;
use super::units::Units;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::marker::PhantomData;

/// Something to compute: makes inputs and knows the right answer.
pub trait Workload: 'static {
    /// What every engine of this workload reads.
    type Input: 'static;

    /// First segment of its keys.
    fn name(&self) -> &str;

    /// The work of one iteration at this size.
    fn units(&self, spec: &Spec) -> Units;

    /// The least work that one iteration needs, counted on paper: what the floor of a row is made of.
    fn work(&self, _: &Spec) -> Option<Work> {
        None
    }

    /// Bytes that one iteration passes over; 0 where nobody knows. Where they leave the caches of a core, or are not
    /// known, only larger differences may be claimed. Say it where it is not the number of bytes in
    /// [`Workload::units`].
    fn working_set(&self, spec: &Spec) -> u64 {
        match self.units(spec) {
            Units::Bytes(bytes) => bytes,
            Units::Hashes(_) | Units::Operations(_) => 0,
        }
    }

    /// How many inputs the calls of a session take in turn, where a branch predictor or a cache could learn one by heart; the
    /// lab makes no more than 64, and fewer where they take long or much memory. One is for work that goes the same way
    /// whatever its input says.
    fn inputs(&self, _: &Spec) -> usize {
        1
    }

    /// Makes an input. The same `spec` and `seed` must always give the same input, and threads and kernel must not
    /// matter: engines of one session that differ only in those share it.
    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Self::Input, Fault>;

    /// The right answer for `input`, from code that is not being measured.
    fn reference(&self, spec: &Spec, input: &Self::Input) -> Result<Digest, Fault>;
}

/// Something that computes a workload, in the phases which the timing class tells apart.
///
/// Leave `Context` or `Buffer` as `()` where an engine has nothing to start or to fill.
pub trait Engine: 'static {
    /// The workload's input.
    type Input;
    /// Pools, pipelines, device handles.
    type Context;
    /// Memory for one input, on whatever device.
    type Buffer;
    /// What the work leaves behind, before anybody reads it.
    type Output;

    /// Starts what outlives calls. A [`Fault::unavailable`] makes the row "skipped", with its reason.
    fn init(&self, spec: &Spec) -> Result<Self::Context, Fault>;

    /// The kernel that will run, as the engine itself names it. Recorded, and compared where code is counted.
    fn kernel(&self, context: &Self::Context) -> String;

    /// Allocates the buffers of one input.
    fn reserve(&self, context: &mut Self::Context, input: &Self::Input) -> Result<Self::Buffer, Fault>;

    /// Puts the input where `run` reads it. Most read it where it is.
    fn stage(&self, _: &mut Self::Context, _: &mut Self::Buffer, _: &Self::Input) -> Result<(), Fault> {
        Ok(())
    }

    /// Does the work.
    fn run(
        &self,
        context: &mut Self::Context,
        buffer: &mut Self::Buffer,
        input: &Self::Input,
    ) -> Result<Self::Output, Fault>;

    /// Brings the result to where its caller reads it, such as a copy out of a device. Most leave it where it is.
    fn read(&self, _: &mut Self::Context, _: &mut Self::Output) -> Result<(), Fault> {
        Ok(())
    }

    /// The fingerprint by which results are compared. No class times it.
    fn digest(&self, output: &Self::Output) -> Digest;

    /// What can be counted of this case beside its time, the fewer the better. Asked once per comparison and outside the
    /// clock, after `run`, where the class keeps the buffer between calls.
    fn amounts(
        &self,
        _: &mut Self::Context,
        _: &mut Self::Buffer,
        _: &Self::Input,
    ) -> Result<Vec<Amount>, Fault> {
        Ok(Vec::new())
    }

    /// Whether `run` uses up what `stage` made. Where the class does not time `stage`, every iteration is then
    /// staged anew between two stretches of the clock.
    fn consumes(&self) -> bool {
        false
    }
}

/// Bytes that were counted of a case: of what it makes, or of the memory that it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Amount {
    /// What was counted, in the words of a gate's `metric`.
    pub name: String,
    /// How many bytes.
    pub bytes: u64,
}

/// What is asked of a workload and an engine: the key without their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Which phases are timed and where the input lies.
    pub class: Class,
    /// Size of the input, in the workload's own sense.
    pub size: u64,
    /// Threads to use.
    pub threads: u32,
    /// Kernel to force.
    pub kernel: Option<String>,
    /// Further parameters.
    pub knobs: Knobs,
}

/// A result's fingerprint, compared for equality and shown in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    bytes: [u8; Digest::MAX],
    len: usize,
}

impl Digest {
    /// Most bytes that a digest holds.
    pub const MAX: usize = 64;

    /// The bytes themselves, or their SHA-256 where there are more than [`Digest::MAX`].
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        if bytes.len() > Digest::MAX {
            return Digest::new(&crate::fingerprint::sha256(bytes));
        }
        let mut digest = Digest { bytes: [0; Digest::MAX], len: bytes.len() };
        digest.bytes[..bytes.len()].copy_from_slice(bytes);
        digest
    }

    /// Of whatever can be shown for debugging. The text of a value says all of it, as a rule, floating-point numbers
    /// to the last digit.
    #[must_use]
    pub fn of(value: &impl fmt::Debug) -> Self {
        Digest::new(format!("{value:?}").as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes[..self.len].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Why a workload or an engine could not do its part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// This machine lacks what is needed; the row is skipped.
    #[error("not available here: {0}")]
    Unavailable(String),
    /// It should have worked; the row is broken.
    #[error("{0}")]
    Failed(String),
}

impl Fault {
    /// This machine lacks what is needed.
    pub fn unavailable(reason: impl fmt::Display) -> Self {
        Fault::Unavailable(reason.to_string())
    }

    /// It should have worked.
    pub fn failed(reason: impl fmt::Display) -> Self {
        Fault::Failed(reason.to_string())
    }
}

/// An engine made of closures, which become part of the timed loop: something to start, nothing to fill.
pub struct Routine<I, C, O, Init, Name, Run, Read> {
    init: Init,
    name: Name,
    run: Run,
    read: Read,
    types: PhantomData<fn(&I, &mut C) -> O>,
}

impl<I, C, O, Init, Name, Run, Read> Routine<I, C, O, Init, Name, Run, Read>
where
    Init: Fn(&Spec) -> Result<C, Fault>,
    Name: Fn(&C) -> String,
    Run: Fn(&mut C, &I) -> Result<O, Fault>,
    Read: Fn(&O) -> Digest,
{
    /// Wraps the phases `init` and `run`, and the digest; `name` names the kernel that will run.
    pub fn new(init: Init, name: Name, run: Run, read: Read) -> Self {
        Routine { init, name, run, read, types: PhantomData }
    }
}

impl<I, C, O, Init, Name, Run, Read> Engine for Routine<I, C, O, Init, Name, Run, Read>
where
    I: 'static,
    C: 'static,
    O: 'static,
    Init: Fn(&Spec) -> Result<C, Fault> + 'static,
    Name: Fn(&C) -> String + 'static,
    Run: Fn(&mut C, &I) -> Result<O, Fault> + 'static,
    Read: Fn(&O) -> Digest + 'static,
{
    type Input = I;
    type Context = C;
    type Buffer = ();
    type Output = O;

    fn init(&self, spec: &Spec) -> Result<C, Fault> {
        (self.init)(spec)
    }

    fn kernel(&self, context: &C) -> String {
        (self.name)(context)
    }

    fn reserve(&self, _: &mut C, _: &I) -> Result<(), Fault> {
        Ok(())
    }

    fn run(&self, context: &mut C, (): &mut (), input: &I) -> Result<O, Fault> {
        (self.run)(context, input)
    }

    fn digest(&self, output: &O) -> Digest {
        (self.read)(output)
    }
}

/// An engine made of two functions, one that works and one that tells results apart: nothing to start, nothing to fill.
/// `kernel` names the code that will run.
pub fn function<I: 'static, O: 'static>(
    kernel: &'static str,
    run: impl Fn(&I) -> O + 'static,
    digest: impl Fn(&O) -> Digest + 'static,
) -> impl Engine<Input = I> {
    let run = move |(): &mut (), input: &I| Ok(run(input));
    Routine::new(|_: &Spec| Ok(()), move |(): &()| kernel.to_owned(), run, digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_any_length_tell_values_apart() {
        assert_eq!(Digest::new(&[0xAB; 2]).to_string(), "abab");
        let [long, other] = [[1_u8; 1000], [2; 1000]].map(|bytes| Digest::new(&bytes));
        assert_eq!(long.to_string().len(), 64, "a hash");
        assert_ne!(long, other);
        assert_ne!(Digest::of(&1.0), Digest::of(&f64::from_bits(1.0_f64.to_bits() + 1)));
        assert_eq!(Digest::of(&vec![7; 100]), Digest::of(&vec![7; 100]));
    }
}
