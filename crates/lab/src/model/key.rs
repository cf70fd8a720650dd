//! Name of a case: `workload/engine/class/size/tN[/kernel][/knob=value…]`.

use super::class::{Class, ClassError};
use super::units::{Size, SizeError};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Parameters of a case beyond size and threads, by name.
pub type Knobs = BTreeMap<String, String>;

/// Key of a case: everything that selects code to run, in one line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Name of the workload.
    pub workload: String,
    /// Name of the engine.
    pub engine: String,
    /// Timing class.
    pub class: Class,
    /// Size of the input.
    pub size: Size,
    /// Number of threads.
    pub threads: u32,
    /// Forced kernel; the engine chooses if absent.
    pub kernel: Option<String>,
    /// Further parameters.
    pub knobs: Knobs,
}

/// Error in the text of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Fewer than five segments.
    #[error("`{0}` is not a case; a case is workload/engine/class/size/tN[/kernel][/knob=value…]")]
    Shape(String),
    /// The class segment.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// The size segment.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// The threads segment.
    #[error("`{0}` is not a number of threads; write t1, t2, …")]
    Threads(String),
    /// An empty name or one with characters that would break a key or a file name.
    #[error("`{0}` is not valid in a case name; use letters, digits and . _ + - only")]
    Name(String),
}

/// Whether a text is valid as one segment of a key.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c))
}

impl Key {
    /// Whether both cases read the same input: compares all that [`prepare`](super::engine::Workload::prepare) may
    /// use.
    pub(crate) fn same_input(&self, other: &Key) -> bool {
        let blind = |key: &Key| Key { engine: String::new(), kernel: None, threads: 1, ..key.clone() };
        blind(self) == blind(other)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Key { workload, engine, class, size, threads, kernel, knobs } = self;
        write!(f, "{workload}/{engine}/{class}/{size}/t{threads}")?;
        if let Some(kernel) = kernel {
            write!(f, "/{kernel}")?;
        }
        knobs.iter().try_for_each(|(name, value)| write!(f, "/{name}={value}"))
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let mut segments = text.split('/');
        let mut next = || segments.next().ok_or_else(|| KeyError::Shape(text.to_owned()));
        let (workload, engine) = (name(next()?)?, name(next()?)?);
        let class: Class = next()?.parse()?;
        if let Some(strategy) = class.strategy() {
            name(strategy)?;
        }
        let size = next()?.parse()?;
        let threads = threads(next()?)?;
        let mut key = Key { workload, engine, class, size, threads, kernel: None, knobs: Knobs::new() };
        for (position, segment) in segments.enumerate() {
            match segment.split_once('=') {
                Some((knob, value)) => {
                    key.knobs.insert(name(knob)?, name(value)?);
                }
                None if position == 0 => key.kernel = Some(name(segment)?),
                None => return Err(KeyError::Shape(text.to_owned())),
            }
        }
        Ok(key)
    }
}

fn name(text: &str) -> Result<String, KeyError> {
    if is_name(text) { Ok(text.to_owned()) } else { Err(KeyError::Name(text.to_owned())) }
}

fn threads(text: &str) -> Result<u32, KeyError> {
    let number = text.strip_prefix('t').and_then(|n| n.parse().ok());
    number.filter(|n| (1..=4096).contains(n)).ok_or_else(|| KeyError::Threads(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_print_as_they_parse() {
        for text in [
            "blake3/fast/kernel/64MiB/t1",
            "blake3/fast/kernel/64MiB/t1/avx512",
            "blake3/fast/file:mmap/1GiB/t2/tile=16MiB",
            "argon2id/fast/oneshot/1/t4/avx2/m=64MiB/t=3",
        ] {
            assert_eq!(text.parse::<Key>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn malformed_keys_have_specific_errors() {
        for (text, message) in [
            ("blake3/fast", "is not a case"),
            ("blake3/fast/kernel/64MiB/1", "number of threads"),
            ("blake3/fast/kernel/64MiB/t0", "number of threads"),
            ("blake3//kernel/64MiB/t1", "is not valid in"),
            ("bla ke3/x/kernel/64MiB/t1", "is not valid in"),
            ("blake3/fast/kernel/64QiB/t1", "not a size"),
            ("blake3/fast/kernle/64MiB/t1", "did you mean `kernel`?"),
            ("blake3/fast/kernel/64MiB/t1/avx2/sse2", "is not a case"),
            ("blake3/fast/kernel/64MiB/t1/tile=", "is not valid in"),
        ] {
            let error = text.parse::<Key>().expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
