//! The flags of `hashmill tune`.

use super::password::time;
use super::{EngineFlags, Kib};
use clap::Args;
use std::time::Duration;

/// Measure which kernels are fastest on this processor, and use them from now on
///
/// With `--engine cuda` or `--engine wgpu`: how Argon2 is best laid out on a device and how files are best cut for it, and how fast it is
/// beside the processor.
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
  hashmill tune --engine cuda -m 2GiB -t 1
  hashmill tune --forget")]
pub(crate) struct TuneArgs {
    /// Keep nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Measure nothing, and go back to what is built in
    #[arg(long, conflicts_with_all = ["dry_run", "time", "json", "source", "engine", "device", "memory", "passes", "lanes", "hashes", "files"])]
    pub(crate) forget: bool,

    /// About how long to measure: 20s, 90s
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub(crate) time: Duration,

    /// On a device: the memory of a hash [default: 19MiB with 2 passes, and 64MiB with 3]
    #[arg(short = 'm', long, value_name = "SIZE", requires = "passes")]
    pub(crate) memory: Option<Kib>,

    /// On a device: passes over the memory
    #[arg(short = 't', long, value_name = "N", requires = "memory")]
    pub(crate) passes: Option<u32>,

    /// On a device: lanes [default: 1]
    #[arg(short = 'p', long, value_name = "N", requires = "memory")]
    pub(crate) lanes: Option<u32>,

    /// On a device: at most so many hashes side by side [default: 4096]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) hashes: Option<u32>,

    /// On a device: measure how files are best cut for it, and not Argon2
    #[arg(long, conflicts_with_all = ["memory", "hashes"])]
    pub(crate) files: bool,

    #[command(flatten)]
    pub(crate) engine: EngineFlags,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Print the rows for the tables of the source, too
    #[arg(long, hide = true, conflicts_with = "json")]
    pub(crate) source: bool,
}
