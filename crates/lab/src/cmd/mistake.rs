//! What the parser of the command line says, on one line.

use clap::error::{ContextKind, ContextValue};

/// Commands that went into others, and what is typed now.
const RENAMED: [(&str, &str); 10] = [
    ("ab", "compare OURS OTHER --cases CASE..."),
    ("count", "run --explain CASE..."),
    ("duel", "compare --engines OURS,OTHER CASE..."),
    ("import", "report import FILE..."),
    ("noise", "doctor --noise"),
    ("profile", "run --explain CASE..."),
    ("prove", "claim prove ID"),
    ("schema", "report schema"),
    ("soak", "run --for 2m CASE..."),
    ("tune", "run CASE..."),
];

/// What to type instead of a command that has another name now.
pub(super) fn renamed(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let (old, new) = RENAMED.iter().find(|(old, _)| old == typed)?;
    Some(format!("`{old}` is `{new}` now"))
}

/// The message of a mistake on one line: what is wrong, the parser's tips, where to read on.
pub(super) fn one_line(error: &clap::Error) -> String {
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
