//! Commands that this build leaves out: whoever types one is told so, where a parser would call it unknown.

use clap::Args;
use std::ffi::OsString;

/// Not in this build
#[derive(Args, Debug)]
#[command(disable_help_flag = true, hide = true)]
pub(crate) struct AbsentArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}
