//! Manual pages: the sections of clap_mangen, and those that it lacks.
//!
//! Help has exit codes in its description and examples after its options. Pages have separate sections for both.

use clap::Command;
use clap_mangen::Man;
use std::fs;
use std::io;
use std::path::Path;

/// Exit codes of commands that do not document their own or inherit them from a parent command.
const USUAL_CODES: &str = "0 success, 1 failure, 2 the command line cannot be used.";

const TUNED: (&str, &str) = (
    "$XDG_STATE_HOME/hashmill/tune.json",
    "Choices of `hashmill tune` for this machine; without XDG_STATE_HOME it is below ~/.local/state, on macOS \
     below ~/Library/Application Support, on Windows below %LOCALAPPDATA%.",
);

/// Files of commands and their subcommands: names and contents.
const FILES: [(&str, &[(&str, &str)]); 7] = [
    (
        "hashmill-sum",
        &[
            TUNED,
            (
                ".LIST.journal",
                "Beside a list while --update runs: the digests computed so far. The next run resumes an interrupted \
                 one.",
            ),
        ],
    ),
    ("hashmill-compare", &[TUNED]),
    ("hashmill-password", &[TUNED]),
    ("hashmill-info", &[TUNED]),
    ("hashmill-tune", &[TUNED]),
    ("hashmill-lab-run", &[RESULTS]),
    (
        "hashmill-lab-compare",
        &[RESULTS, ("hashmill-lab.toml", "At the top of a repository: how to build it, and what to run.")],
    ),
];

const RESULTS: (&str, &str) =
    ("lab-results/ID", "The folder of a run: report.json, report.html, report.md and samples.json.");

/// Writes a page for `command` and for each one below it.
pub(super) fn write(command: Command, folder: &Path) -> io::Result<()> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    write_below(&command, None, folder)
}

/// The parent of a command.
struct Parent<'a> {
    /// Its name.
    name: &'a str,
    codes: &'a str,
}

fn write_below(command: &Command, parent: Option<&Parent<'_>>, folder: &Path) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let (about, own) =
        split_codes(&command.get_long_about().or(command.get_about()).map_or_else(String::new, text));
    let mut parts = Parts { about, ..Parts::parse(&command.get_after_help().map_or_else(String::new, text)) };
    let codes = own
        .or(parts.codes.take())
        .unwrap_or_else(|| parent.map_or(USUAL_CODES, |parent| parent.codes).to_owned());
    fs::write(folder.join(format!("{name}.1")), page(command, name, &parts, &codes, parent)?)?;
    let parent = Parent { name, codes: &codes };
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_below(inner, Some(&parent), folder)?;
    }
    Ok(())
}

fn text(styled: &clap::builder::StyledStr) -> String {
    styled.to_string()
}

/// The sections of the text after the options of `-h`.
#[derive(Default)]
struct Parts {
    about: String,
    /// Other paragraphs.
    more: Vec<String>,
    examples: Vec<String>,
    codes: Option<String>,
}

impl Parts {
    fn parse(after_help: &str) -> Parts {
        let mut parts = Parts::default();
        for block in after_help.split("\n\n") {
            if let Some(lines) = block.strip_prefix("Examples:\n") {
                parts
                    .examples
                    .extend(lines.lines().map(|line| line.strip_prefix("  ").unwrap_or(line).to_owned()));
            } else if let Some(lines) = block.strip_prefix("Exit codes:\n") {
                parts.codes = Some(lines.to_owned());
            } else if !block.is_empty() {
                parts.more.push(block.to_owned());
            }
        }
        parts
    }
}

/// Splits the sentence about exit codes off a description.
fn split_codes(about: &str) -> (String, Option<String>) {
    let Some((before, after)) = about.split_once("Exit codes: ") else { return (about.to_owned(), None) };
    let (codes, rest) = after.split_once("\n\n").unwrap_or((after, ""));
    (format!("{}\n\n{rest}", before.trim_end()).trim_end().to_owned(), Some(codes.to_owned()))
}

/// Parses exit codes: in a sentence they follow a comma or a semicolon, in a table they start lines.
fn parse_codes(codes: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for line in codes.lines() {
        let mut may_start = true;
        for word in line.split_whitespace() {
            if may_start && word == found.len().to_string() {
                found.push((found.len(), String::new()));
            } else if let Some((_, text)) = found.last_mut() {
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(word);
            }
            may_start = word.ends_with([',', ';']);
        }
    }
    for (_, text) in &mut found {
        text.truncate(text.trim_end_matches([',', ';', '.']).len());
    }
    found
}

