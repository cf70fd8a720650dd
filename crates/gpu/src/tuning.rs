//! Layout parameters of Argon2 on a device: candidates for tuning, and their text form. No device calls here.

use std::fmt;
use std::num::NonZero;
use std::str::FromStr;
use std::time::Duration;

/// Layout of Argon2 on a device. It changes no result, and options that a device lacks are ignored: any
/// layout is valid on any device.
///
/// [`Display`](fmt::Display) and [`FromStr`] use one line of text, to be stored under
/// [`Info::model`](crate::Info::model) and the parameters that it was found for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Tuning {
    /// The most hashes side by side; memory may suffice for fewer only.
    pub hashes: u32,
    /// Approximate time of a submission: a longer one is less work for the host, and delays a stop.
    pub submission_time: Duration,
    /// With NVIDIA's driver: blocks are fetched ahead for up to this many lanes of all hashes.
    pub ahead: u32,
    /// With NVIDIA's driver: hashes allocate memory as they advance, where their parameters permit it and
    /// more hashes are wanted than fit as a whole.
    pub grow: bool,
    /// With wgpu: words of 64 bits are pairs of 32, even if the device has 64-bit words.
    pub pairs: bool,
    /// With wgpu: threads exchange words through shared memory, even if the device has subgroups.
    pub shared: bool,
}

impl Tuning {
    /// Bounds of `submission_time`.
    const MIN_TIME: Duration = Duration::from_micros(100);
    const MAX_TIME: Duration = Duration::from_millis(50);

    /// The default, with at most `hashes` hashes.
    pub(crate) fn guess(hashes: u64, ahead: u32) -> Tuning {
        let hashes = u32::try_from(hashes.max(1)).unwrap_or(u32::MAX);
        Tuning {
            hashes,
            submission_time: Duration::from_millis(4),
            ahead,
            grow: true,
            pairs: false,
            shared: false,
        }
    }

    /// The same layout with at most `hashes` hashes.
    #[must_use]
    pub fn at_most(self, hashes: usize) -> Tuning {
        Tuning { hashes: self.hashes.min(u32::try_from(hashes).unwrap_or(u32::MAX)).max(1), ..self }
    }

    /// Clamps values to their bounds.
    pub(crate) fn bounded(self) -> Tuning {
        Tuning {
            hashes: self.hashes.max(1),
            submission_time: self.submission_time.clamp(Tuning::MIN_TIME, Tuning::MAX_TIME),
            ..self
        }
    }

    /// Itself, and candidates that differ in one respect each: in the number of hashes (memory suffices for
    /// `fit`), in the time of submissions, and in the changes of `others`.
    pub(crate) fn with_others(self, fit: u64, others: impl IntoIterator<Item = Tuning>) -> Vec<Tuning> {
        let fit = u32::try_from(fit).unwrap_or(u32::MAX).min(self.hashes).max(1);
        let mut all = vec![self];
        let fewer = [fit / 4 * 3, fit / 2].map(|hashes| Tuning { hashes: hashes.max(1), ..self });
        let times = [1, 16].map(|millis| Tuning { submission_time: Duration::from_millis(millis), ..self });
        // The default already takes as many as fit.
        let fewer = fewer.into_iter().filter(|tuning| tuning.hashes < fit);
        for tuning in fewer.chain(times).chain(others) {
            if !all.contains(&tuning) {
                all.push(tuning);
            }
        }
        all
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tuning { hashes, submission_time, ahead, grow, pairs, shared } = *self;
        write!(f, "hashes={hashes} strip-us={} ahead={ahead}", submission_time.as_micros())?;
        for (name, value) in [("grow", grow), ("pairs", pairs), ("shared", shared)] {
            write!(f, " {name}={}", if value { "yes" } else { "no" })?;
        }
        Ok(())
    }
}

/// A line that is no valid [`Tuning`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TuningError(String);

impl TuningError {
    pub(crate) fn new(reason: String) -> TuningError {
        TuningError(reason)
    }
}

