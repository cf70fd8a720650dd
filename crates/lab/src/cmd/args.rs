//! The command line as it is typed.

use crate::plan::{Control, Plan};
use crate::stats::verdict::Rule;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// Measure so that a stranger can check the result.
#[derive(Debug, Parser)]
#[command(disable_version_flag = true, after_help = AFTER_HELP)]
pub(super) struct Lab {
    #[command(subcommand)]
    pub(super) command: Command,
}

const AFTER_HELP: &str = "\
Start with `run headline`; then `list` shows what can be measured. Every measuring command writes
report.json, report.html and report.md, and keeps what was measured when it is interrupted.

Exit codes:
  0  done, and nothing speaks against the result
  1  a gate failed, a check found something, a claim does not hold, a comparison is what --fail-on names
  2  the command makes no sense: unknown case, number out of range, unreadable or unwritable file
  3  nothing was proven: interrupted, or inconclusive under --strict
  4  the result must not be used: wrong digest, failed control, damaged or foreign report";

/// A number above zero.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "it is no number".to_owned())?;
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err("it must be a number above 0".to_owned()) }
}

/// A number that may be zero.
fn not_negative(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "it is no number".to_owned())?;
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err("it must be 0 or more".to_owned()) }
}

/// A length of time: a number with ms, s, m or h.
pub(super) fn length(text: &str) -> Result<Duration, String> {
    let wrong = || "it is no length of time, such as 500ms, 90s, 10m or 2h".to_owned();
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

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the cases that can be measured, or explain the timing classes.
    List(List),
    /// Measure cases alone: time, interval, rate; for minutes with --for, and in their parts with --explain.
    Run(Run),
    /// Compare side by side, baseline first: engines, cases, builds, or any commands after `--`.
    Compare(Box<super::compare::Compare>),
    #[cfg(feature = "gates")]
    /// Hold comparisons against a file of gates: pass, fail or unproven.
    Gate(super::gate::GateArgs),
    #[cfg(feature = "gates")]
    /// Numbers in documents that come from reports: check, render, make, or measure them again.
    Claim(super::claim::ClaimArgs),
    /// Check reports: shape, rules, and every conclusion computed again from what the sessions gave.
    Check(Check),
    /// Show a report again in another form; sign it; import results of other tools; print schemas.
    Report(super::reports::ReportArgs),
    /// Say what this machine allows to be measured, and what stands in the way.
    Doctor(super::doctor::Doctor),
    /// Take samples for a parent process.
    #[command(hide = true)]
    Session,
}

impl Command {
    /// Whether the exit code answers a question, so that one who breaks off the output has had no answer.
    pub(super) fn is_verdict(&self) -> bool {
        !matches!(self, Command::List(_) | Command::Report(_) | Command::Session)
    }
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Cases: workload/engine/class/size/tN[/kernel][/knob=value…], with * and missing ends, or a suite's name.
    pub(super) patterns: Vec<String>,
    /// Explain the timing classes: what each includes and excludes.
    #[arg(long)]
    pub(super) classes: bool,
}

#[derive(Debug, Args)]
pub(super) struct Run {
    /// Cases, as in `list`.
    #[arg(required = true)]
    pub(super) patterns: Vec<String>,
    /// Also measure what the machine can do at best, and show how far each row is from it. A suite may ask for it.
    #[arg(long, conflicts_with_all = ["length", "explain"])]
    pub(super) floor: bool,
    /// Run each case for so long, such as 90s or 10m: is the last quarter as fast as the first? With --strict, exit with 1
    /// where it is not.
    #[arg(long = "for", value_name = "LENGTH", value_parser = length, conflicts_with_all = SESSIONS)]
    pub(super) length: Option<Duration>,
    /// Windows of the run, each of which is one sample.
    #[arg(long, hide_short_help = true, value_name = "LENGTH", value_parser = length, default_value = "1s", requires = "length")]
    pub(super) window: Duration,
    /// Say where the time goes instead of how long it is: instructions, events, functions, and what they mean.
    #[arg(long, conflicts_with = "length", conflicts_with_all = SESSIONS)]
    pub(super) explain: bool,
    /// With --explain: compare the instructions with those in a counts.json from before.
    #[arg(long, value_name = "FILE", requires = "explain")]
    pub(super) against: Option<PathBuf>,
    /// Exit with 1 when instructions grew by more than this.
    #[arg(long, hide_short_help = true, value_name = "PERCENT", default_value_t = 0.2, requires = "against", value_parser = positive)]
    pub(super) limit_pct: f64,
    #[command(flatten)]
    pub(super) measuring: Measuring,
}

