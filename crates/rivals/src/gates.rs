//! What must be true of the ratios: `bench/gates.toml` as data, and the verdict on an estimate.

use serde::{Deserialize, Serialize};

use crate::stats::Estimate;

/// The file with all gates, one array per rival. The others in it are the lab's.
#[derive(Clone, Debug, Deserialize)]
pub struct Gates {
    /// Gates against the b3sum program.
    pub b3sum: Vec<Gate>,
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
}

/// What an estimate means for a gate.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The whole interval lies at or above the aim.
    Aim,
    /// The whole interval lies at or above what must be reached.
    Met,
    /// The interval crosses the bar, or there are too few sessions for one.
    Unproven,
    /// The whole interval lies below the bar.
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
    /// Judges one row.
    #[must_use]
    pub fn verdict(&self, estimate: &Estimate) -> Verdict {
        if self.within_us.is_some_and(|within| estimate.ours_ns > within * 1e3) {
            return Verdict::Missed;
        }
        match (self.must, estimate.interval) {
            (None, _) if self.within_us.is_some() => Verdict::Met,
            (None, _) => Verdict::Open,
            (Some(must), Some([_, high])) if high < must => Verdict::Missed,
            (Some(must), Some([low, _])) if low >= must => match self.aim {
                Some(aim) if low >= aim => Verdict::Aim,
                _ => Verdict::Met,
            },
            (Some(_), _) => Verdict::Unproven,
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
        Gate { name: "test".into(), rows: vec![], must, aim, rival: None, within_us: None }
    }

    fn estimate(interval: Option<[f64; 2]>) -> Estimate {
        Estimate { rival_ns: 1.0, ours_ns: 1.0, ratio: 1.0, interval }
    }

    #[test]
    fn verdicts() {
        let gate_ = gate(Some(1.1), Some(1.25));
        let verdict = |low, high| gate_.verdict(&estimate(Some([low, high])));
        assert_eq!(verdict(1.05, 1.09), Verdict::Missed);
        assert_eq!(verdict(1.05, 1.12), Verdict::Unproven);
        assert_eq!(verdict(1.11, 1.12), Verdict::Met);
        assert_eq!(verdict(1.11, 1.30), Verdict::Met, "the interval reaches below the aim");
        assert_eq!(verdict(1.26, 1.30), Verdict::Aim);
        assert_eq!(gate_.verdict(&estimate(None)), Verdict::Unproven);
        assert_eq!(gate(None, None).verdict(&estimate(Some([0.1, 0.1]))), Verdict::Open);
    }

    #[test]
    fn the_gates_of_the_lab_are_no_concern_here() {
        let text = "b3sum = []\ndoc = []\n[[gate]]\nname = \"x\"\n";
        assert!(parse(text).is_ok_and(|gates| gates.b3sum.is_empty()));
    }

    #[test]
    fn a_time_of_our_own_can_be_the_bar() {
        let gate = Gate { within_us: Some(2.0), ..gate(None, None) };
        let took = |ours_ns| Estimate { ours_ns, ..estimate(None) };
        assert_eq!(gate.verdict(&took(1_999.0)), Verdict::Met);
        assert_eq!(gate.verdict(&took(2_001.0)), Verdict::Missed);
    }

    #[test]
    fn a_misspelt_key_is_an_error() {
        let error = parse("[[b3sum]]\nname = \"x\"\nrows = []\nmusst = 1.0\n").expect_err("misspelt");
        assert!(error.to_string().contains("musst"), "{error}");
    }
}
