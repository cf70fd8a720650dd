//! Suggestions for unknown flags and commands: the nearest name, or a hint for names of other programs.

use super::foreign_flags;
use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// The suggestion for an unknown word, in place of clap's own tip.
pub(super) fn suggest(error: &clap::Error, definition: &Command, args: &[OsString]) -> Option<String> {
    let (command, path) = command_of(definition, args);
    let word = |kind| error.get(kind).map(ToString::to_string);
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let typed = word(ContextKind::InvalidArg)?;
            typed.starts_with('-').then(|| suggest_flag(&typed, definition, command, &path)).flatten()
        }
        ErrorKind::InvalidSubcommand => {
            let typed = word(ContextKind::InvalidSubcommand)?;
            suggest_command(&typed, command, &path)
        }
        _ => None,
    }
}

/// The command in the arguments, and its path after the program name.
fn command_of<'c>(definition: &'c Command, args: &[OsString]) -> (&'c Command, String) {
    let mut command = definition;
    let mut path = Vec::new();
    for word in args.iter().skip(1).filter_map(|word| word.to_str()).filter(|word| !word.starts_with('-')) {
        let Some(inner) = command.find_subcommand(word) else { break };
        command = inner;
        path.push(inner.get_name());
    }
    (command, path.join(" "))
}

fn suggest_flag(typed: &str, definition: &Command, command: &Command, path: &str) -> Option<String> {
    let typed = typed.split('=').next().unwrap_or(typed);
    if let Some(here) = foreign_flags::hint_for_flag(path, typed) {
        return Some(here.to_owned());
    }
    if let Some(name) = typed.strip_prefix("--") {
        let all = command.get_arguments().chain(definition.get_arguments().filter(|arg| arg.is_global_set()));
        if let Some(near) = nearest(name, all.flat_map(long_names)) {
            return Some(format!("a similar argument exists: '--{near}'"));
        }
    }
    // A flag of a subcommand, given before it.
    let is = |arg: &Arg| match typed.strip_prefix("--") {
        Some(name) => arg.get_long() == Some(name),
        None => arg.get_short().is_some_and(|short| typed == format!("-{short}")),
    };
    let mut owners = command.get_subcommands().filter(|inner| inner.get_arguments().any(is));
    owners.next().map(|owner| format!("'{}' has it", [path, owner.get_name(), typed].join(" ").trim_start()))
}

fn suggest_command(typed: &str, command: &Command, path: &str) -> Option<String> {
    if let Some(here) = foreign_flags::hint_for_command(path, typed) {
        return Some(here.to_owned());
    }
    let names = command.get_subcommands().filter(|inner| !inner.is_hide_set()).map(Command::get_name);
    if let Some(near) = nearest(typed, names.chain(["help"]).map(str::to_owned)) {
        return Some(format!("a similar subcommand exists: '{near}'"));
    }
    let near = |word: &str| word.len() > 3 && edit_distance(typed, word) == 1;
    if let Some(here) = foreign_flags::foreign_commands(path).iter().find(|(word, _)| near(word)) {
        return Some(here.1.to_owned());
    }
    let is_file = typed.contains(['.', '/', '\\']);
    match path {
        "" if is_file => Some("files are for 'hashmill sum', documents for 'hashmill doc show'".to_owned()),
        "doc" if is_file => Some("documents follow a command: 'hashmill doc show'".to_owned()),
        _ => None,
    }
}

/// The visible long names of a flag.
fn long_names(arg: &Arg) -> Vec<String> {
    let aliases = arg.get_visible_aliases().unwrap_or_default();
    let names = arg.get_long().into_iter().chain(aliases);
    names.filter(|_| !arg.is_hide_set()).map(str::to_owned).collect()
}

/// The nearest name: by edit distance, or as the only one with this prefix.
pub(crate) fn nearest(typed: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let names: BTreeSet<String> = names.collect();
    let by_distance = |name: &&String| edit_distance(typed, name);
    let closest = names.iter().min_by_key(by_distance)?;
    let max_distance = match typed.chars().count() {
        0..3 => 0,
        3..5 => 1,
        5..9 => 2,
        _ => 3,
    };
    if edit_distance(typed, closest) <= max_distance {
        return Some(closest.clone());
    }
    // A name with a suffix (--check-list), or a prefix of a name (--recur).
    let longer = |name: &&String| name.len() >= 3 && typed.starts_with(name.as_str());
    let completed: Vec<&String> =
        names.iter().filter(|name| typed.len() >= 2 && name.starts_with(typed)).collect();
    match (&completed[..], names.iter().filter(longer).max_by_key(|name| name.len())) {
        ([only], _) => Some((*only).clone()),
        (_, longest) => longest.cloned(),
    }
}

/// Number of letters that are wrong, missing, superfluous, or swapped with a neighbour.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let other = usize::from(a[i - 1] != b[j - 1]);
            let mut distance = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + other);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                distance = distance.min(rows[i - 2][j - 2] + 1);
            }
            row.push(distance);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits() {
        for (a, b, count) in [
            ("", "abc", 3),
            ("recursve", "recursive", 1),
            ("recusrive", "recursive", 1),
            ("summ", "sum", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!((edit_distance(a, b), edit_distance(b, a)), (count, count), "{a} {b}");
        }
    }

    #[test]
    fn finds_near_names() {
        let names = ["check", "recursive", "exclude", "derive-key", "expect", "tag", "raw"];
        let near = |typed| nearest(typed, names.iter().map(|name| (*name).to_owned()));
        for (typed, name) in [
            ("recursve", Some("recursive")),
            ("recur", Some("recursive")),
            ("check-list", Some("check")),
            ("tga", Some("tag")),
            ("ex", None),
            ("exc", Some("exclude")),
            ("tagged", Some("tag")),
            ("unknown", None),
            ("row", Some("raw")),
            ("", None),
        ] {
            assert_eq!(near(typed).as_deref(), name, "{typed}");
        }
    }
}
