//! `--xattr`: digests that files have with them, in extended attributes, and the verdicts on these files.

use super::check::Hashers;
use super::operands::Operands;
use crate::findings::{Digests, Show, print_verdict};
use crate::out::json::{self, Name};
use crate::out::progress::hash_many;
use crate::out::{Closed, Out, hex, quoted, shown};
use hashmill_files::checkfile::Algorithm;
use hashmill_files::tag::{self, Facts, Tag, TagError};
use hashmill_files::{Digest, Error, FileId, Input, Item, Sink, Verdict};
use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
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
    pub(super) show: Show,
}

/// What is asked about a name.
enum Question {
    /// The verdict on a file, whose digest is to be by this function, with the tag that it has.
    Verdict { by: Algorithm, facts: Facts, tag: Option<Tag> },
    /// Nothing, as the file has no tag and gets none.
    Untagged(TagError),
    /// Nothing, as the file behind the name is asked about already.
    Again(FileId),
}

impl Question {
    /// The function that hashes, if that matters.
    fn by(&self) -> Option<Algorithm> {
        match self {
            Question::Verdict { by, .. } => Some(*by),
            Question::Untagged(_) | Question::Again(_) => None,
        }
    }
}

/// The answer about a file, for all of its names.
#[derive(Clone)]
enum Answer {
    Read {
        verdict: Verdict,
        by: Algorithm,
        digest: Box<[u8]>,
        /// The digest that the tag had.
        stored: Option<Box<[u8]>>,
        /// Why it did not get the tag that it should have.
        untagged: Option<Complaint>,
    },
    Failed(&'static str, Complaint),
    Skipped(String),
}

/// Why a file has no tag.
#[derive(Clone)]
struct Complaint {
    text: String,
    /// The device without attributes that is the reason.
    device: Option<Option<u64>>,
}

/// Files that are asked about, by what they are: a file is read and tagged once, whatever names lead to it. The second
/// name would find that the file has changed since it was asked about: the tag that the first one got changes it.
#[derive(Default)]
struct Asked(HashMap<FileId, Shared>);

struct Shared {
    /// The file has several names, so there may be further questions after the answer.
    linked: bool,
    /// Questions without an answer, besides the first.
    waiting: usize,
    answer: Option<Answer>,
}

impl Asked {
    /// Notes a question. Tells whether there was one about the same file, whose answer is that to this one.
    fn ask(&mut self, facts: &Facts) -> Option<FileId> {
        let id = facts.id()?;
        match self.0.entry(id) {
            Entry::Occupied(mut shared) => {
                shared.get_mut().waiting += 1;
                Some(id)
            }
            Entry::Vacant(place) => {
                place.insert(Shared { linked: facts.is_linked(), waiting: 0, answer: None });
                None
            }
        }
    }

    /// Keeps the first answer for the other names.
    fn answer(&mut self, id: Option<FileId>, answer: &Answer) {
        if let Some(id) = id
            && let Entry::Occupied(mut shared) = self.0.entry(id)
        {
            if shared.get().linked || shared.get().waiting > 0 {
                shared.get_mut().answer = Some(answer.clone());
            } else {
                shared.remove();
            }
        }
    }

    /// The answer that was given before. Answers come in the order of the questions, so there is one.
    fn again(&mut self, id: FileId) -> Option<Answer> {
        let Entry::Occupied(mut shared) = self.0.entry(id) else { return None };
        shared.get_mut().waiting -= 1;
        if shared.get().linked || shared.get().waiting > 0 {
            shared.get().answer.clone()
        } else {
            shared.remove().answer
        }
    }
}

pub(super) fn run(hashers: &Hashers, items: Operands, how: &How, out: &mut Out) {
    let asked = RefCell::default();
    let mut items = items.map(|item| question(item, how, &asked)).peekable();
    let job = out.job();
    let (counts, without) = (json::TagCounts::default(), HashSet::new());
    let mut tagger = Tagger { how, out, asked: &asked, counts, without };
    // Runs of files by one function: a tree that cshatag has tagged is one, and so is a tree without tags.
    while let Some(first) = items.peek() {
        let by = first.tag.by().unwrap_or_default();
        let run = std::iter::from_fn(|| items.next_if(|item| item.tag.by().is_none_or(|other| other == by)));
        if let ControlFlow::Break(Closed) = hash_many(hashers.of(by), job.clone(), run, &mut tagger) {
            return;
        }
    }
    tagger.finish();
}

/// A name as a question. What cannot have a tag, and what is asked about already, is not read.
fn question(item: Item<()>, how: &How, asked: &RefCell<Asked>) -> Item<Question> {
    let Item { path, input, tag: () } = item;
    if !matches!(input, Input::File) {
        return Item { path, input, tag: Question::Untagged(TagError::Special) };
    }
    let read = tag::read(&path, how.said).and_then(|(facts, tag)| match tag {
        Err(TagError::Damaged(_)) if how.retag => Ok((facts, None)),
        tag => tag.map(|tag| (facts, tag)),
    });
    let tag = match read {
        Ok((facts, tag)) => match asked.borrow_mut().ask(&facts) {
            None => {
                let by = tag.as_ref().map(|tag| tag.algorithm).or(how.said).unwrap_or_default();
                return Item { path, input, tag: Question::Verdict { by, facts, tag } };
            }
            Some(id) => Question::Again(id),
        },
        Err(error) => Question::Untagged(error),
    };
    Item { path, input: Input::Failed(Error::Refused("it is not read")), tag }
}

struct Tagger<'a> {
    how: &'a How,
    out: &'a mut Out,
    asked: &'a RefCell<Asked>,
    counts: json::TagCounts,
    /// Devices without attributes, of which that was said.
    without: HashSet<Option<u64>>,
}

