//! `cargo xtask tune`: has this host measured. What is measured and decided is in `crates/hash/examples/tune`.

use std::path::Path;

use anyhow::ensure;

use crate::run;
use crate::steps::Cmd;

/// What goes into the row besides the measurement.
pub(crate) struct TuneRequest {
    /// The day, as the row's basis will have it. Without one the row calls itself unmeasured.
    pub(crate) date: Option<String>,
}

impl TuneRequest {
    pub(crate) fn new(date: Option<&String>) -> anyhow::Result<Self> {
        if let Some(date) = date {
            ensure!(is_date(date), "a date like 2026-01-31, not {date}");
        }
        Ok(Self { date: date.cloned() })
    }

    fn command(&self) -> Cmd {
        let mut command = Cmd::cargo(&["run", "--locked", "--release", "-p", "hashmill-hash"]);
        command.args.extend(["--example", "tune", "--"].map(str::to_owned));
        command.args.extend(self.date.clone());
        command
    }
}

/// Whether `text` has the form of a date. Which days a month has is left to the reader of the row.
fn is_date(text: &str) -> bool {
    let fits =
        |(at, byte): (usize, u8)| if [4, 7].contains(&at) { byte == b'-' } else { byte.is_ascii_digit() };
    text.len() == 10 && text.bytes().enumerate().all(fits)
}

/// Measures; true if the measurement came to its end.
pub(crate) fn run(root: &Path, request: &TuneRequest) -> anyhow::Result<bool> {
    Ok(run::step(root, "tune", &[request.command()], true)?.failure.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_the_form_of_one() {
        assert!(is_date("2026-01-31"));
        assert!(
            !["2026-1-31", "31.01.2026", "2026-01-31 ", "2026x01x31", "today"].map(is_date).contains(&true)
        );
    }

    #[test]
    fn the_date_is_handed_on_and_the_build_is_optimised() {
        let command = |date: Option<&str>| {
            let request = TuneRequest::new(date.map(str::to_owned).as_ref()).expect("a date");
            request.command().args.join(" ")
        };
        assert_eq!(
            command(Some("2026-01-31")),
            "run --locked --release -p hashmill-hash --example tune -- 2026-01-31"
        );
        assert!(command(None).ends_with("--example tune --"));
    }
}
