//! The flags of `hashmill info`.

use clap::Args;

/// Show the CPU features, kernels and devices in use, and why
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill info
  hashmill info --json | jq .kernels")]
pub(crate) struct InfoArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
