//! Findings: verdicts on files as lines or JSON, and their numbers, for audits, comparisons and updates.

use crate::flags::Misuse;
use crate::out::colour::Ink;
use crate::out::json::{self, Name};
use crate::out::{Closed, Out, Said, Unread, complain, hex, quoted, shown, told};
use crate::{FAILED, TROUBLE};
use hashmill_files::Verdict;
use hashmill_files::checkfile::Algorithm;
use hashmill_files::manifest::{self, Finding};
use std::ops::ControlFlow;
use std::path::Path;

/// Which findings are shown, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Show {
    pub(crate) json: bool,
    /// No numbers at the end, and no files that are no failure.
    pub(crate) quiet: bool,
    /// Files that are as they were, too.
    pub(crate) verbose: bool,
}

impl Show {
    /// Whether a file with this verdict is named.
    pub(crate) fn names(self, verdict: Verdict, is_failure: bool) -> bool {
        self.verbose || is_failure || (!self.quiet && verdict != Verdict::Same)
    }
}

/// Shows findings and counts them.
#[derive(Debug)]
pub(crate) struct Findings {
    show: Show,
    /// Files are expected to come, change and go. Only rot, and files that cannot be read, are failures.
    is_update: bool,
    pub(crate) counts: json::Counts,
}

impl Findings {
    pub(crate) fn new(show: Show) -> Findings {
        Findings { show, is_update: false, counts: json::Counts::default() }
    }

    /// Findings of a list that is brought up to date.
    pub(crate) fn of_update(show: Show) -> Findings {
        Findings { is_update: true, ..Findings::new(show) }
    }

    /// Counts a file without naming it.
    pub(crate) fn count(&mut self, verdict: Verdict) {
        let counts = &mut self.counts;
        *match verdict {
            Verdict::Same => &mut counts.same,
            Verdict::New => &mut counts.new,
            Verdict::Moved => &mut counts.moved,
            Verdict::Touched => &mut counts.touched,
            Verdict::Outdated => &mut counts.outdated,
            Verdict::Changed => &mut counts.changed,
            Verdict::Corrupt => &mut counts.corrupt,
            Verdict::Gone => &mut counts.gone,
            Verdict::Unread => &mut counts.unread,
        } += 1;
    }

    /// Counts a finding, and shows it if it is to be named.
    pub(crate) fn take(&mut self, finding: Finding<'_>, out: &mut Out) -> ControlFlow<Closed> {
        let Finding { verdict, name, from } = finding;
        self.count(verdict);
        let is_failure = self.is_failure(verdict);
        out.failed |= is_failure;
        if !self.show.names(verdict, is_failure) {
            return ControlFlow::Continue(());
        }
        let (path, from) = (manifest::path(name), from.map(manifest::path));
        if self.show.json {
            let (from, from_hex) = match from.as_deref().map(Name::of) {
                Some(name) => (Some(name.path), name.path_hex),
                None => (None, None),
            };
            let line = json::Audited { status: verdict.word(), name: Name::of(&path), from, from_hex };
            return out.print(|out| json::line(out, &line));
        }
        let name = match &from {
            Some(from) => format!("{} -> {}", quoted(from), quoted(&path)),
            None => quoted(&path),
        };
        print_verdict(verdict, verdict.word(), &name, out)
    }

    /// Says that a file rotted, with both digests.
    pub(crate) fn corrupt(
        &mut self,
        name: &[u8],
        path: &Path,
        digests: Digests<'_>,
        out: &mut Out,
    ) -> ControlFlow<Closed> {
        out.fail(&format!("{}: {digests}", shown(path)));
        self.take(Finding { verdict: Verdict::Corrupt, name, from: None }, out)
    }

    /// A file that could not be read.
    pub(crate) fn unread(
        &mut self,
        name: &[u8],
        path: &Path,
        error: &impl ToString,
        out: &mut Out,
    ) -> ControlFlow<Closed> {
        out.fail(&format!("{}: {}", shown(path), error.to_string()));
        self.take(Finding { verdict: Verdict::Unread, name, from: None }, out)
    }

    fn is_failure(&self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Same | Verdict::Touched => false,
            Verdict::Corrupt | Verdict::Unread => true,
            _ => !self.is_update,
        }
    }

    /// Shows the numbers of an audit or a comparison. Gives the exit code for what failed.
    pub(crate) fn finish(self, out: &mut Out) -> u8 {
        if !self.show.quiet {
            // The end of the command tells how that went.
            let _ = if self.show.json {
                out.print(|out| json::line(out, &json::Summary { summary: &self.counts }))
            } else {
                let json::Counts { same, changed, moved, new, gone, .. } = self.counts;
                let rare = self.rare(&[]);
                let line =
                    format!("{same} same, {changed} changed, {moved} moved, {new} new, {gone} gone{rare}");
                out.print(|out| writeln!(out, "{line}"))
            };
        }
        if self.counts.unread > 0 { TROUBLE } else { FAILED }
    }

    /// Numbers that are told only where they are not 0, besides `more` such.
    pub(crate) fn rare(&self, more: &[(u64, &str)]) -> String {
        let json::Counts { touched, outdated, corrupt, unread, .. } = self.counts;
        let rare = [(touched, "touched"), (outdated, "outdated"), (corrupt, "corrupt"), (unread, "unread")];
        let told = more.iter().chain(&rare).filter(|(count, _)| *count > 0);
        told.map(|(count, word)| format!(", {count} {word}")).collect()
    }
}

/// The exit code of a comparison: what keeps it from being made is trouble, and no difference.
pub(crate) fn or_trouble(outcome: anyhow::Result<u8>) -> anyhow::Result<u8> {
    match outcome {
        Err(error) if !(error.is::<Misuse>() || error.is::<Unread>() || error.is::<Said>()) => {
            complain(&told(&error));
            Ok(TROUBLE)
        }
        outcome => outcome,
    }
}

/// The digests of a corrupt file.
#[derive(Clone, Copy)]
pub(crate) struct Digests<'a> {
    pub(crate) algorithm: Algorithm,
    pub(crate) stored: &'a [u8],
    pub(crate) found: &'a [u8],
}

impl std::fmt::Display for Digests<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Digests { algorithm, stored, found } = self;
        let (name, was, is) = (algorithm.name(), hex(stored), hex(found));
        write!(f, "its contents changed and its time did not: {name} was {was}, is {is}")
    }
}

/// Prints the word for a verdict in its colour, and the name.
pub(crate) fn print_verdict(verdict: Verdict, word: &str, name: &str, out: &mut Out) -> ControlFlow<Closed> {
    let ink = match verdict {
        Verdict::Same => None,
        Verdict::New => Some(Ink::Good),
        Verdict::Moved => Some(Ink::Aside),
        Verdict::Touched | Verdict::Outdated | Verdict::Changed => Some(Ink::Odd),
        Verdict::Corrupt | Verdict::Gone | Verdict::Unread => Some(Ink::Bad),
    };
    let (begin, end) = ink.map_or(("", ""), |ink| out.ink(ink));
    out.print(|out| writeln!(out, "{begin}{word:<8}{end}  {name}"))
}
