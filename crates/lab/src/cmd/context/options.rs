//! Options that several commands share.

use crate::measure::plan::{Control, Plan};
use crate::report::schema::{Report, Verdict};
use crate::stats::verdict::Rule;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// A number above zero.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err("it must be a number above 0".to_owned()) }
}

/// A number that may be zero.
fn not_negative(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err("it must be 0 or more".to_owned()) }
}

/// A duration: a number with ms, s, m or h.
pub(crate) fn length(text: &str) -> Result<Duration, String> {
    let wrong = || "it is not a duration such as 500ms, 90s, 10m or 2h".to_owned();
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit);
    let seconds = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(positive(number)? * seconds).map_err(|_| wrong())
}

/// Options of every command that measures.
#[derive(Clone, Debug, Args)]
pub(crate) struct Measuring {
    /// Folder for report.json, report.html, report.md and samples.json [default: lab-results/<id>].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the report as JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 3 if a comparison is inconclusive.
    #[arg(long)]
    pub(crate) strict: bool,
    /// In a GitHub workflow: write its summary, and annotate failures.
    ///
    /// The summary of the step gets the tables, and failures become annotations.
    #[arg(long)]
    pub(crate) github: bool,
    /// Sessions of a single case [default: 10], and maximum for a comparison [default: 40].
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub(crate) sessions: Option<usize>,
    /// Numbers of sessions after which a comparison is analysed [default: 10,20,40].
    #[arg(
        long,
        hide_short_help = true,
        value_name = "N,N…",
        value_delimiter = ',',
        conflicts_with = "sessions"
    )]
    pub(crate) looks: Vec<usize>,
    /// Maximum number of rounds per session; fewer if one iteration takes longer than a sample should.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 50)]
    pub(crate) rounds: usize,
    /// Untimed samples before the first round of a session.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 2)]
    pub(crate) warm_ups: usize,
    /// Length of a sample in milliseconds.
    #[arg(long, hide_short_help = true, value_name = "MS", default_value_t = 0.5, value_parser = positive)]
    pub(crate) sample_ms: f64,
    /// Pause between sessions in seconds.
    #[arg(long, hide_short_help = true, value_name = "S", default_value_t = 0.0, value_parser = not_negative)]
    pub(crate) cool_down_secs: f64,
    /// Seed of the inputs and of the random orders.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Let the scheduler move single-threaded cases between processors.
    #[arg(long, hide_short_help = true)]
    pub(crate) no_pin: bool,
    /// Comparisons that also compare their baseline with itself.
    #[arg(long, hide_short_help = true, value_enum, default_value = "all")]
    pub(crate) control: Control,
    /// Maximum time for one reply of a session in seconds.
    #[arg(long, hide_short_help = true, value_name = "S", default_value_t = 120)]
    pub(crate) timeout_secs: u64,
}

impl Measuring {
    pub(crate) fn output(&self) -> ReportOutput {
        ReportOutput { json: self.json, strict: self.strict }
    }

    /// Plan of these options; [`Plan::validate`] checks it.
    pub(crate) fn plan(&self) -> Plan {
        Plan {
            rule: match self.sessions {
                _ if !self.looks.is_empty() => Rule::at(&self.looks),
                Some(sessions) => Rule::up_to(sessions),
                None => Rule::standard(),
            },
            solo_sessions: self.sessions.unwrap_or(Plan::default().solo_sessions),
            rounds: self.rounds,
            warm_ups: self.warm_ups,
            // An absurd number of milliseconds saturates and is then out of range.
            sample_ns: (self.sample_ms * 1e6) as u64,
            cool_down_ms: (self.cool_down_secs * 1e3) as u64,
            seed: self.seed,
            timeout_s: self.timeout_secs,
            pin: !self.no_pin,
            control: self.control,
        }
    }
}

/// Form of a command's output, and the strictness of its exit code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReportOutput {
    /// Whether the report is printed as JSON.
    pub(crate) json: bool,
    /// Whether an inconclusive comparison gives the exit code 3.
    pub(crate) strict: bool,
}

/// Verdicts that are failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Slower,
    Changed,
}

impl FailOn {
    pub(crate) fn is_met(self, report: &Report) -> bool {
        report.candidates().any(|(_, comparison)| self.names(comparison.verdict))
    }

    pub(crate) fn names(self, verdict: Verdict) -> bool {
        match self {
            FailOn::Slower => verdict == Verdict::Slower,
            FailOn::Changed => verdict.is_claim(),
        }
    }
}
