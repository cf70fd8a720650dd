//! Messages of the command-line parser on one line. The lab has its own copy, as other programs mount it, too.

/// The message of a usage error on one line: the error, a suggestion, and a pointer to the help.
///
/// Uses clap's own tip without a better one, except for its "similar" names, which often are not.
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
