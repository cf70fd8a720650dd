//! The two traits that a program implements to be measured, and their data types.

use super::class::Class;
use super::key::Knobs;
use super::lower_bound::MinimalWork;
use super::units::Units;
use crate::fingerprint::hex;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::marker::PhantomData;

/// A computation: makes inputs and knows the right answers.
pub trait Workload: 'static {
    /// Input of every engine of this workload.
    type Input: 'static;

    /// Name: first segment of its keys.
    fn name(&self) -> &str;

    /// Work of one iteration at this size.
    fn units(&self, spec: &Spec) -> Units;

    /// Minimal work of one iteration, counted by hand: input of the row's lower bound.
    fn work(&self, _: &Spec) -> Option<MinimalWork> {
        None
    }

    /// Bytes that one iteration passes over; 0 if unknown. If they exceed the private caches of a core, or are
    /// unknown, only larger differences may be claimed. Override this if it is not the number of bytes in
    /// [`Workload::units`].
    fn working_set(&self, spec: &Spec) -> u64 {
        match self.units(spec) {
            Units::Bytes(bytes) => bytes,
            Units::Hashes(_) | Units::Operations(_) => 0,
        }
    }

    /// Number of inputs that the calls of a session take in turn, so that a branch predictor or a cache cannot learn
    /// a single one. The lab makes at most 64, and fewer if they take long or much memory. Use 1 if the work does not
    /// depend on the input's content.
    fn inputs(&self, _: &Spec) -> usize {
        1
    }

    /// Makes an input. The same `spec` and `seed` must always give the same input, independent of threads and kernel:
    /// engines of one session that differ only in those share it.
    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Self::Input, CaseError>;

    /// The right answer for `input`, from code that is not being measured.
    fn reference(&self, spec: &Spec, input: &Self::Input) -> Result<Digest, CaseError>;
}

/// An implementation of a workload, in the phases of the timing classes.
///
/// Leave `Context` or `Buffer` as `()` if an engine has nothing to start or to fill.
pub trait Engine: 'static {
    /// The workload's input.
    type Input;
    /// Pools, pipelines, device handles.
    type Context;
    /// Memory for one input, on any device.
    type Buffer;
    /// Result of the work, before it is read.
    type Output;

    /// Starts what outlives calls. A [`CaseError::unavailable`] error skips the row, with its reason.
    fn init(&self, spec: &Spec) -> Result<Self::Context, CaseError>;

    /// The kernel that will run, as the engine names it. Recorded, and compared when instructions are counted.
    fn kernel(&self, context: &Self::Context) -> String;

    /// Allocates the buffers of one input.
    fn reserve(&self, context: &mut Self::Context, input: &Self::Input) -> Result<Self::Buffer, CaseError>;

    /// Puts the input where `run` reads it. Most engines read it in place.
    fn stage(&self, _: &mut Self::Context, _: &mut Self::Buffer, _: &Self::Input) -> Result<(), CaseError> {
        Ok(())
    }

    /// Does the work.
    fn run(
        &self,
        context: &mut Self::Context,
        buffer: &mut Self::Buffer,
        input: &Self::Input,
    ) -> Result<Self::Output, CaseError>;

    /// Brings the result to where the caller reads it, such as a copy from a device. Most engines leave it in place.
    fn read(&self, _: &mut Self::Context, _: &mut Self::Output) -> Result<(), CaseError> {
        Ok(())
    }

    /// Fingerprint for comparing results. No class times it.
    fn digest(&self, output: &Self::Output) -> Digest;

    /// Amounts that can be counted beside the time; less is better. Called once per comparison outside the clock,
    /// after `run`, if the class keeps the buffer between calls.
    fn amounts(
        &self,
        _: &mut Self::Context,
        _: &mut Self::Buffer,
        _: &Self::Input,
    ) -> Result<Vec<Amount>, CaseError> {
        Ok(Vec::new())
    }

    /// Whether `run` consumes what `stage` made. If the class does not time `stage`, every iteration is then staged
    /// anew between two timed stretches.
    fn consumes(&self) -> bool {
        false
    }
}

/// Counted bytes of a case: of its output, or of the memory it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Amount {
    /// Name, as in a gate's `metric`.
    pub name: String,
    /// Amount in bytes.
    pub bytes: u64,
}

