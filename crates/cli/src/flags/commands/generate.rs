//! The flags of `hashmill generate`.

use clap::Args;
use std::path::PathBuf;

/// Write man pages and completions for bash, zsh, fish and PowerShell
///
/// Pages go to DIR/man, completions to DIR/completions.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill generate ~/.local/share/hashmill
  hashmill generate . && man ./man/hashmill-sum.1")]
pub(crate) struct GenerateArgs {
    /// The folder; it is created if missing
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
