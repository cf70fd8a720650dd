//! Commands that this build leaves out. They parse, so that the error names the missing feature.

use clap::Args;
use std::ffi::OsString;

/// Not in this build
#[derive(Args, Debug)]
#[command(disable_help_flag = true, hide = true)]
pub(crate) struct DisabledArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}