/// Parameters for a workload and an engine: the key without their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Timed phases, and location of the input.
    pub class: Class,
    /// Size of the input, as the workload defines it.
    pub size: u64,
    /// Number of threads.
    pub threads: u32,
    /// Forced kernel.
    pub kernel: Option<String>,
    /// Further parameters.
    pub knobs: Knobs,
}

/// Fingerprint of a result, compared for equality and shown in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    bytes: [u8; Digest::MAX],
    len: usize,
}

impl Digest {
    /// Maximum length in bytes.
    pub const MAX: usize = 64;

    /// The bytes themselves, or their SHA-256 if there are more than [`Digest::MAX`].
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        if bytes.len() > Digest::MAX {
            return Digest::new(&crate::fingerprint::sha256(bytes));
        }
        let mut digest = Digest { bytes: [0; Digest::MAX], len: bytes.len() };
        digest.bytes[..bytes.len()].copy_from_slice(bytes);
        digest
    }

    /// Digest of a value's `Debug` text. That text usually describes the whole value, floating-point numbers to the
    /// last digit.
    #[must_use]
    pub fn from_debug(value: &impl fmt::Debug) -> Self {
        Digest::new(format!("{value:?}").as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.bytes[..self.len]))
    }
}

/// Error of a workload or an engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CaseError {
    /// This machine lacks something; the row is skipped.
    #[error("not available here: {0}")]
    Unavailable(String),
    /// A failure; the row is invalid.
    #[error("{0}")]
    Failed(String),
}

impl CaseError {
    /// This machine lacks something.
    pub fn unavailable(reason: impl fmt::Display) -> Self {
        CaseError::Unavailable(reason.to_string())
    }

    /// A failure.
    pub fn failed(reason: impl fmt::Display) -> Self {
        CaseError::Failed(reason.to_string())
    }
}

/// Engine made of closures, which are inlined into the timed loop. It has a context but no buffer.
pub struct Routine<I, C, O, Init, Name, Run, Read> {
    init: Init,
    name: Name,
    run: Run,
    read: Read,
    types: PhantomData<fn(&I, &mut C) -> O>,
}

impl<I, C, O, Init, Name, Run, Read> Routine<I, C, O, Init, Name, Run, Read>
where
    Init: Fn(&Spec) -> Result<C, CaseError>,
    Name: Fn(&C) -> String,
    Run: Fn(&mut C, &I) -> Result<O, CaseError>,
    Read: Fn(&O) -> Digest,
{
    /// Wraps the phases `init` and `run`, and the digest; `name` returns the name of the kernel that will run.
    pub fn new(init: Init, name: Name, run: Run, read: Read) -> Self {
        Routine { init, name, run, read, types: PhantomData }
    }
}

impl<I, C, O, Init, Name, Run, Read> Engine for Routine<I, C, O, Init, Name, Run, Read>
where
    I: 'static,
    C: 'static,
    O: 'static,
    Init: Fn(&Spec) -> Result<C, CaseError> + 'static,
    Name: Fn(&C) -> String + 'static,
    Run: Fn(&mut C, &I) -> Result<O, CaseError> + 'static,
    Read: Fn(&O) -> Digest + 'static,
{
    type Input = I;
    type Context = C;
    type Buffer = ();
    type Output = O;

    fn init(&self, spec: &Spec) -> Result<C, CaseError> {
        (self.init)(spec)
    }

    fn kernel(&self, context: &C) -> String {
        (self.name)(context)
    }

    fn reserve(&self, _: &mut C, _: &I) -> Result<(), CaseError> {
        Ok(())
    }

    fn run(&self, context: &mut C, (): &mut (), input: &I) -> Result<O, CaseError> {
        (self.run)(context, input)
    }

    fn digest(&self, output: &O) -> Digest {
        (self.read)(output)
    }
}

/// Engine made of two functions: `run` does the work, `digest` fingerprints the result. `kernel` names the code that
/// will run.
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
        assert_ne!(Digest::from_debug(&1.0), Digest::from_debug(&f64::from_bits(1.0_f64.to_bits() + 1)));
        assert_eq!(Digest::from_debug(&vec![7; 100]), Digest::from_debug(&vec![7; 100]));
    }
}
