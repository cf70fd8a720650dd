//! The command line as it is typed.

use crate::plan::{Control, Plan};
use crate::stats::verdict::Rule;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

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
  1  a gate failed, a check found something, a claim does not hold
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

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the cases that can be measured, or explain the timing classes.
    List(List),
    /// Measure cases alone: time, interval, rate.
    Run(Run),
    /// Set two engines of this program against each other, both in one process per session.
    Duel(Duel),
    /// Compare two builds: a revision, a directory or a program against another, built alike and measured side by side.
    Ab(super::ab::Ab),
    /// Numbers in documents that come from reports: check them, render them, make new ones.
    Claim(super::claim::ClaimArgs),
    /// Measure a claim again, on this machine: holds, weaker, or does not hold here.
    Prove(super::claim::Prove),
    /// Hold comparisons against a file of gates: pass, fail or unproven.
    Gate(super::gate::GateArgs),
    /// Count instructions per call under Valgrind; a guard against accidents, no proof of speed.
    Count(super::count::Count),
    /// Say what this machine allows to be measured, and what stands in the way.
    Doctor(super::doctor::Doctor),
    /// Show where the time of a case goes: events per call, functions, and what they mean.
    Profile(super::profile::ProfileArgs),
    /// Show results of hyperfine and criterion as a table.
    Import(super::import::Import),
    /// Run cases for minutes: is the last quarter as fast as the first?
    Soak(super::soak::SoakArgs),
    /// Find out what this machine can prove: identical sides and known slowdowns, compared again and again.
    Noise(Noise),
    /// Check reports: shape, rules, and every conclusion computed again from the raw samples.
    Check(Check),
    /// Render a report, or another document of the lab, again.
    Report(Render),
    /// Print the JSON Schema of reports, or of another document of the lab.
    Schema(Schema),
    /// Take samples for a parent process.
    #[command(hide = true)]
    Session,
}

impl Command {
    /// Whether the exit code answers a question, so that one who breaks off the output has had no answer.
    pub(super) fn is_verdict(&self) -> bool {
        !matches!(self, Command::List(_) | Command::Report(_) | Command::Schema(_) | Command::Session)
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
    #[arg(long)]
    pub(super) floor: bool,
    #[command(flatten)]
    pub(super) measuring: Measuring,
}

#[derive(Debug, Args)]
pub(super) struct Duel {
    /// Cases, as in `list`; with --engines, the engine segment of each pattern is filled in.
    #[arg(required = true)]
    pub(super) patterns: Vec<String>,
    /// Two engines: the verdict is about OURS, compared with RIVAL. Without it, give exactly two cases: ours, rival.
    #[arg(long, value_name = "OURS,RIVAL", value_delimiter = ',')]
    pub(super) engines: Vec<String>,
    #[command(flatten)]
    pub(super) measuring: Measuring,
}

#[derive(Debug, Args)]
pub(super) struct Noise {
    /// Cases to set against themselves [default: the lab's own probes of CPU and memory].
    pub(super) cases: Vec<String>,
    /// 300 A/A comparisons of each probe, and 100 with each known slowdown.
    #[arg(long)]
    pub(super) full: bool,
    /// Both sides in one process per session, as in a duel, instead of one process each, as in an A/B run.
    #[arg(long)]
    pub(super) together: bool,
    /// Stop after this many seconds; the same command with the same --record goes on.
    #[arg(long, value_name = "S")]
    pub(super) seconds: Option<u64>,
    /// Let the scheduler move the sides between processors.
    #[arg(long)]
    pub(super) no_pin: bool,
    /// File that collects the comparisons.
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    /// Most rounds per session.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(super) rounds: usize,
    /// Length of a sample in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0.5, value_parser = positive)]
    pub(super) sample_ms: f64,
}

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Report files.
    #[arg(required = true)]
    pub(super) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct Render {
    /// Report file.
    pub(super) file: PathBuf,
    /// Form of the output.
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: Format,
}

#[derive(Debug, Args)]
pub(super) struct Schema {
    /// Which document.
    #[arg(value_enum, default_value = "report")]
    pub(super) of: Kind,
}

/// The documents that the lab writes.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Kind {
    Report,
    Noise,
    Count,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Format {
    Text,
    Markdown,
    Html,
    Json,
}

/// Options of every command that measures.
#[derive(Clone, Debug, Args)]
pub(super) struct Measuring {
    /// Folder for report.json, report.html and report.md [default: lab-results/<id>].
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Print the report as JSON instead of tables.
    #[arg(long)]
    pub(super) json: bool,
    /// Exit with 3 when a comparison stays inconclusive.
    #[arg(long)]
    pub(super) strict: bool,
    /// One more planned look, at 80 sessions; refuses a busy machine.
    #[arg(long, hide_short_help = true)]
    pub(super) publish: bool,
    /// Sessions of a case that is measured alone.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 10)]
    pub(super) sessions: usize,
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
    /// Which comparisons also set their baseline against itself.
    #[arg(long, hide_short_help = true, value_enum, default_value = "first")]
    pub(super) control: ControlArg,
    /// Longest wait for one answer of a session in seconds.
    #[arg(long, hide_short_help = true, value_name = "S", default_value_t = 120)]
    pub(super) timeout_secs: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ControlArg {
    Off,
    First,
    All,
}

impl Measuring {
    /// What the options mean; [`Plan::validate`] says whether it can be done.
    pub(super) fn plan(&self) -> Plan {
        Plan {
            rule: if self.publish { Rule::publish() } else { Rule::standard() },
            solo_sessions: self.sessions,
            rounds: self.rounds,
            warm_ups: self.warm_ups,
            // An absurd number of milliseconds saturates and is then refused by its range.
            sample_ns: (self.sample_ms * 1e6) as u64,
            cool_down_ms: (self.cool_down_secs * 1e3) as u64,
            seed: self.seed,
            timeout_s: self.timeout_secs,
            pin: !self.no_pin,
            control: match self.control {
                ControlArg::Off => Control::Off,
                ControlArg::First => Control::First,
                ControlArg::All => Control::All,
            },
        }
    }
}
