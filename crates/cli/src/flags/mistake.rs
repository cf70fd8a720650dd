//! What the parser of the command line says, on one line. The lab has this for itself: it is mounted by other programs, too.

/// The message of a mistake on one line: what is wrong, what was meant, where to read on.
///
/// The parser's own tip stands where nothing better is known, but what it calls similar often is not.
pub(super) fn one_line(error: &clap::Error, hint: Option<&str>) -> String {
    let rendered = error.render().to_string();
    let mut lines = rendered.lines();
    let first = lines.next().unwrap_or_default();
    let mut message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    for line in lines {
        let text = line.trim();
        let continues = message.ends_with(':') || (line.starts_with("  ") && !text.is_empty());
        if let Some(tip) = text.strip_prefix("tip: ") {
            let guess = ["a similar argument", "a similar subcommand", "some similar"];
            if hint.is_none() && !guess.iter().any(|words| tip.starts_with(words)) {
                message = format!("{message}; {tip}");
            }
        } else if line.starts_with("Usage:") {
            break;
        } else if continues && !text.is_empty() {
            message = format!("{message} {text}");
        }
    }
    match hint {
        Some(hint) => format!("{message}; {hint} (see --help)"),
        None => format!("{message} (see --help)"),
    }
}
