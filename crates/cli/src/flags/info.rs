//! The flags of `hashmill info`.

use clap::Args;

/// Show what this machine hashes with, and why
#[derive(Args, Debug)]
pub(crate) struct InfoArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
