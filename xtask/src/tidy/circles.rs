//! Import circles between the files of a crate.
//!
//! The list of known circles may only shrink: a new circle is a fault, and so is a listed circle that no longer exists.

use std::collections::{BTreeMap, BTreeSet};

use super::{Fault, TextFile, imports};

/// Known circles, one per line: the crate, then the files below its `src`.
pub(super) const LIST: &str = "xtask/tidy/circles.txt";

/// Compares the circles of the tree with `list`.
pub(super) fn check(files: &[TextFile], list: &str) -> Vec<Fault> {
    let circles = find(files);
    let is_listed = |circle: &str| list.lines().any(|line| line == circle);
    let mut faults = Vec::new();
    for (circle, imports) in circles.iter().filter(|(circle, _)| !is_listed(circle)) {
        let message = format!(
            "a new import circle; move what is shared to the lower file:\n  {}",
            imports.join("\n  ")
        );
        faults.push(Fault::new(circle, 0, message));
    }
    for (index, line) in super::entries(list) {
        if !circles.contains_key(line) {
            faults.push(Fault::new(LIST, index, "no such circle: delete the line"));
        }
    }
    if !faults.is_empty() {
        let lines: Vec<_> = circles.keys().map(String::as_str).collect();
        faults.push(Fault::new(LIST, 0, format!("the circles of this tree are:\n{}", lines.join("\n"))));
    }
    faults
}

/// Circles as lines of the list, each with the imports that close it.
fn find(files: &[TextFile]) -> BTreeMap<String, Vec<String>> {
    let mut crates: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for file in files {
        let Some((name, path)) = file.path.split_once("/src/") else { continue };
        let is_test = file.path.contains("/tests/") || path.ends_with("/tests.rs") || path == "tests.rs";
        if path.ends_with(".rs") && !path.starts_with("bin/") && !is_test {
            crates.entry(name).or_default().insert(path, &file.text);
        }
    }
    let mut circles = BTreeMap::new();
    for (name, files) in crates {
        let imports = imports_between(&files);
        for circle in components(&imports) {
            let is_inside = |&&(from, to): &&(&str, &str)| circle.contains(from) && circle.contains(to);
            let inside = imports.iter().filter(is_inside);
            let inside = inside.map(|(from, to)| format!("{from} imports {to}")).collect();
            let files: Vec<_> = circle.iter().copied().collect();
            circles.insert(format!("{name} {}", files.join(" ")), inside);
        }
    }
    circles
}

/// Pairs of files: the first imports from the second.
fn imports_between<'a>(files: &BTreeMap<&'a str, &str>) -> BTreeSet<(&'a str, &'a str)> {
    let modules: BTreeMap<Vec<&str>, &'a str> = files.keys().map(|path| (module(path), *path)).collect();
    let mut pairs = BTreeSet::new();
    for (&from, text) in files {
        for path in imports::paths(text, &module(from)) {
            // The longest part of the path that is a module; the rest are names in it.
            let mut known: Vec<&str> = Vec::new();
            for name in &path {
                known.push(name);
                if !modules.contains_key(&known) {
                    known.pop();
                    break;
                }
            }
            pairs.extend(modules.get(&known).filter(|&&to| to != from).map(|&to| (from, to)));
        }
    }
    pairs
}

/// The module of a file below `src`.
fn module(path: &str) -> Vec<&str> {
    let mut names: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    names.pop_if(|name| ["mod", "lib", "main"].contains(name));
    names
}

/// Strongly connected components of more than one file (Tarjan's algorithm).
fn components<'a>(imports: &BTreeSet<(&'a str, &'a str)>) -> Vec<BTreeSet<&'a str>> {
    let mut search = Search {
        imports,
        index: BTreeMap::new(),
        low: BTreeMap::new(),
        stack: Vec::new(),
        components: Vec::new(),
    };
    for (from, _) in imports {
        if !search.index.contains_key(from) {
            search.visit(from);
        }
    }
    search.components
}

struct Search<'s, 'a> {
    imports: &'s BTreeSet<(&'a str, &'a str)>,
    index: BTreeMap<&'a str, usize>,
    /// Lowest index that can be reached.
    low: BTreeMap<&'a str, usize>,
    stack: Vec<&'a str>,
    components: Vec<BTreeSet<&'a str>>,
}

impl<'a> Search<'_, 'a> {
    fn visit(&mut self, file: &'a str) -> usize {
        let index = self.index.len();
        self.index.insert(file, index);
        self.low.insert(file, index);
        self.stack.push(file);
        for &(_, to) in self.imports.range((file, "")..).take_while(|(from, _)| *from == file) {
            let reached = match self.index.get(to) {
                None => self.visit(to),
                Some(&index) if self.stack.contains(&to) => index,
                Some(_) => continue,
            };
            let low = self.low.entry(file).or_insert(index);
            *low = reached.min(*low);
        }
        let low = self.low[file];
        if low == index {
            let start = self.stack.iter().position(|other| *other == file).unwrap_or_default();
            let component: BTreeSet<_> = self.stack.drain(start..).collect();
            self.components.extend((component.len() > 1).then_some(component));
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Vec<TextFile> {
        let file = |&(path, text): &(&str, &str)| TextFile { path: path.to_owned(), text: text.to_owned() };
        files.iter().map(file).collect()
    }

    fn circle() -> Vec<TextFile> {
        tree(&[
            ("crates/x/src/lib.rs", "mod a; mod b; mod c; mod d;"),
            ("crates/x/src/a.rs", "use crate::b::B;"),
            ("crates/x/src/b.rs", "use super::c::{C, f};"),
            ("crates/x/src/c/mod.rs", "fn f() { crate::a::g() }"),
            ("crates/x/src/d.rs", "use crate::a::A;"),
            ("crates/y/src/a.rs", "use crate::b::B;"),
        ])
    }

    #[test]
    fn a_new_circle_is_a_fault_with_its_imports() {
        let faults = check(&circle(), "# none\n");
        assert_eq!(faults.len(), 2, "{faults:?}");
        let text = faults[0].to_string();
        assert!(text.starts_with("crates/x a.rs b.rs c/mod.rs: a new import circle"), "{text}");
        assert!(text.contains("b.rs imports c/mod.rs") && !text.contains(" d.rs"), "{text}");
        assert!(faults[1].message.ends_with("crates/x a.rs b.rs c/mod.rs"), "{faults:?}");
    }

    #[test]
    fn a_listed_circle_is_no_fault() {
        assert!(check(&circle(), "crates/x a.rs b.rs c/mod.rs\n").is_empty());
    }

    #[test]
    fn a_listed_circle_that_does_not_exist_is_a_fault() {
        let list = "# Circles.\n\ncrates/x a.rs b.rs c/mod.rs\ncrates/x d.rs e.rs\n";
        let faults = check(&circle(), list);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert_eq!((faults[0].location.as_str(), faults[0].line), (LIST, 4));
    }

    #[test]
    fn parents_may_use_their_children_and_children_their_parents() {
        let files = tree(&[
            ("crates/x/src/a/mod.rs", "mod b; use b::B; pub use self::b::C;"),
            ("crates/x/src/a/b.rs", "pub struct B;"),
        ]);
        assert!(check(&files, "").is_empty());
        let files = tree(&[
            ("crates/x/src/a/mod.rs", "mod b; use b::B; struct A;"),
            ("crates/x/src/a/b.rs", "use super::A; #[cfg(test)] mod tests { use crate::c::D; }"),
        ]);
        assert!(check(&files, "").is_empty());
    }
}
