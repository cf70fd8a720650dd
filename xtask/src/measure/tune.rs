//! `cargo xtask tune`: runs `hashmill tune` on this host and prints rows for the plans in the source.

use std::path::Path;

use crate::command::Cmd;

fn command() -> Cmd {
    // Optional features take minutes to build.
    let mut command =
        Cmd::cargo(&["run", "--locked", "--release", "--no-default-features", "-p", "hashmill-cli"]);
    command.args.extend(["--", "tune", "--dry-run", "--source"].map(str::to_owned));
    command
}

/// Measures. Returns whether the measurement finished.
pub(crate) fn run(root: &Path) -> anyhow::Result<bool> {
    command().succeeds(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_is_optimised_and_the_result_is_not_stored() {
        let arguments = command().args.join(" ");
        assert!(
            arguments.contains(" --release ") && arguments.ends_with("-- tune --dry-run --source"),
            "{arguments}"
        );
    }
}