impl fmt::Display for TuningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no tuning of a device: {}", self.0)
    }
}

impl std::error::Error for TuningError {}

impl FromStr for Tuning {
    type Err = TuningError;

    /// Parses the output of [`Display`](fmt::Display): all values in order, within bounds.
    fn from_str(line: &str) -> Result<Tuning, TuningError> {
        let mut words = line.split_ascii_whitespace();
        let mut value = |name: &str| {
            let word = words.next().and_then(|word| word.strip_prefix(name)?.strip_prefix('='));
            word.ok_or_else(|| TuningError(format!("{name} is missing")))
        };
        let number = |name: &str, text: &str| {
            text.parse::<u32>().map_err(|_| TuningError(format!("{name} is no number: {text:?}")))
        };
        let answer = |name: &str, text: &str| match text {
            "yes" => Ok(true),
            "no" => Ok(false),
            _ => Err(TuningError(format!("{name} is neither yes nor no: {text:?}"))),
        };
        let hashes = number("hashes", value("hashes")?)?;
        let submission_time = Duration::from_micros(number("strip-us", value("strip-us")?)?.into());
        let ahead = number("ahead", value("ahead")?)?;
        let grow = answer("grow", value("grow")?)?;
        let pairs = answer("pairs", value("pairs")?)?;
        let shared = answer("shared", value("shared")?)?;
        if words.next().is_some() {
            return Err(TuningError("there is more behind it".to_owned()));
        }
        let hashes = NonZero::new(hashes).ok_or_else(|| TuningError("hashes is 0".to_owned()))?.get();
        if !(Tuning::MIN_TIME..=Tuning::MAX_TIME).contains(&submission_time) {
            return Err(TuningError(format!(
                "strip-us is {}, not 100 to 50000",
                submission_time.as_micros()
            )));
        }
        Ok(Tuning { hashes, submission_time, ahead, grow, pairs, shared })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_printed_tunings_are_parsed() {
        let tuning = Tuning { pairs: true, grow: false, ..Tuning::guess(66, 1056) };
        let line = tuning.to_string();
        assert_eq!(line, "hashes=66 strip-us=4000 ahead=1056 grow=no pairs=yes shared=no");
        assert_eq!(line.parse(), Ok(tuning));
        for (from, to, reason) in [
            ("hashes=66", "hashes=0", "hashes is 0"),
            ("hashes=66", "hashes=-1", "hashes is no number"),
            ("hashes=66 ", "", "hashes is missing"),
            ("4000", "99", "strip-us is 99"),
            ("4000", "50001", "strip-us is 50001"),
            ("grow=no", "grow=maybe", "neither yes nor no"),
            ("shared=no", "", "shared is missing"),
            ("shared=no", "shared=no more", "there is more"),
        ] {
            let error = line.replace(from, to).parse::<Tuning>().unwrap_err();
            assert!(error.to_string().contains(reason), "{from} {to}: {error}");
        }
    }

    #[test]
    fn candidates_start_with_the_guess_without_duplicates() {
        for (hashes, fit) in [(1, 1), (2, 1), (100, 1), (100, 7), (100, 100), (7, u64::MAX)] {
            let guess = Tuning::guess(hashes, 8);
            let all = guess.with_others(fit, [Tuning { grow: false, ..guess }, guess]);
            assert_eq!(all[0], guess);
            for (number, tuning) in all.iter().enumerate() {
                assert!(!all[..number].contains(tuning), "{tuning} twice");
                assert_eq!(tuning.bounded(), *tuning);
                assert!(u64::from(tuning.hashes) < fit || tuning.hashes == guess.hashes, "{tuning} of {fit}");
            }
            assert!(all.contains(&Tuning { grow: false, ..guess }));
        }
        assert_eq!(Tuning::guess(u64::MAX, 0).hashes, u32::MAX);
        assert_eq!([0, 5, 100].map(|most| Tuning::guess(66, 0).at_most(most).hashes), [1, 5, 66]);
    }
}
