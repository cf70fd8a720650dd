//! Rules for the walks of ARCHITECTURE.md: each file is used by an earlier file of the same walk.
//!
//! A walk follows one job from the call to the work, one file per numbered line. "Used" is decided from the text: the earlier
//! file names the later file's module, or an item that the later file declares.

use crate::tidy::{Fault, TextFile};

const PAGE: &str = "ARCHITECTURE.md";
const SECTION: &str = "## Walks";

/// Maximum lines of the page: a longer page is not read to its end.
const MAX_LINES: usize = 150;

/// Maximum files of a walk.
const MAX_FILES: usize = 10;

/// Minimum length of a name: shorter names occur by chance.
const MIN_NAME: usize = 4;

/// A walk: its heading, and its files with their lines on the page.
struct Walk<'a> {
    heading: &'a str,
    line: usize,
    files: Vec<(usize, &'a str)>,
}

pub(super) fn check(files: &[TextFile]) -> Vec<Fault> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else {
        return vec![Fault::new(PAGE, 0, "missing")];
    };
    let mut faults = Vec::new();
    let lines = page.text.lines().count();
    if lines > MAX_LINES {
        faults.push(Fault::new(PAGE, 0, format!("has {lines} lines; the limit is {MAX_LINES}")));
    }
    let walks = walks(&page.text);
    if walks.is_empty() {
        faults.push(Fault::new(PAGE, 0, format!("has no walks under `{SECTION}`")));
    }
    for walk in walks {
        if !(2..=MAX_FILES).contains(&walk.files.len()) {
            let message =
                format!("\"{}\" has {} files, not 2 to {MAX_FILES}", walk.heading, walk.files.len());
            faults.push(Fault::new(PAGE, walk.line, message));
        }
        faults.extend(broken_steps(&walk, files));
    }
    faults
}

/// The walks of the page: a heading of the third level, then numbered lines that begin with a path in back quotes.
fn walks(text: &str) -> Vec<Walk<'_>> {
    let mut walks: Vec<Walk<'_>> = Vec::new();
    let lines = text.lines().enumerate().skip_while(|(_, line)| *line != SECTION).skip(1);
    for (index, line) in lines.take_while(|(_, line)| !line.starts_with("## ")) {
        if let Some(heading) = line.strip_prefix("### ") {
            walks.push(Walk { heading, line: index + 1, files: Vec::new() });
        } else if let (Some(walk), Some(path)) = (walks.last_mut(), step(line)) {
            walk.files.push((index + 1, path));
        }
    }
    walks
}

/// The path of a numbered line: `3. \`crates/hash/src/lib.rs\`: …`.
fn step(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(". `")?;
    number.parse::<usize>().ok()?;
    rest.split_once('`').map(|(path, _)| path)
}

/// Steps whose file is missing, or is used by no earlier file of the walk.
fn broken_steps(walk: &Walk<'_>, files: &[TextFile]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut earlier: Vec<&TextFile> = Vec::new();
    for &(line, path) in &walk.files {
        let Some(file) = files.iter().find(|file| file.path == path) else {
            faults.push(Fault::new(PAGE, line, format!("names `{path}`, which does not exist")));
            continue;
        };
        if !earlier.is_empty() && !earlier.iter().any(|from| uses(from, file)) {
            let message = format!("no earlier file of \"{}\" uses `{path}`", walk.heading);
            faults.push(Fault::new(PAGE, line, message));
        }
        earlier.push(file);
    }
    faults
}

/// Whether `from` names the module or a public item of `to`, and the crate of `to` if it is another one.
fn uses(from: &TextFile, to: &TextFile) -> bool {
    let (from_crate, to_crate) = (crate_name(&from.path), crate_name(&to.path));
    let code: Vec<&str> = code(&from.text).collect();
    let names = |name: &str| code.iter().any(|line| words(line).any(|word| word == name));
    if from_crate != to_crate && !names(&format!("hashmill_{}", to_crate.replace('-', "_"))) {
        return false;
    }
    names_module(&code, module_name(&to.path)) || declared(&to.text).any(names)
}

/// The folder of a crate, without the folder above: `hash`, `atomic-file`.
fn crate_name(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or_default()
}

/// The module of a file: its name, or that of its folder if it is `mod.rs`.
fn module_name(path: &str) -> &str {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    match name {
        "mod.rs" => parts.next().unwrap_or_default(),
        _ => name.strip_suffix(".rs").unwrap_or(name),
    }
}