impl Sink<Question> for &mut Tagger<'_> {
    type Break = Closed;

    fn answer(
        &mut self,
        path: PathBuf,
        question: Question,
        result: Result<Digest, Error>,
    ) -> ControlFlow<Closed> {
        let answer = match (question, result) {
            (Question::Again(id), _) => self.asked.borrow_mut().again(id),
            (Question::Untagged(error), Err(Error::Refused(_)) | Ok(_)) => Some(untagged(&error)),
            (Question::Untagged(_), Err(error)) => Some(unread(&error)),
            (Question::Verdict { by, facts, tag }, result) => {
                let answer = match result {
                    Ok(digest) => read(&path, by, &facts, tag.as_ref(), &digest, self.how),
                    Err(error) => unread(&error),
                };
                self.asked.borrow_mut().answer(facts.id(), &answer);
                Some(answer)
            }
        };
        match answer {
            Some(answer) => self.tell(&path, answer),
            None => ControlFlow::Continue(()),
        }
    }

    fn pause(&mut self) -> ControlFlow<Closed> {
        self.out.flush()
    }
}

/// The answer about a file that was read, which is tagged if it is to be.
fn read(path: &Path, by: Algorithm, facts: &Facts, tag: Option<&Tag>, digest: &Digest, how: &How) -> Answer {
    let mut bytes = vec![0; by.digest_len()];
    digest.output.fill(0, &mut bytes);
    let verdict = tag::verdict(tag, facts, &bytes);
    let writes = match verdict {
        Verdict::Same => false,
        Verdict::Corrupt => how.retag,
        _ => true,
    };
    // Of a file that changed meanwhile, the digest is of nothing that ever was.
    let done =
        if writes && !how.dry_run { tag::write(path, facts, by, &bytes) } else { tag::check(path, facts) };
    if let Err(error @ TagError::Changed) = done {
        return untagged(&error);
    }
    let stored = tag.map(|tag| tag.digest.clone());
    let untagged = done.err().map(|reason| complaint(&reason));
    Answer::Read { verdict, by, digest: bytes.into(), stored, untagged }
}

/// The answer about a file that could not be read.
fn unread(error: &Error) -> Answer {
    match error {
        Error::Special | Error::Pseudo(_) => Answer::Skipped(error.to_string()),
        _ => Answer::Failed("unread", Complaint { text: error.to_string(), device: None }),
    }
}

/// The answer about a file that has no tag and gets none.
fn untagged(reason: &TagError) -> Answer {
    let word = if matches!(reason, TagError::Changed) { "changed" } else { "untagged" };
    Answer::Failed(word, complaint(reason))
}

fn complaint(reason: &TagError) -> Complaint {
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
    let device = if let TagError::None(device) = reason { Some(*device) } else { None };
    Complaint { text, device }
}

impl Tagger<'_> {
    /// Counts an answer and shows it.
    fn tell(&mut self, path: &Path, answer: Answer) -> ControlFlow<Closed> {
        let (verdict, by, digest, stored, untagged) = match answer {
            Answer::Read { verdict, by, digest, stored, untagged } => (verdict, by, digest, stored, untagged),
            Answer::Skipped(reason) => {
                self.out.note(&format!("{}: skipped: {reason}", shown(path)));
                return ControlFlow::Continue(());
            }
            Answer::Failed(word, complaint) => {
                *match word {
                    "changed" => &mut self.counts.changed,
                    "unread" => &mut self.counts.unread,
                    _ => &mut self.counts.untagged,
                } += 1;
                let error = Some(self.complain(path, complaint));
                return if self.how.show.json {
                    let (name, algorithm) = (Name::of(path), None);
                    let line =
                        json::Tagged { status: word, name, algorithm, digest: None, stored: None, error };
                    self.out.print(|out| json::line(out, &line))
                } else {
                    ControlFlow::Continue(())
                };
            }
        };
        let counts = &mut self.counts;
        *match verdict {
            Verdict::New => &mut counts.new,
            Verdict::Touched => &mut counts.touched,
            Verdict::Corrupt => &mut counts.corrupt,
            Verdict::Same => &mut counts.ok,
            // A tag always has a time, and files that are gone have none.
            _ => &mut counts.outdated,
        } += 1;
        if let (Verdict::Corrupt, Some(stored)) = (verdict, &stored) {
            let digests = Digests { algorithm: by, stored, found: &digest };
            self.out.fail(&format!("{}: {digests}", shown(path)));
        }
        let error = untagged.map(|complaint| {
            self.counts.untagged += 1;
            self.complain(path, complaint)
        });
        if !self.how.show.names(verdict, verdict == Verdict::Corrupt || error.is_some()) {
            return ControlFlow::Continue(());
        }
        let word = if verdict == Verdict::Same { "ok" } else { verdict.word() };
        if self.how.show.json {
            let (name, algorithm) = (Name::of(path), Some(by.key()));
            let (digest, stored) = (Some(hex(&digest)), stored.map(|stored| hex(&stored)));
            let line = json::Tagged { status: word, name, algorithm, digest, stored, error };
            return self.out.print(|out| json::line(out, &line));
        }
        print_verdict(verdict, word, &quoted(path), self.out)
    }

    /// Says why a file has no tag, of a device without attributes once, and gives the reason.
    fn complain(&mut self, path: &Path, Complaint { text, device }: Complaint) -> String {
        self.out.failed = true;
        let again = device.is_some_and(|device| !self.without.insert(device));
        if !again {
            self.out.fail(&format!("{}: {text}", shown(path)));
        }
        text
    }

    fn finish(self) {
        if self.how.show.quiet {
            return;
        }
        let counts = self.counts;
        let _: ControlFlow<Closed> = if self.how.show.json {
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