fn page(
    command: &Command,
    name: &str,
    parts: &Parts,
    codes: &str,
    parent: Option<&Parent<'_>>,
) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone().long_about(parts.about.clone()));
    // Every section of clap_mangen starts with definitions that belong before the title. Its title leaves out an empty date,
    // which shifts the following fields, so the title is written here.
    let mut definitions = Vec::new();
    man.render_title(&mut definitions)?;
    definitions.truncate(definitions.windows(4).position(|bytes| bytes == b".TH ").unwrap_or(0));
    let source = concat!("hashmill ", env!("CARGO_PKG_VERSION"));
    let title = format!(".TH {} 1 \"\" \"{source}\" \"Hashmill\"\n", name.to_uppercase());
    let mut sections = Vec::new();
    let mut add = |render: &dyn Fn(&mut Vec<u8>) -> io::Result<()>| {
        let mut section = Vec::new();
        render(&mut section)?;
        sections.push(section.strip_prefix(&*definitions).unwrap_or(&section).to_owned());
        io::Result::Ok(())
    };
    add(&|out| man.render_name_section(out))?;
    add(&|out| man.render_synopsis_section(out))?;
    add(&|out| man.render_description_section(out))?;
    add(&|out| {
        let lines =
            |paragraph: &String| paragraph.lines().map(|line| escaped(line) + "\n").collect::<String>();
        out.extend(parts.more.iter().flat_map(|paragraph| format!(".PP\n{}", lines(paragraph)).into_bytes()));
        Ok(())
    })?;
    if command.get_arguments().any(|arg| !arg.is_hide_set()) {
        add(&|out| man.render_options_section(out))?;
    }
    if command.get_subcommands().any(|inner| !inner.is_hide_set()) {
        add(&|out| man.render_subcommands_section(out))?;
    }
    let mut page = [&*definitions, title.as_bytes(), &sections.concat()].concat();
    page.extend_from_slice(own_sections(command, name, parts, codes, parent).as_bytes());
    Ok(page)
}

/// The sections that clap_mangen lacks.
fn own_sections(
    command: &Command,
    name: &str,
    parts: &Parts,
    codes: &str,
    parent: Option<&Parent<'_>>,
) -> String {
    let mut out = ".SH \"EXIT STATUS\"\n".to_owned();
    for (code, text) in parse_codes(codes) {
        out += &format!(".TP\n\\fB{code}\\fR\n{}\n", escaped(&text));
    }
    let belongs_to =
        |owner: &str| name.strip_prefix(owner).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    let files: Vec<_> =
        FILES.iter().filter(|(owner, _)| belongs_to(owner)).flat_map(|(_, files)| *files).collect();
    if !files.is_empty() {
        out += ".SH FILES\n";
    }
    for (file, words) in files {
        out += &format!(".TP\n\\fI{}\\fR\n{}\n", escaped(file), escaped(words));
    }
    if !parts.examples.is_empty() {
        let lines: String = parts.examples.iter().map(|line| escaped(line) + "\n").collect();
        out += &format!(".SH EXAMPLES\n.nf\n{lines}.fi\n");
    }
    let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    let inner = inner.map(|inner| inner.get_display_name().unwrap_or(inner.get_name()));
    let related: Vec<_> = parent
        .map(|parent| parent.name)
        .into_iter()
        .chain(inner)
        .map(|page| format!(".BR {} (1)", escaped(page)))
        .collect();
    if !related.is_empty() {
        out += &format!(".SH \"SEE ALSO\"\n{}\n", related.join(",\n"));
    }
    out
}

/// Escapes characters that are special to the formatter.
fn escaped(line: &str) -> String {
    let mut out = String::new();
    if line.starts_with(['.', '\'']) {
        out.push_str("\\&");
    }
    for c in line.chars() {
        match c {
            '\\' => out.push_str("\\e"),
            '-' => out.push_str("\\-"),
            '\'' => out.push_str("\\(aq"),
            '`' => out.push_str("\\(ga"),
            '^' => out.push_str("\\(ha"),
            '~' => out.push_str("\\(ti"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_codes() {
        let sentence = "0 done, or 1 more; 1 no: not, 2 x; 2 no answer, see 1.";
        let entry = |code: usize, text: &str| (code, text.to_owned());
        // A number that is not the next code is text.
        assert_eq!(
            parse_codes(sentence),
            [entry(0, "done, or 1 more"), entry(1, "no: not"), entry(2, "x; 2 no answer, see 1")]
        );
        assert_eq!(
            parse_codes("  0  done, and well\n  1  not\n  of all"),
            [entry(0, "done, and well"), entry(1, "not of all")]
        );
        assert_eq!(parse_codes(USUAL_CODES).len(), 3);
    }

    #[test]
    fn splits_exit_codes_off() {
        let (about, codes) = split_codes("One\n\nTwo. Exit codes: 0 a, 1 b.\n\nThree");
        assert_eq!((&*about, codes.as_deref()), ("One\n\nTwo.\n\nThree", Some("0 a, 1 b.")));
        assert_eq!(split_codes("One"), ("One".to_owned(), None));
    }

    #[test]
    fn escapes_requests() {
        assert_eq!(escaped(".a\\n 'b' -c"), "\\&.a\\en \\(aqb\\(aq \\-c");
        assert_eq!(escaped("'x"), "\\&\\(aqx");
    }
}
