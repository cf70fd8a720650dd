//! The flags of `hashmill tune`.

use super::password::time;
use clap::Args;
use std::time::Duration;

/// Measure which kernels are fastest on this processor, and use them from now on
///
/// Takes about a minute, and wants the machine to be idle. What is built in stays unless something else is surely faster. Digests
/// are the same with every choice. It is kept in $XDG_STATE_HOME/hashmill/tune.json, for this processor and this version of the
/// program, and `hashmill info` says whether it is used; HASHMILL_TUNE=off ignores it. Exit codes: 0 a choice was made, 1 the
/// machine was too busy to tell or the choice could not be kept, 2 the command line cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill tune
  hashmill tune --dry-run --json | jq .choices
  hashmill tune --forget")]
pub(crate) struct TuneArgs {
    /// Keep nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Measure nothing, and go back to what is built in
    #[arg(long, conflicts_with_all = ["dry_run", "time", "json", "source"])]
    pub(crate) forget: bool,

    /// About how long to measure: 20s, 90s
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub(crate) time: Duration,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Print the rows for the tables of the source, too
    #[arg(long, hide = true, conflicts_with = "json")]
    pub(crate) source: bool,
}
