//! What became of files, as text or JSON: for audits and for comparisons.

use crate::out::colour::Ink;
use crate::out::json::{self, Name};
use crate::out::{Closed, Out, shown};
use hashmill_files::checkfile::escape;
use hashmill_files::manifest::{self, Finding, Found};
use std::ops::ControlFlow;
use std::path::Path;

/// Shows findings and counts them.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    json: bool,
    /// No numbers at the end.
    quiet: bool,
    /// Files that are as they were, too.
    verbose: bool,
    same: u64,
    changed: u64,
    moved: u64,
    new: u64,
    gone: u64,
    unread: u64,
}

impl Findings {
    pub(crate) fn new(json: bool, quiet: bool, verbose: bool) -> Findings {
        Findings { json, quiet, verbose, ..Findings::default() }
    }

    /// Counts one, and shows it unless nothing happened to the file.
    pub(crate) fn take(&mut self, finding: Finding<'_>, out: &mut Out) -> ControlFlow<Closed> {
        let (word, count, ink) = match finding.found {
            Found::Same => ("same", &mut self.same, None),
            Found::Changed => ("changed", &mut self.changed, Some(Ink::Odd)),
            Found::New => ("new", &mut self.new, Some(Ink::Good)),
            Found::Moved => ("moved", &mut self.moved, Some(Ink::Aside)),
            Found::Gone => ("gone", &mut self.gone, Some(Ink::Bad)),
            Found::Unread => ("unread", &mut self.unread, Some(Ink::Bad)),
        };
        *count += 1;
        if finding.found == Found::Same && !self.verbose {
            return ControlFlow::Continue(());
        }
        let (path, from) = (manifest::path(finding.name), finding.from.map(manifest::path));
        if self.json {
            let (from, from_hex) = match from.as_deref().map(Name::of) {
                Some(name) => (Some(name.path), name.path_hex),
                None => (None, None),
            };
            let line = json::Audited { status: word, name: Name::of(&path), from, from_hex };
            return out.print(|out| json::line(out, &line));
        }
        let name = |path: &Path| {
            let (escaped, name) = escape(path.to_string_lossy());
            format!("{}{name}", if escaped { "\\" } else { "" })
        };
        let name = match &from {
            Some(from) => format!("{} -> {}", name(from), name(&path)),
            None => name(&path),
        };
        let (begin, end) = ink.map_or(("", ""), |ink| out.ink(ink));
        out.print(|out| writeln!(out, "{begin}{word:<7}{end}  {name}"))
    }

    /// A file that could not be read.
    pub(crate) fn unread(&mut self, name: &[u8], path: &Path, error: &impl ToString, out: &mut Out) {
        out.fail(&format!("{}: {}", shown(path), error.to_string()));
        // If nobody reads it, whatever comes next finds that out.
        let _ = self.take(Finding { found: Found::Unread, name, from: None }, out);
    }

    /// The numbers, and whether anything is not as it was.
    pub(crate) fn finish(self, out: &mut Out) {
        let Findings { json, quiet, same, changed, moved, new, gone, unread, .. } = self;
        out.failed |= changed + moved + new + gone + unread > 0;
        if quiet {
            return;
        }
        let _ = if json {
            let summary = json::Counts { same, changed, moved, new, gone, unread };
            out.print(|out| json::line(out, &json::Summary { summary }))
        } else {
            let unread = if unread > 0 { format!(", {unread} unread") } else { String::new() };
            let line =
                format!("{same} same, {changed} changed, {moved} moved, {new} new, {gone} gone{unread}");
            out.print(|out| writeln!(out, "{line}"))
        };
    }
}
