//! The flags of `hashmill lab`, which the lab's own parser handles.

use clap::Args;
use std::ffi::OsString;

/// Benchmark code or commands, with evidence that others can check
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct LabArgs {
    /// A command of the lab and its flags; `hashmill lab --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}
