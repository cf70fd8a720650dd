//! Short commands for gates: `cargo rivals blake3` is `cargo rivals lab gate` with the gates about BLAKE3, in sessions short enough
//! that all of them take minutes.

use std::ffi::OsString;
use std::fs;

use anyhow::Context as _;
use hashmill_machine::{Machine, date};

use crate::{builds, lab, programs};

/// Options of a measurement.
#[derive(Clone, Debug, clap::Args)]
pub struct RivalRequest {
    /// Only gates whose name or cases contain this; given several times, all must match.
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Build the programs and stop, so that a later run only measures.
    #[arg(long)]
    pub build_only: bool,
    /// Print the verdicts as JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Keep the report in this machine's folder of bench/records.
    #[arg(long)]
    pub record: bool,
    /// Fail when a gate is missed.
    #[arg(long)]
    pub enforce: bool,
    /// Maximum number of rounds per session.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub rounds: usize,
    /// Seed of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Measures the gates about `topic`. Returns the exit code of the lab.
pub fn measure(topic: &str, request: &RivalRequest) -> anyhow::Result<u8> {
    if topic == PROGRAMS {
        programs::build()?;
    }
    let folder =
        builds::target().join("rivals").join(format!("{topic}-{}", date::now_utc().replace(':', "")));
    let code = lab::run(arguments(topic, request, folder.as_os_str().to_owned()));
    let has_verdicts = matches!(code, 0 | 1);
    if request.record && has_verdicts {
        let date = date::now_utc();
        let name = format!("{}-{topic}.json", &date[..10]);
        let records = builds::workspace().join("bench/records").join(Machine::read().slug());
        fs::create_dir_all(&records)
            .and_then(|()| fs::copy(folder.join("report.json"), records.join(&name)))
            .with_context(|| format!("keeping {}", records.join(&name).display()))?;
    }
    Ok(if has_verdicts && !request.enforce { 0 } else { code })
}

fn arguments(topic: &str, request: &RivalRequest, folder: OsString) -> Vec<OsString> {
    let gates = builds::workspace().join("bench/gates.toml");
    let mut arguments = vec!["gate".into(), gates.into(), "--out".into(), folder];
    for text in std::iter::once(topic).chain(request.filter.iter().map(String::as_str)) {
        arguments.extend(["--filter".into(), text.into()]);
    }
    arguments.extend(["--rounds".into(), request.rounds.to_string().into()]);
    arguments.extend(["--seed".into(), request.seed.to_string().into()]);
    arguments.extend(request.json.then(|| "--json".into()));
    arguments
}

/// The topic of complete programs.
const PROGRAMS: &str = "b3sum";

/// Builds every program that the gates about `topic` may need, so that a later run only measures.
pub fn build(topic: &str) -> anyhow::Result<()> {
    match topic {
        PROGRAMS => programs::build(),
        _ => lab::builds(topic).try_for_each(|name| lab::variant(name).map(drop)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_becomes_a_command_of_the_lab() {
        let request = RivalRequest {
            filter: vec!["xof".into()],
            build_only: false,
            rounds: 3,
            seed: 7,
            json: true,
            record: false,
            enforce: false,
        };
        let arguments = arguments("blake3", &request, "here".into());
        let texts: Vec<String> =
            arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
        let gates = builds::workspace().join("bench/gates.toml");
        assert_eq!(texts[1], gates.to_string_lossy());
        let rest = "--out here --filter blake3 --filter xof --rounds 3 --seed 7 --json";
        assert_eq!(texts[2..].join(" "), rest);
    }
}
