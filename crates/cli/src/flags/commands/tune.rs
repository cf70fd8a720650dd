//! The flags of `hashmill tune`.

use super::engine::EngineFlags;
use super::password::{Kib, parse_time};
use clap::Args;
use std::time::Duration;

/// Measure which kernels are fastest on this machine, and save the choice
///
/// With `--engine cuda` or `--engine wgpu`: the fastest Argon2 layout and file tiles for a device, and its speed compared with the
/// CPU.
///
/// Takes about a minute and needs an idle machine. The built-in choice stays unless another is faster with confidence. Digests are
/// the same with every choice. It is saved in $XDG_STATE_HOME/hashmill/tune.json, for this CPU and this version of the program;
/// `hashmill info` says whether it is used, and HASHMILL_TUNE=off ignores it. Exit codes: 0 a choice was made, 1 the machine was
/// too busy or the choice could not be saved, 2 the command line cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill tune
  hashmill tune --dry-run --json | jq .choices
  hashmill tune --engine cuda -m 2GiB -t 1
  hashmill tune --forget")]
pub(crate) struct TuneArgs {
    /// Save nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Measure nothing, and return to the built-in choices
    #[arg(long, conflicts_with_all = ["dry_run", "time", "json", "source", "engine", "device", "memory", "passes", "lanes", "hashes", "files"])]
    pub(crate) forget: bool,

    /// Approximate time to measure: 20s, 90s
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
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

    /// On a device: maximum number of hashes side by side [default: 4096]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) hashes: Option<u32>,

    /// On a device: measure only file tiles, not Argon2
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
