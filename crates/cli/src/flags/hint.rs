//! What somebody meant who typed a flag or a command that is not there: what is nearest, or what it is called here.

use super::habits;
use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// A word, and what to say about it instead of the parser's own tip.
pub(super) fn hint(error: &clap::Error, definition: &Command, args: &[OsString]) -> Option<String> {
    let (command, path) = asked(definition, args);
    let word = |kind| error.get(kind).map(ToString::to_string);
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let typed = word(ContextKind::InvalidArg)?;
            typed.starts_with('-').then(|| of_flag(&typed, definition, command, &path)).flatten()
        }
        ErrorKind::InvalidSubcommand => {
            let typed = word(ContextKind::InvalidSubcommand)?;
            of_command(&typed, command, &path)
        }
        _ => None,
    }
}

/// The command that was asked for, and its path behind the name of the program.
fn asked<'c>(definition: &'c Command, args: &[OsString]) -> (&'c Command, String) {
    let mut command = definition;
    let mut path = Vec::new();
    for word in args.iter().skip(1).filter_map(|word| word.to_str()).filter(|word| !word.starts_with('-')) {
        let Some(inner) = command.find_subcommand(word) else { break };
        command = inner;
        path.push(inner.get_name());
    }
    (command, path.join(" "))
}

fn of_flag(typed: &str, definition: &Command, command: &Command, path: &str) -> Option<String> {
    let typed = typed.split('=').next().unwrap_or(typed);
    if let Some(here) = habits::of_flag(path, typed) {
        return Some(here.to_owned());
    }
    if let Some(name) = typed.strip_prefix("--") {
        let all = command.get_arguments().chain(definition.get_arguments().filter(|arg| arg.is_global_set()));
        if let Some(near) = nearest(name, all.flat_map(long_names)) {
            return Some(format!("a similar argument exists: '--{near}'"));
        }
    }
    // In front of the command it belongs to.
    let is = |arg: &Arg| match typed.strip_prefix("--") {
        Some(name) => arg.get_long() == Some(name),
        None => arg.get_short().is_some_and(|short| typed == format!("-{short}")),
    };
    let mut owners = command.get_subcommands().filter(|inner| inner.get_arguments().any(is));
    owners.next().map(|owner| format!("'{}' has it", [path, owner.get_name(), typed].join(" ").trim_start()))
}

fn of_command(typed: &str, command: &Command, path: &str) -> Option<String> {
    if let Some(here) = habits::of_command(path, typed) {
        return Some(here.to_owned());
    }
    let names = command.get_subcommands().filter(|inner| !inner.is_hide_set()).map(Command::get_name);
    if let Some(near) = nearest(typed, names.chain(["help"]).map(str::to_owned)) {
        return Some(format!("a similar subcommand exists: '{near}'"));
    }
    let near = |word: &str| word.len() > 3 && slips(typed, word) == 1;
    if let Some(here) = habits::of_commands(path).iter().find(|(word, _)| near(word)) {
        return Some(here.1.to_owned());
    }
    let is_file = typed.contains(['.', '/', '\\']);
    match path {
        "" if is_file => Some("files are for 'hashmill sum', documents for 'hashmill doc show'".to_owned()),
        "doc" if is_file => Some("documents stand behind a verb: 'hashmill doc show'".to_owned()),
        _ => None,
    }
}

/// The names of a flag that somebody may have meant.
fn long_names(arg: &Arg) -> Vec<String> {
    let aliases = arg.get_visible_aliases().unwrap_or_default();
    let names = arg.get_long().into_iter().chain(aliases);
    names.filter(|_| !arg.is_hide_set()).map(str::to_owned).collect()
}

/// What is like it: by a slip of the fingers, or as the beginning of one word.
fn nearest(typed: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let names: BTreeSet<String> = names.collect();
    let by_slips = |name: &&String| slips(typed, name);
    let closest = names.iter().min_by_key(by_slips)?;
    let few = match typed.chars().count() {
        0..3 => 0,
        3..5 => 1,
        5..9 => 2,
        _ => 3,
    };
    if slips(typed, closest) <= few {
        return Some(closest.clone());
    }
    // A flag with more behind it (--check-list), or its beginning (--recur).
    let longer = |name: &&String| name.len() >= 3 && typed.starts_with(name.as_str());
    let begun: Vec<&String> =
        names.iter().filter(|name| typed.len() >= 2 && name.starts_with(typed)).collect();
    match (&begun[..], names.iter().filter(longer).max_by_key(|name| name.len())) {
        ([only], _) => Some((*only).clone()),
        (_, longest) => longest.cloned(),
    }
}

/// So many letters are wrong, missing, too many, or have changed places with a neighbour.
fn slips(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let other = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + other);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        for (a, b, count) in [
            ("", "abc", 3),
            ("recursve", "recursive", 1),
            ("recusrive", "recursive", 1),
            ("summ", "sum", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!((slips(a, b), slips(b, a)), (count, count), "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_is_near() {
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
