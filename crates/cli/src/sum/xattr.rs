//! `--xattr`: digests that files have with them, in extended attributes. Who changed them, somebody or nobody.

use super::check::Hashers;
use super::operands::Operands;
use crate::out::colour::Ink;
use crate::out::json::{self, Name};
use crate::out::progress::hash_many;
use crate::out::{Closed, Out, hex, shown};
use hashmill_files::checkfile::{Algorithm, escape};
use hashmill_files::tag::{self, Facts, Tag, TagError, Verdict};
use hashmill_files::{Digest, Error, Input, Item, Sink};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// What to write, and what to show.
pub(super) struct How {
    /// The function, if the user said so.
    pub(super) said: Option<Algorithm>,
    /// Corrupt files get a new tag, too, and those whose tag says nothing.
    pub(super) retag: bool,
    /// Nothing is written.
    pub(super) dry_run: bool,
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) verbose: bool,
}

/// What is known of a file before it is hashed.
struct Known {
    /// By which function it will be, or nothing if that does not matter.
    by: Option<Algorithm>,
    file: Result<(Facts, Option<Tag>), TagError>,
}

pub(super) fn run(hashers: &Hashers, items: Operands, how: &How, out: &mut Out) {
    let mut items = items.map(|item| question(item, how)).peekable();
    let job = out.job();
    let (counts, without) = (json::TagCounts::default(), HashSet::new());
    let mut tagger = Tagger { how, out, by: Algorithm::default(), counts, without };
    // Runs of files by one function: a tree that cshatag has tagged is one, and so is a tree that nobody has.
    while let Some(first) = items.peek() {
        let by = first.tag.by.unwrap_or_default();
        let run = std::iter::from_fn(|| items.next_if(|item| item.tag.by.is_none_or(|other| other == by)));
        tagger.by = by;
        if let ControlFlow::Break(Closed) = hash_many(hashers.of(by), job.clone(), run, &mut tagger) {
            return;
        }
    }
    tagger.finish();
}

/// A file with what it says of itself; one that says nothing that counts is not read.
fn question(item: Item<()>, how: &How) -> Item<Known> {
    let Item { path, input, tag: () } = item;
    let nothing = |path, input| Item { path, input, tag: Known { by: None, file: Err(TagError::Special) } };
    if !matches!(input, Input::File) {
        return nothing(path, input);
    }
    let read = tag::read(&path, how.said).and_then(|(facts, tag)| match tag {
        Err(TagError::Damaged(_)) if how.retag => Ok((facts, None)),
        tag => tag.map(|tag| (facts, tag)),
    });
    match read {
        Ok((facts, tag)) => {
            let by = tag.as_ref().map(|tag| tag.algorithm).or(how.said).unwrap_or_default();
            Item { path, input, tag: Known { by: Some(by), file: Ok((facts, tag)) } }
        }
        Err(error) => {
            let input = Input::Failed(Error::Refused("it is not read"));
            Item { path, input, tag: Known { by: None, file: Err(error) } }
        }
    }
}

struct Tagger<'a> {
    how: &'a How,
    out: &'a mut Out,
    by: Algorithm,
    counts: json::TagCounts,
    /// Devices without attributes, of which that was said.
    without: HashSet<Option<u64>>,
}

impl Sink<Known> for &mut Tagger<'_> {
    type Break = Closed;

    fn answer(&mut self, path: PathBuf, known: Known, result: Result<Digest, Error>) -> ControlFlow<Closed> {
        match (known.file, result) {
            (Err(error), Err(Error::Refused(_))) => self.not_tagged(&path, &error),
            (_, Err(error @ (Error::Special | Error::Pseudo(_)))) => {
                self.out.note(&format!("{}: skipped: {error}", shown(&path)));
                ControlFlow::Continue(())
            }
            (_, Err(error)) => {
                self.counts.unread += 1;
                self.failed(&path, "unread", error.to_string())
            }
            (Err(error), Ok(_)) => self.not_tagged(&path, &error),
            (Ok((facts, tag)), Ok(digest)) => self.read(&path, &facts, tag.as_ref(), &digest),
        }
    }

    fn pause(&mut self) -> ControlFlow<Closed> {
        self.out.flush()
    }
}

