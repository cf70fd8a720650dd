//! Usage errors on one line.

use crate::model::registry::Suite;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Former commands and their replacements.
const RENAMED: [(&str, &str); 10] = [
    ("ab", "compare BASELINE CANDIDATE --cases CASE..."),
    ("count", "run --explain CASE..."),
    ("duel", "compare --engines BASELINE,CANDIDATE CASE..."),
    ("import", "report import FILE..."),
    ("noise", "doctor --noise"),
    ("profile", "run --explain CASE..."),
    ("prove", "claim prove ID"),
    ("schema", "report schema"),
    ("soak", "run --for 2m CASE..."),
    ("tune", "run CASE..."),
];

/// Flags of hyperfine that the lab does not have, and their replacements.
const FOREIGN: [(&str, &str); 8] = [
    ("--export-asciidoc", "--export-markdown and --export-csv write tables"),
    ("--export-orgmode", "--export-markdown and --export-csv write tables"),
    ("--max-benchmarking-time", "use --budget 30s"),
    ("--min-benchmarking-time", "--min-runs sets a minimum number of runs, --budget a time limit"),
    ("--sort", "commands keep their order, because the others are compared with the first"),
    ("--style", "a terminal has colours unless NO_COLOR is set, a pipe has none"),
    ("--time-limit", "use --timeout 10s"),
    ("--debug-mode", "there is nothing to debug: the lab never subtracts the time of a shell"),
];

/// Replacement for a renamed command or for a flag of another program.
pub(crate) fn renamed(error: &clap::Error, suites: &[Suite]) -> Option<String> {
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) {
        let flag = typed.split(['=', ' ']).next().unwrap_or_default();
        let (flag, instead) = FOREIGN
            .iter()
            .find(|(foreign, _)| error.kind() == ErrorKind::UnknownArgument && *foreign == flag)?;
        return Some(format!("there is no {flag}; {instead}"));
    }
    if let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg)
        && missing.iter().any(|name| name.contains("<COMMAND>"))
    {
        return Some("this flag needs commands after `--`: compare -- 'A' 'B'".to_owned());
    }
    if let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg)
        && missing.iter().any(|name| name.contains("<PATTERNS>"))
    {
        let start = suites.iter().find(|suite| suite.summary.is_some()).or(suites.first());
        return Some(match start {
            Some(suite) => {
                format!("name what to run: `run {}` is a good start, `list` shows all", suite.name)
            }
            None => "name what to run: `list` shows all".to_owned(),
        });
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let (old, new) = RENAMED.iter().find(|(old, _)| old == typed)?;
    Some(format!("`{old}` is `{new}` now"))
}

/// Error message on one line: what is wrong, the parser's hints, where to read more.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let rendered = error.render().to_string();
    let mut lines = rendered.lines();
    let first = lines.next().unwrap_or_default();
    let mut message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    for line in lines {
        let text = line.trim();
        let continues = message.ends_with(':') || (line.starts_with("  ") && !text.is_empty());
        if let Some(tip) = text.strip_prefix("tip: ") {
            message = format!("{message}; {tip}");
        } else if line.starts_with("Usage:") {
            break;
        } else if continues && !text.is_empty() {
            message = format!("{message} {text}");
        }
    }
    message
}
