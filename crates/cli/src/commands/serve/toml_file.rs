//! Parsing of TOML files, with errors of one line.

use crate::flags::{UsageError, nearest};
use anyhow::Result;
use serde::de::DeserializeOwned;

/// Parses a file, or says in one line what is wrong.
pub(super) fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml_edit::de::from_str(text).map_err(|error| {
        let message = suggest_name(error.message()).unwrap_or_else(|| error.message().to_owned());
        // One line: the place is in the message.
        let message: Vec<&str> = message.lines().collect();
        let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        UsageError(format!("{line}{}", message.join(" "))).into()
    })
}

/// The message about an unknown name, with the nearest known one in place of all.
fn suggest_name(message: &str) -> Option<String> {
    let (unknown, known) = message.split_once(", expected")?;
    let typed = unknown.strip_prefix("unknown field `")?.strip_suffix('`')?;
    let known = known.split('`').skip(1).step_by(2).map(str::to_owned);
    Some(format!("{unknown}: did you mean `{}`?", nearest(typed, known)?))
}