impl Tagger<'_> {
    /// A file was read: says what became of it, and tags it.
    fn read(
        &mut self,
        path: &Path,
        facts: &Facts,
        tag: Option<&Tag>,
        digest: &Digest,
    ) -> ControlFlow<Closed> {
        let mut bytes = vec![0; self.by.digest_len()];
        digest.output.fill(0, &mut bytes);
        let verdict = tag::verdict(tag, facts, &bytes);
        let writes = match verdict {
            Verdict::Same => false,
            Verdict::Corrupt => self.how.retag,
            _ => true,
        };
        // Of a file that changed meanwhile, the digest is of nothing that ever was.
        let done = if writes && !self.how.dry_run {
            tag::write(path, facts, self.by, &bytes)
        } else {
            tag::check(path, facts)
        };
        if let Err(TagError::Changed) = done {
            return self.not_tagged(path, &TagError::Changed);
        }
        let (word, count) = match verdict {
            Verdict::New => ("new", &mut self.counts.new),
            Verdict::Same => ("ok", &mut self.counts.ok),
            Verdict::Touched => ("touched", &mut self.counts.touched),
            Verdict::Outdated => ("outdated", &mut self.counts.outdated),
            Verdict::Corrupt => ("corrupt", &mut self.counts.corrupt),
        };
        *count += 1;
        let mut error = None;
        if verdict == Verdict::Corrupt {
            let was = tag.map_or_else(String::new, |tag| hex(&tag.digest));
            let name = self.by.name();
            self.out.fail(&format!(
                "{}: its contents changed and its time did not: {name} was {was}, is {}",
                shown(path),
                hex(&bytes)
            ));
        }
        if let Err(reason) = done {
            self.counts.untagged += 1;
            error = Some(self.complaint(path, &reason));
        }
        if verdict == Verdict::Same && !self.how.verbose && error.is_none() {
            return ControlFlow::Continue(());
        }
        let digests = (hex(&bytes), tag.map(|tag| hex(&tag.digest)));
        self.show(path, word, Some(digests), error)
    }

    /// Says why a file has no tag, of a device without attributes once, and gives the reason.
    fn complaint(&mut self, path: &Path, reason: &TagError) -> String {
        self.out.failed = true;
        let text = match reason {
            TagError::Io(error) if error.kind() == ErrorKind::PermissionDenied => {
                format!("its tag cannot be read or written: {error}")
            }
            TagError::Io(error) if error.kind() == ErrorKind::IsADirectory => {
                format!("{error}; see --recursive")
            }
            TagError::Damaged(_) => format!("{reason}; see --retag"),
            _ => reason.to_string(),
        };
        let again = matches!(reason, TagError::None(device) if !self.without.insert(*device));
        if !again {
            self.out.fail(&format!("{}: {text}", shown(path)));
        }
        text
    }

    fn not_tagged(&mut self, path: &Path, reason: &TagError) -> ControlFlow<Closed> {
        let word = match reason {
            TagError::Changed => "changed",
            _ => "untagged",
        };
        let count = if word == "changed" { &mut self.counts.changed } else { &mut self.counts.untagged };
        *count += 1;
        let text = self.complaint(path, reason);
        if self.how.json { self.show(path, word, None, Some(text)) } else { ControlFlow::Continue(()) }
    }

    fn failed(&mut self, path: &Path, word: &'static str, error: String) -> ControlFlow<Closed> {
        self.out.fail(&format!("{}: {error}", shown(path)));
        if self.how.json { self.show(path, word, None, Some(error)) } else { ControlFlow::Continue(()) }
    }

    fn show(
        &mut self,
        path: &Path,
        word: &'static str,
        digests: Option<(String, Option<String>)>,
        error: Option<String>,
    ) -> ControlFlow<Closed> {
        if self.how.json {
            let algorithm = digests.is_some().then(|| self.by.key());
            let (digest, stored) = digests.map_or((None, None), |(digest, stored)| (Some(digest), stored));
            let name = Name::of(path);
            let line = json::Tagged { status: word, name, algorithm, digest, stored, error };
            return self.out.print(|out| json::line(out, &line));
        }
        let (escaped, name) = escape(path.to_string_lossy());
        let mark = if escaped { "\\" } else { "" };
        let (begin, end) = match word {
            "new" => self.out.ink(Ink::Good),
            "outdated" | "touched" => self.out.ink(Ink::Odd),
            "corrupt" => self.out.ink(Ink::Bad),
            _ => ("", ""),
        };
        self.out.print(|out| writeln!(out, "{begin}{word:<8}{end}  {mark}{name}"))
    }

    fn finish(self) {
        if self.how.quiet {
            return;
        }
        let counts = self.counts;
        let _: ControlFlow<Closed> = if self.how.json {
            self.out.print(|out| json::line(out, &json::TagSummary { summary: counts }))
        } else {
            let json::TagCounts { ok, new, outdated, touched, corrupt, changed, unread, untagged } = counts;
            let mut line =
                format!("{ok} ok, {new} new, {outdated} outdated, {touched} touched, {corrupt} corrupt");
            for (count, words) in
                [(changed, "changed while read"), (unread, "unread"), (untagged, "not tagged")]
            {
                if count > 0 {
                    line += &format!(", {count} {words}");
                }
            }
            self.out.print(|out| writeln!(out, "{line}"))
        };
    }
}
