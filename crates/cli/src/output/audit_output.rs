//! Output of audits, comparisons and updates: a verdict per file as text or JSON, and a summary.

use crate::exit_code::{FAILED, INCOMPLETE};
use crate::flags::UsageError;
use crate::output::colour::TextStyle;
use crate::output::json::{self, Name};
use crate::output::{
    Out, ReaderGone, ReportedError, StdoutClosed, display_path, error_chain, hex, print_error, quoted_path,
};
use hashmill_files::DigestVerdict;
use hashmill_files::checksum_list::Algorithm;
use hashmill_files::checksum_list::{self, AuditEntry};
use std::ops::ControlFlow;
use std::path::Path;

/// Printed verdicts and their form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Show {
    pub(crate) json: bool,
    /// No summary, and only files that are failures.
    pub(crate) quiet: bool,
    /// Unchanged files, too.
    pub(crate) verbose: bool,
}

impl Show {
    /// Whether a file with this verdict is printed.
    pub(crate) fn prints(self, verdict: DigestVerdict, is_failure: bool) -> bool {
        self.verbose || is_failure || (!self.quiet && verdict != DigestVerdict::Same)
    }
}

/// Prints and counts verdicts.
#[derive(Debug)]
pub(crate) struct Findings {
    show: Show,
    /// Additions, changes and removals are expected. Only corrupt and unreadable files are failures.
    is_update: bool,
    pub(crate) counts: json::Counts,
}

impl Findings {
    pub(crate) fn new(show: Show) -> Findings {
        Findings { show, is_update: false, counts: json::Counts::default() }
    }

    /// For an update of a list.
    pub(crate) fn for_update(show: Show) -> Findings {
        Findings { is_update: true, ..Findings::new(show) }
    }

    /// Counts a file without printing it.
    pub(crate) fn count(&mut self, verdict: DigestVerdict) {
        let counts = &mut self.counts;
        *match verdict {
            DigestVerdict::Same => &mut counts.same,
            DigestVerdict::New => &mut counts.new,
            DigestVerdict::Moved => &mut counts.moved,
            DigestVerdict::Touched => &mut counts.touched,
            DigestVerdict::Outdated => &mut counts.outdated,
            DigestVerdict::Changed => &mut counts.changed,
            DigestVerdict::Corrupt => &mut counts.corrupt,
            DigestVerdict::Gone => &mut counts.gone,
            DigestVerdict::Unread => &mut counts.unread,
        } += 1;
    }

    /// Counts a verdict, and prints it if the options say so.
    pub(crate) fn report(&mut self, finding: AuditEntry<'_>, out: &mut Out) -> ControlFlow<StdoutClosed> {
        let AuditEntry { verdict, name, from } = finding;
        self.count(verdict);
        let is_failure = self.is_failure(verdict);
        out.failed |= is_failure;
        if !self.show.prints(verdict, is_failure) {
            return ControlFlow::Continue(());
        }
        let (path, from) = (checksum_list::name_to_path(name), from.map(checksum_list::name_to_path));
        if self.show.json {
            let (from, from_hex) = match from.as_deref().map(Name::from_path) {
                Some(name) => (Some(name.path), name.path_hex),
                None => (None, None),
            };
            let line = json::Audited { status: verdict.word(), name: Name::from_path(&path), from, from_hex };
            return out.print(|out| json::line(out, &line));
        }
        let name = match &from {
            Some(from) => format!("{} -> {}", quoted_path(from), quoted_path(&path)),
            None => quoted_path(&path),
        };
        print_verdict(verdict, verdict.word(), &name, out)
    }

    /// Reports a corrupt file with both digests.
    pub(crate) fn report_corrupt(
        &mut self,
        name: &[u8],
        path: &Path,
        digests: Digests<'_>,
        out: &mut Out,
    ) -> ControlFlow<StdoutClosed> {
        out.fail(&format!("{}: {digests}", display_path(path)));
        self.report(AuditEntry { verdict: DigestVerdict::Corrupt, name, from: None }, out)
    }

    /// Reports a file that could not be read.
    pub(crate) fn report_unread(
        &mut self,
        name: &[u8],
        path: &Path,
        error: &impl ToString,
        out: &mut Out,
    ) -> ControlFlow<StdoutClosed> {
        out.fail(&format!("{}: {}", display_path(path), error.to_string()));
        self.report(AuditEntry { verdict: DigestVerdict::Unread, name, from: None }, out)
    }

    fn is_failure(&self, verdict: DigestVerdict) -> bool {
        match verdict {
            DigestVerdict::Same | DigestVerdict::Touched => false,
            DigestVerdict::Corrupt | DigestVerdict::Unread => true,
            _ => !self.is_update,
        }
    }

    /// Prints the summary of an audit or a comparison. Returns the exit code to use if something failed.
    pub(crate) fn finish(self, out: &mut Out) -> u8 {
        if !self.show.quiet {
            // A write failure is part of the outcome of `out`.
            let _ = if self.show.json {
                out.print(|out| json::line(out, &json::Summary { summary: &self.counts }))
            } else {
                let json::Counts { same, changed, moved, new, gone, .. } = self.counts;
                let nonzero = self.nonzero_counts(&[]);
                let line =
                    format!("{same} same, {changed} changed, {moved} moved, {new} new, {gone} gone{nonzero}");
                out.print(|out| writeln!(out, "{line}"))
            };
        }
        if self.counts.unread > 0 { INCOMPLETE } else { FAILED }
    }

    /// Counts that are printed only if not 0, after those in `more`.
    pub(crate) fn nonzero_counts(&self, more: &[(u64, &str)]) -> String {
        let json::Counts { touched, outdated, corrupt, unread, .. } = self.counts;
        let rare = [(touched, "touched"), (outdated, "outdated"), (corrupt, "corrupt"), (unread, "unread")];
        let nonzero = more.iter().chain(&rare).filter(|(count, _)| *count > 0);
        nonzero.map(|(count, word)| format!(", {count} {word}")).collect()
    }
}

/// Maps an error of a comparison to [`INCOMPLETE`], as it is no difference.
pub(crate) fn or_incomplete(outcome: anyhow::Result<u8>) -> anyhow::Result<u8> {
    match outcome {
        Err(error)
            if !(error.is::<UsageError>() || error.is::<ReaderGone>() || error.is::<ReportedError>()) =>
        {
            print_error(&error_chain(&error));
            Ok(INCOMPLETE)
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
        write!(f, "content changed but modification time did not: {name} was {was}, is {is}")
    }
}

/// Prints a verdict in its style, and the name.
pub(crate) fn print_verdict(
    verdict: DigestVerdict,
    word: &str,
    name: &str,
    out: &mut Out,
) -> ControlFlow<StdoutClosed> {
    let style = match verdict {
        DigestVerdict::Same => None,
        DigestVerdict::New => Some(TextStyle::Success),
        DigestVerdict::Moved => Some(TextStyle::Moved),
        DigestVerdict::Touched | DigestVerdict::Outdated | DigestVerdict::Changed => Some(TextStyle::Warning),
        DigestVerdict::Corrupt | DigestVerdict::Gone | DigestVerdict::Unread => Some(TextStyle::Failure),
    };
    let (begin, end) = style.map_or(("", ""), |style| out.style(style));
    out.print(|out| writeln!(out, "{begin}{word:<8}{end}  {name}"))
}
