//! What must be true of the ratios: `bench/gates.toml` as data, and the verdict on an estimate.

use serde::{Deserialize, Serialize};

use crate::stats::Estimate;

/// The file with all gates, one array per rival. The others in it are the lab's.
#[derive(Clone, Debug, Deserialize)]
pub struct Gates {
    /// Gates against the official BLAKE3 crate.
    pub blake3: Vec<Gate>,
    /// Gates against the b3sum program.
    pub b3sum: Vec<Gate>,
    /// Gates against other implementations of Argon2.
    pub argon2: Vec<Gate>,
    /// Gates against other engines for documents.
    pub doc: Vec<Gate>,
}

/// One line of the requirements: some rows, and how much faster than the rival they have to be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// What a reader calls this class of work.
    pub name: String,
    /// The rows it is judged by.
    pub rows: Vec<String>,
    /// The ratio that has to be reached. Without one the rows are only reported.
    pub must: Option<f64>,
    /// The ratio that would be good.
    pub aim: Option<f64>,
    /// The rival, where there are several.
    #[serde(default)]
    pub rival: Option<String>,
    /// The longest that our side may take, in microseconds, whatever the rival takes.
    #[serde(default)]
    pub within_us: Option<f64>,
    /// How several rows become one verdict.
    #[serde(default)]
    pub judge: Judge,
    /// Instruction sets that both sides are held to.
    #[serde(default)]
    pub level: Level,
    /// Whether the rows are so short that one link layout proves nothing.
    #[serde(default)]
    pub layouts: bool,
}

/// How the rows of a gate are judged.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judge {
    /// Every row for itself.
    #[default]
    Each,
    /// The geometric mean of all rows.
    Geomean,
    /// The lowest row, after a second look at the lowest few.
    Minimum,
}

/// The instruction sets that both sides are held to.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Whatever each side chooses on this machine.
    #[default]
    Native,
    /// AVX2 at most.
    Avx2,
    /// SSE4.1 at most.
    Sse41,
}

impl Level {
    /// Its name in files, flags and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Avx2 => "avx2",
            Self::Sse41 => "sse41",
        }
    }
}

/// What an estimate means for a gate.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The interval lies at or above the aim.
    Aim,
    /// The interval, and every layout, lies at or above what must be reached.
    Met,
    /// The ratio is high enough, but the interval or a layout is not.
    Unproven,
    /// The ratio is too low.
    Missed,
    /// Nothing was required.
    Open,
}

impl Verdict {
    /// One word for a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Aim => "aim",
            Self::Met => "met",
            Self::Unproven => "unproven",
            Self::Missed => "MISSED",
            Self::Open => "",
        }
    }
}

impl Gate {
    /// Judges one row, or the combined estimate of several.
    pub fn verdict(&self, estimate: &Estimate) -> Verdict {
        if self.within_us.is_some_and(|within| estimate.ours_ns > within * 1e3) {
            return Verdict::Missed;
        }
        let certain = estimate.low.min(estimate.worst_layout());
        match (self.must, self.aim) {
            (None, _) if self.within_us.is_some() => Verdict::Met,
            (None, _) => Verdict::Open,
            (Some(must), _) if estimate.ratio < must => Verdict::Missed,
            (Some(must), _) if certain < must => Verdict::Unproven,
            (Some(_), Some(aim)) if certain >= aim => Verdict::Aim,
            _ => Verdict::Met,
        }
    }
}

/// Reads the text of `bench/gates.toml`.
pub fn parse(text: &str) -> Result<Gates, toml::de::Error> {
    toml::from_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(must: Option<f64>, aim: Option<f64>) -> Gate {
        Gate {
            name: "test".into(),
            rows: vec![],
            must,
            aim,
            rival: None,
            within_us: None,
            judge: Judge::Each,
            level: Level::Native,
            layouts: false,
        }
    }

    fn estimate(low: f64, ratio: f64, layouts: &[f64]) -> Estimate {
        let layouts = layouts.iter().map(|&ratio| (String::new(), ratio)).collect();
        Estimate { rival_ns: ratio, ours_ns: 1.0, ratio, low, high: ratio, layouts }
    }

    #[test]
    fn verdicts() {
        let gate_ = gate(Some(1.1), Some(1.25));
        let verdict = |low, ratio, layouts: &[f64]| gate_.verdict(&estimate(low, ratio, layouts));
        assert_eq!(verdict(1.05, 1.09, &[1.09]), Verdict::Missed);
        assert_eq!(verdict(1.05, 1.12, &[1.12]), Verdict::Unproven);
        assert_eq!(verdict(1.11, 1.12, &[1.12]), Verdict::Met);
        assert_eq!(verdict(1.11, 1.30, &[1.30]), Verdict::Met, "the interval reaches below the aim");
        assert_eq!(verdict(1.26, 1.30, &[1.30]), Verdict::Aim);
        assert_eq!(verdict(1.26, 1.30, &[1.50, 1.09]), Verdict::Unproven, "one layout is below the bar");
        assert_eq!(gate(None, None).verdict(&estimate(0.1, 0.1, &[0.1])), Verdict::Open);
    }

    #[test]
    fn the_gates_of_the_lab_are_no_concern_here() {
        let text = "blake3 = []\nb3sum = []\nargon2 = []\ndoc = []\n[[gate]]\nname = \"x\"\n";
        assert!(parse(text).is_ok_and(|gates| gates.blake3.is_empty()));
    }

    #[test]
    fn a_time_of_our_own_can_be_the_bar() {
        let gate = Gate { within_us: Some(2.0), ..gate(None, None) };
        let took = |ours_ns| Estimate { ours_ns, ..estimate(1.0, 1.0, &[1.0]) };
        assert_eq!(gate.verdict(&took(1_999.0)), Verdict::Met);
        assert_eq!(gate.verdict(&took(2_001.0)), Verdict::Missed);
    }

    #[test]
    fn a_misspelt_key_is_an_error() {
        let error = parse("[[blake3]]\nname = \"x\"\nrows = []\nmusst = 1.0\n").expect_err("misspelt");
        assert!(error.to_string().contains("musst"), "{error}");
    }
}