/// Options about sessions, where there is but one.
const SESSIONS: [&str; 8] =
    ["sessions", "looks", "rounds", "warm_ups", "sample_ms", "cool_down_secs", "control", "no_pin"];

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Report files.
    #[arg(required = true)]
    pub(super) files: Vec<PathBuf>,
    /// The samples behind a report [default: samples.json beside it, where there is one].
    #[arg(long, value_name = "FILE")]
    pub(super) samples: Option<PathBuf>,
    /// Each report must have a signature of somebody in this file, which `ssh-keygen` calls allowed signers; made by
    /// `report sign`, it lies beside the report.
    #[arg(long, value_name = "FILE")]
    pub(super) signers: Option<PathBuf>,
    /// Who of them it must be.
    #[arg(long, value_name = "NAME", requires = "signers")]
    pub(super) identity: Option<String>,
}

/// Options of every command that measures.
#[derive(Clone, Debug, Args)]
pub(super) struct Measuring {
    /// Folder for report.json, report.html, report.md and samples.json [default: lab-results/<id>].
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Print the report as JSON instead of tables.
    #[arg(long)]
    pub(super) json: bool,
    /// Exit with 3 when a comparison stays inconclusive.
    #[arg(long)]
    pub(super) strict: bool,
    /// In a workflow of GitHub: fill its summary, and annotate faults.
    ///
    /// The step's summary gets the tables, and the run is annotated with what went wrong.
    #[arg(long)]
    pub(super) github: bool,
    /// Sessions of a case that is measured alone [default: 10], and the most of a comparison [default: 40].
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub(super) sessions: Option<usize>,
    /// Numbers of sessions at which a comparison is looked at [default: 10,20,40].
    #[arg(
        long,
        hide_short_help = true,
        value_name = "N,N…",
        value_delimiter = ',',
        conflicts_with = "sessions"
    )]
    pub(super) looks: Vec<usize>,
    /// Most rounds per session; fewer where one iteration takes longer than a sample should.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 50)]
    pub(super) rounds: usize,
    /// Untimed samples before the first round of a session.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 2)]
    pub(super) warm_ups: usize,
    /// Length of a sample in milliseconds.
    #[arg(long, hide_short_help = true, value_name = "MS", default_value_t = 0.5, value_parser = positive)]
    pub(super) sample_ms: f64,
    /// Pause between sessions in seconds.
    #[arg(long, hide_short_help = true, value_name = "S", default_value_t = 0.0, value_parser = not_negative)]
    pub(super) cool_down_secs: f64,
    /// Seed of the inputs and of the random orders.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Let the scheduler move single-threaded cases between processors.
    #[arg(long, hide_short_help = true)]
    pub(super) no_pin: bool,
    /// Comparisons that also set their baseline against itself.
    #[arg(long, hide_short_help = true, value_enum, default_value = "all")]
    pub(super) control: Control,
    /// Longest wait for one answer of a session in seconds.
    #[arg(long, hide_short_help = true, value_name = "S", default_value_t = 120)]
    pub(super) timeout_secs: u64,
}

impl Measuring {
    /// What the options mean; [`Plan::validate`] says whether it can be done.
    pub(super) fn plan(&self) -> Plan {
        Plan {
            rule: match self.sessions {
                _ if !self.looks.is_empty() => Rule::at(&self.looks),
                Some(sessions) => Rule::up_to(sessions),
                None => Rule::standard(),
            },
            solo_sessions: self.sessions.unwrap_or(Plan::default().solo_sessions),
            rounds: self.rounds,
            warm_ups: self.warm_ups,
            // An absurd number of milliseconds saturates and is then refused by its range.
            sample_ns: (self.sample_ms * 1e6) as u64,
            cool_down_ms: (self.cool_down_secs * 1e3) as u64,
            seed: self.seed,
            timeout_s: self.timeout_secs,
            pin: !self.no_pin,
            control: self.control,
        }
    }
}
