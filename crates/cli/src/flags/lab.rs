//! `hashmill lab`: everything after the word is for the lab's own parser.

use clap::Args;
use std::ffi::OsString;

/// Measure how fast something is, so that others can check it
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct LabArgs {
    /// A command of the lab and its flags; `hashmill lab --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}
