//! `cargo xtask tune`: measures this host by `hashmill tune` and prints the rows for the source.

use std::path::Path;

use crate::command::Cmd;

fn command() -> Cmd {
    // Optional features take minutes to build.
    let mut command =
        Cmd::cargo(&["run", "--locked", "--release", "--no-default-features", "-p", "hashmill-cli"]);
    command.args.extend(["--", "tune", "--dry-run", "--source"].map(str::to_owned));
    command
}

/// Measures; true if the measurement came to its end.
pub(crate) fn run(root: &Path) -> anyhow::Result<bool> {
    command().succeeds(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_is_optimised_and_nothing_is_kept() {
        let words = command().args.join(" ");
        assert!(words.contains(" --release ") && words.ends_with("-- tune --dry-run --source"), "{words}");
    }
}
