//! How Argon2 is laid out on a device: what may be tried to make it faster, and how that is written down. No device is touched here.

use std::fmt;
use std::num::NonZero;
use std::str::FromStr;
use std::time::Duration;

/// How Argon2 is laid out on a device. It changes no result, and what a device has not it does without: any of these can be taken
/// anywhere.
///
/// [`Display`](fmt::Display) and [`FromStr`] are one line of text, to be kept under [`Info::model`](crate::Info::model) and the
/// parameters that it was found for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Tuning {
    /// How many hashes go side by side at most; there may be memory for fewer.
    pub hashes: u32,
    /// How long strips that are handed over together take, about: more is less to do for the host, and a longer wait for a stop.
    pub strip: Duration,
    /// With NVIDIA's driver: of up to so many lanes of all hashes, blocks are fetched ahead.
    pub ahead: u32,
    /// With NVIDIA's driver: hashes that can get their memory as they advance, where more are wanted than fit as a whole.
    pub grow: bool,
    /// With wgpu: words of 64 bits are pairs of 32, though the device has whole ones.
    pub pairs: bool,
    /// With wgpu: threads exchange words through shared memory, though the device has subgroups.
    pub shared: bool,
}

impl Tuning {
    /// How long strips may take.
    const LEAST: Duration = Duration::from_micros(100);
    const MOST: Duration = Duration::from_millis(50);

    /// With this many hashes at most, and all else as it is first guessed.
    pub(crate) fn guess(hashes: u64, ahead: u32) -> Tuning {
        let hashes = u32::try_from(hashes.max(1)).unwrap_or(u32::MAX);
        Tuning { hashes, strip: Duration::from_millis(4), ahead, grow: true, pairs: false, shared: false }
    }

    /// The same with so many hashes at most.
    #[must_use]
    pub fn at_most(self, hashes: usize) -> Tuning {
        Tuning { hashes: self.hashes.min(u32::try_from(hashes).unwrap_or(u32::MAX)).max(1), ..self }
    }

    /// Within bounds, whoever made it.
    pub(crate) fn bounded(self) -> Tuning {
        Tuning { hashes: self.hashes.max(1), strip: self.strip.clamp(Tuning::LEAST, Tuning::MOST), ..self }
    }

    /// Itself, and others that differ in one thing each: in how many of the `fit` hashes go side by side, in how long strips take, and
    /// in what else `others` has.
    pub(crate) fn with_others(self, fit: u64, others: impl IntoIterator<Item = Tuning>) -> Vec<Tuning> {
        let fit = u32::try_from(fit).unwrap_or(u32::MAX).min(self.hashes).max(1);
        let mut all = vec![self];
        let fewer = [fit / 4 * 3, fit / 2].map(|hashes| Tuning { hashes: hashes.max(1), ..self });
        let strips = [1, 16].map(|millis| Tuning { strip: Duration::from_millis(millis), ..self });
        // As many as fit is what the guess comes to.
        let fewer = fewer.into_iter().filter(|tuning| tuning.hashes < fit);
        for tuning in fewer.chain(strips).chain(others) {
            if !all.contains(&tuning) {
                all.push(tuning);
            }
        }
        all
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tuning { hashes, strip, ahead, grow, pairs, shared } = *self;
        write!(f, "hashes={hashes} strip-us={} ahead={ahead}", strip.as_micros())?;
        for (name, value) in [("grow", grow), ("pairs", pairs), ("shared", shared)] {
            write!(f, " {name}={}", if value { "yes" } else { "no" })?;
        }
        Ok(())
    }
}

/// A line that is no [`Tuning`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TuningError(String);

impl TuningError {
    pub(crate) fn of(why: String) -> TuningError {
        TuningError(why)
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

    /// What [`Display`](fmt::Display) gives: all of it, in its order, within bounds.
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
        let strip = Duration::from_micros(number("strip-us", value("strip-us")?)?.into());
        let ahead = number("ahead", value("ahead")?)?;
        let grow = answer("grow", value("grow")?)?;
        let pairs = answer("pairs", value("pairs")?)?;
        let shared = answer("shared", value("shared")?)?;
        if words.next().is_some() {
            return Err(TuningError("there is more behind it".to_owned()));
        }
        let hashes = NonZero::new(hashes).ok_or_else(|| TuningError("hashes is 0".to_owned()))?.get();
        if !(Tuning::LEAST..=Tuning::MOST).contains(&strip) {
            return Err(TuningError(format!("strip-us is {}, not 100 to 50000", strip.as_micros())));
        }
        Ok(Tuning { hashes, strip, ahead, grow, pairs, shared })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written_and_nothing_else_is() {
        let tuning = Tuning { pairs: true, grow: false, ..Tuning::guess(66, 1056) };
        let line = tuning.to_string();
        assert_eq!(line, "hashes=66 strip-us=4000 ahead=1056 grow=no pairs=yes shared=no");
        assert_eq!(line.parse(), Ok(tuning));
        for (from, to, why) in [
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
            assert!(error.to_string().contains(why), "{from} {to}: {error}");
        }
    }

    #[test]
    fn what_is_tried_is_the_guess_first_and_nothing_twice() {
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
