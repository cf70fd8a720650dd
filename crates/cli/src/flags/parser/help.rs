//! Short help: `-h` fits a screen and has examples; `--help` has everything.

use clap::{Arg, ArgAction, Command};

/// Hides from `-h`, below the first level, flags that every command has.
pub(super) fn short(command: Command) -> Command {
    command.mut_subcommands(|command| {
        let version = Arg::new("version").short('V').long("version").action(ArgAction::Version);
        let version = version.help("Print version").hide_short_help(true);
        short(command.disable_version_flag(true).arg(version))
    })
}

#[cfg(test)]
mod tests {
    use super::short;
    use crate::flags::{Command as Parsed, CommandLine, parse};
    use clap::{Command, CommandFactory};
    use std::ffi::OsString;

    /// Lines of a small terminal.
    const SCREEN: usize = 24;

    /// Commands whose `-h` needs more than one screen.
    const LONGER: [(&str, usize); 4] = [
        ("hashmill sum", 40),
        ("hashmill doc", 40),
        ("hashmill password upgrade", 30),
        ("hashmill serve", 30),
    ];

    /// Every command by its path, except those of the lab.
    fn all(mut command: Command) -> Vec<(String, Command)> {
        fn below(path: String, command: &Command, all: &mut Vec<(String, Command)>) {
            let is_listed =
                |inner: &Command| !inner.is_hide_set() && !["help", "lab"].contains(&inner.get_name());
            for inner in command.get_subcommands().filter(|inner| is_listed(inner)) {
                below(format!("{path} {}", inner.get_name()), inner, all);
            }
            all.push((path, command.clone()));
        }
        command.build();
        let mut found = Vec::new();
        below("hashmill".to_owned(), &command, &mut found);
        found
    }

    fn rendered(command: &Command, path: &str, columns: usize) -> String {
        let mut command = command.clone().bin_name(path).term_width(columns);
        command.render_help().to_string()
    }

    /// The command lines of the program in a shell line, as words.
    fn calls(line: &str) -> Vec<Vec<String>> {
        let (mut commands, mut words, mut word, mut quote) = (Vec::new(), Vec::new(), None::<String>, None);
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (Some(_), c) => word.get_or_insert_default().push(c),
                (None, '\'' | '"') => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (None, '#') if word.is_none() => break,
                (None, ' ' | '|' | '&' | ';' | '>' | '<') => {
                    words.extend(word.take());
                    match c {
                        ' ' => {}
                        // Skip the file name of a redirection.
                        '>' | '<' => {
                            while chars.next_if(|c| matches!(*c, ' ' | '>')).is_some() {}
                            while chars.next_if(|c| *c != ' ').is_some() {}
                        }
                        _ => commands.push(std::mem::take(&mut words)),
                    }
                }
                (None, c) => word.get_or_insert_default().push(c),
            }
        }
        assert_eq!(quote, None, "an open quotation mark: {line}");
        words.extend(word);
        commands.push(words);
        commands.retain(|words| words.first().is_some_and(|first| first == "hashmill"));
        commands
    }

    #[test]
    fn parses_shell_lines() {
        let line =
            "echo '{\"a b\": 1}' | hashmill doc x - --y ''  >out z && hashmill sum <in >> out  # hashmill no";
        assert_eq!(calls(line), [vec!["hashmill", "doc", "x", "-", "--y", "", "z"], vec!["hashmill", "sum"]]);
    }

    #[test]
    fn short_help_fits_a_screen_and_examples_parse() {
        let commands = all(short(CommandLine::<Parsed>::command()));
        assert!(commands.len() > 10);
        let mut faults = Vec::new();
        for (path, command) in &commands {
            let limit = LONGER.iter().find(|(name, _)| name == path).map_or(SCREEN, |(_, lines)| *lines);
            for columns in [80, 100] {
                let help = rendered(command, path, columns);
                let lines = help.lines().count();
                // On a narrow terminal some lines wrap.
                let limit = if columns == 100 { limit } else { limit + 6 };
                if lines > limit {
                    faults.push(format!("{path}: {lines} lines of {columns} columns, not {limit}"));
                }
                let widest = help.lines().map(|line| line.chars().count()).max();
                if widest > Some(columns) {
                    faults.push(format!("{path}: {widest:?} columns of {columns}"));
                }
            }
            let (help, narrow) = (rendered(command, path, 100), rendered(command, path, 80));
            let examples: Vec<&str> = help.lines().skip_while(|line| *line != "Examples:").skip(1).collect();
            for example in examples.iter().filter(|example| !narrow.lines().any(|line| line == **example)) {
                faults.push(format!("{path}: broken in 80 columns: {example}"));
            }
            let calls: Vec<_> = examples.iter().flat_map(|line| calls(line)).collect();
            let own = calls.iter().filter(|words| words.join(" ").starts_with(path.as_str())).count();
            if own < 2 {
                faults.push(format!("{path}: {own} examples"));
            }
            for words in calls {
                if let Err(early) = parse(words.iter().map(OsString::from).collect())
                    && early.error.use_stderr()
                {
                    faults.push(format!("{}: {}", words.join(" "), early.message()));
                }
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    /// Every command of the lab by its path.
    #[cfg(all(feature = "generate", feature = "lab"))]
    fn all_of_the_lab(path: &str, command: &Command) -> Vec<(String, Command)> {
        let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        let inner = inner.flat_map(|inner| all_of_the_lab(&format!("{path} {}", inner.get_name()), inner));
        std::iter::once((path.to_owned(), command.clone())).chain(inner).collect()
    }

    #[cfg(all(feature = "generate", feature = "lab"))]
    #[test]
    fn lab_examples_parse() {
        let definition = crate::commands::lab::definition();
        let commands = all_of_the_lab("hashmill lab", &definition);
        assert!(commands.len() > 10);
        for (path, command) in commands {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = help.split("\n\n").find_map(|block| block.strip_prefix("Examples:\n"));
            let lines = examples.unwrap_or_else(|| panic!("{path}: no examples")).replace("\\\n", " ");
            let calls: Vec<Vec<String>> = lines.lines().flat_map(calls).collect();
            let own = calls.iter().filter(|words| words.join(" ").starts_with(&path)).count();
            assert!(own >= 2, "{path}: {own} examples");
            for words in calls {
                // The lab's parser has one word for its name.
                let parsed = definition.clone().try_get_matches_from(&words[1..]);
                assert!(parsed.is_ok(), "{}: {}", words.join(" "), parsed.expect_err("a usage error"));
            }
        }
    }
}
