//! What the parser of the command line says, on one line. The lab has this for itself: it is mounted by other programs, too.

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
    format!("{message} (see --help)")
}