/// Lines without those that are comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//"))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Whether a path of the code has this module: `module::`, `::module`, `mod module;`, or a `use` with the module in braces.
fn names_module(code: &[&str], module: &str) -> bool {
    let (before, after, declared) = (format!("::{module}"), format!("{module}::"), format!("mod {module};"));
    let mut in_use = false;
    for line in code {
        let start = line.trim_start();
        in_use |= ["use ", "pub use ", "pub(crate) use ", "pub(super) use "]
            .iter()
            .any(|word| start.starts_with(word));
        let is_word = words(line).any(|word| word == module);
        let is_path = line.contains(&before) || line.contains(&after) || line.ends_with(&declared);
        if is_word && (in_use || is_path) {
            return true;
        }
        in_use &= !line.trim_end().ends_with(';');
    }
    false
}

/// The names of items that a file declares for other files, methods excluded.
fn declared(text: &str) -> impl Iterator<Item = &str> {
    const KINDS: [&str; 7] = ["fn", "struct", "enum", "trait", "type", "const", "static"];
    code(text).filter(|line| line.starts_with("pub")).filter_map(|line| {
        let mut words = words(line).skip_while(|word| !KINDS.contains(word));
        // `const fn` has two of them.
        let name = words.find(|word| !KINDS.contains(word) && *word != "unsafe")?;
        (name.len() >= MIN_NAME).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.to_owned(), text: text.to_owned() }
    }

    fn faults(steps: &[&str], files: &[(&str, &str)]) -> Vec<String> {
        let lines: String = steps.iter().map(|path| format!("1. `{path}`: words.\n")).collect();
        let mut all =
            vec![file(PAGE, &format!("# A\n\n{SECTION}\n\n### A job\n\n{lines}\n## Next\n\n1. `x/y`\n"))];
        all.extend(files.iter().map(|(path, text)| file(path, text)));
        check(&all).into_iter().map(|fault| fault.message).collect()
    }

    const TREE: [(&str, &str); 4] = [
        ("crates/cli/src/sum/mod.rs", "use hashmill_files::Files;\nmod hash;\n"),
        ("crates/cli/src/commands/sum/hash.rs", "use super::*;\n"),
        ("crates/files/src/files.rs", "use crate::{\n    plan,\n};\npub struct Files;\n"),
        ("crates/files/src/read/plan.rs", "// Files\npub(crate) const fn tile_len() {}\n"),
    ];

    #[test]
    fn a_walk_along_uses_has_no_fault() {
        let steps: Vec<&str> = TREE.iter().map(|(path, _)| *path).collect();
        assert!(faults(&steps, &TREE).is_empty());
    }

    #[test]
    fn a_file_that_no_earlier_one_uses_is_named() {
        let messages = faults(&["crates/files/src/read/plan.rs", "crates/files/src/files.rs"], &TREE);
        assert_eq!(messages, ["no earlier file of \"A job\" uses `crates/files/src/files.rs`"]);
        let messages = faults(&["crates/cli/src/commands/sum/hash.rs", "crates/files/src/files.rs"], &TREE);
        assert_eq!(messages.len(), 1, "a name alone does not prove a use of another crate");
    }

    #[test]
    fn a_missing_file_and_a_walk_of_one_file_are_faults() {
        assert_eq!(faults(&["crates/cli/src/sum/mod.rs", "crates/gone.rs"], &TREE).len(), 1);
        assert_eq!(faults(&["crates/cli/src/sum/mod.rs"], &TREE).len(), 1);
        assert_eq!(faults(&[], &TREE).len(), 1);
    }

    #[test]
    fn a_long_page_is_a_fault() {
        let page = file(PAGE, &"\n".repeat(MAX_LINES + 1));
        assert_eq!(check(&[page]).len(), 2, "and it has no walks");
    }

    #[test]
    fn modules_and_items_are_read_from_the_text() {
        assert_eq!(module_name("crates/hash/src/argon2/mod.rs"), "argon2");
        let text = "pub fn hash() {}\npub(crate) const fn tile_len() {}\nimpl X {\n    pub fn method_name() {}\n}\npub struct Id;\n";
        assert_eq!(declared(text).collect::<Vec<_>>(), ["hash", "tile_len"]);
        assert!(names_module(&["mod plan;"], "plan") && names_module(&["let a = plan::of(x);"], "plan"));
        assert!(!names_module(&["let plan = 1;", "use a::b;", "plan;"], "plan"));
    }
}
