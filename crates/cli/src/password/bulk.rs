//! A file of hashes, many at a time, and the answers in their order.

use super::answer::Answer;
use super::entry::{Entry, Field, Layout};
use super::input::{self, Secret};
use super::keeper::{Keeper, Refusal};
use super::lines::{Lines, unread_after};
use super::{NO, UNKNOWN, YES, costs, stored};
use crate::engine::Share;
use crate::flags::{Misuse, VerifyArgs};
use crate::memory;
use crate::out::progress::{Bar, hushed};
use crate::out::{self, Closed, Out, json, shown};
use anyhow::Result;
use hashmill_hash::password::foreign::StoredHash;
use hashmill_hash::password::{Limits, Syntax};
use hashmill_machine::free_kib;
use serde::Serialize;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which password is for which hash.
pub(super) enum Given<'a> {
    /// One for all of them.
    One(Secret),
    /// A file with one for each.
    Each(&'a Path),
}

/// Who has computed them, where several engines were asked for.
#[derive(Serialize)]
struct Engines {
    engines: Vec<Share>,
}

/// How many answers of which kind.
#[derive(Default)]
struct Count {
    yes: u64,
    no: u64,
    unknown: u64,
    locked: u64,
    /// Of those that do not match: what may have happened to the password, and how often.
    mishaps: Vec<(&'static str, u64)>,
}

pub(super) fn run(
    keeper: Keeper,
    file: &Path,
    layout: Layout,
    given: &Given<'_>,
    low: &VerifyArgs,
) -> Result<u8> {
    let free = free_kib();
    let limits = costs::limits(&low.limits)?;
    let keeper = keeper.memory_budget(free.unwrap_or(u64::MAX));
    let checker = Checker { keeper, limits, syntax: costs::syntax(low.limits.lenient), free };
    let mut lines = Entries { lines: Lines::open(file)?, layout };
    let mut each = match given {
        Given::Each(path) => Some(Lines::open(path)?),
        Given::One(_) => None,
    };
    let done = Arc::new(AtomicU64::new(0));
    let total = total(file);
    let bar = if low.no_progress || hushed(low.quiet) {
        None
    } else {
        Bar::counting("checking", &done, total, "passwords")
    };
    let mut out = Out::new(bar);
    let mut count = Count::default();
    let mut reached = 0;
    let end = checker.check(&mut lines, each.as_mut(), given, |answers| {
        done.fetch_add(answers.len() as u64, Ordering::Relaxed);
        for (entry, answer, mishap) in answers {
            count.add(&answer, mishap);
            reached = entry.line;
            show(&mut out, &entry, answer, low)?;
        }
        out.flush()
    });
    let engines = checker.keeper.shares();
    if low.json && !engines.is_empty() {
        let line = |out: &mut dyn Write| json::line(out, &Engines { engines });
        let (ControlFlow::Continue(()) | ControlFlow::Break(Closed)) = out.print(line);
    }
    // The bar goes before anything else is said.
    let ended = out.finish();
    let whole = match end {
        End::Whole => true,
        End::Closed => false,
        End::Broken(error) => {
            out::complain(&format!("{error:#}"));
            false
        }
    };
    for (mishap, times) in count.mishaps.iter().filter(|_| !low.quiet) {
        let times = if *times == 1 { String::new() } else { format!(" ({times} times)") };
        out::remark(&format!("take note: {mishap}{times}"));
    }
    // Passwords that are left over have no hash on their line: the two files may not belong together.
    let left = if whole { each.as_mut().map(Lines::next).transpose()?.flatten() } else { None };
    if let (Some(line), Some(each)) = (&left, &each) {
        let words = format!("no hash on line {}, so nothing from there on was looked at", line.number);
        out::complain(&format!("{}: {words}", each.path));
    }
    if !whole {
        out::complain(&format!("{}: {}", shown(file), unread_after(reached)));
    } else if count.yes + count.no + count.unknown + count.locked == 0 {
        out::complain(&format!("{}: no hashes in it", shown(file)));
        return Ok(UNKNOWN);
    }
    let code = match count {
        _ if !whole || left.is_some() => UNKNOWN,
        Count { unknown: 1.., .. } => UNKNOWN,
        Count { no: 1.., .. } => NO,
        // Locked entries alone: a script that asks about one of them must not take it for a match.
        Count { yes: 0, .. } => NO,
        Count { .. } => YES,
    };
    Ok(ended.answer(code, UNKNOWN))
}

/// Why there are no further answers.
enum End {
    /// All that there is to check has been.
    Whole,
    /// Nobody reads them.
    Closed,
    /// One of the files cannot be read any further.
    Broken(anyhow::Error),
}

/// Who checks, with what memory.
pub(super) struct Checker {
    pub(super) keeper: Keeper,
    pub(super) limits: Limits,
    pub(super) syntax: Syntax,
    /// KiB at the beginning, if the system tells.
    pub(super) free: Option<u64>,
}

/// What can be said of an entry before its password is looked at.
pub(super) enum Readable {
    Hash(StoredHash),
    Locked,
    /// There is no answer, and why.
    Not(String),
}

impl Checker {
    /// Answers group by group, until the file or the interest in it ends.
    fn check(
        &self,
        lines: &mut Entries,
        mut each: Option<&mut Lines>,
        given: &Given<'_>,
        mut tell: impl FnMut(Vec<Answered>) -> ControlFlow<Closed>,
    ) -> End {
        loop {
            let (group, end) = read_group(lines, each.as_deref_mut(), self.keeper.at_once());
            let readable: Vec<_> = group.iter().map(|(entry, _)| self.read(&entry.field)).collect();
            let asked = group.iter().zip(&readable).map(|((_, own), readable)| match readable {
                Readable::Hash(hash) => Some((password(own, given), hash)),
                Readable::Locked | Readable::Not(_) => None,
            });
            let results = self.verify(&asked.collect::<Vec<_>>());
            let answers =
                readable.into_iter().zip(results).map(|(readable, result)| match (readable, result) {
                    (_, Some(result)) => Answer::from(result),
                    (Readable::Locked, None) => Answer::locked(),
                    (Readable::Not(words), None) => Answer::none(words),
                    (Readable::Hash(_), None) => unreachable!("whatever could be read was verified"),
                });
            let answered = group
                .iter()
                .zip(answers)
                .map(|((entry, own), answer)| (entry.clone(), answer, input::mishap(password(own, given))));
            let told = tell(answered.collect());
            match (told, end) {
                (ControlFlow::Break(Closed), None | Some(End::Whole | End::Closed)) => return End::Closed,
                (_, Some(end)) => return end,
                (ControlFlow::Continue(()), None) => {}
            }
        }
    }

    /// Reads a field. A hash that is allowed but needs more memory than is free has no answer: the system would end this
    /// program.
    pub(super) fn read(&self, field: &Field) -> Readable {
        let text = match field {
            Field::Hash(text) => text,
            Field::Locked => return Readable::Locked,
            Field::Nothing(reason) => return Readable::Not((*reason).to_owned()),
        };
        match stored::decode(text, self.syntax, &self.limits) {
            Err(words) => Readable::Not(words),
            Ok(hash) => match memory::refusal(hash.memory_kib(), self.free) {
                Some(words) => Readable::Not(words),
                None => Readable::Hash(hash),
            },
        }
    }

    /// Verifies what there is to verify, in its order.
    pub(super) fn verify(&self, asked: &[Option<(&[u8], &StoredHash)>]) -> Vec<Option<Result<(), Refusal>>> {
        let logins: Vec<_> = asked.iter().flatten().copied().collect();
        let mut results = self.keeper.verify_many(&logins).into_iter();
        asked.iter().map(|asked| asked.as_ref().and_then(|_| results.next())).collect()
    }
}

impl Count {
    fn add(&mut self, answer: &Answer, mishap: Option<&'static str>) {
        match answer.matches {
            // Neither yes nor no: whether it matches makes no difference to anybody.
            None if answer.locked => self.locked += 1,
            Some(true) => self.yes += 1,
            Some(false) => {
                self.no += 1;
                let known = self.mishaps.iter_mut().find(|(known, _)| Some(*known) == mishap);
                match (known, mishap) {
                    (Some((_, times)), _) => *times += 1,
                    (None, Some(mishap)) => self.mishaps.push((mishap, 1)),
                    (None, None) => {}
                }
            }
            None => self.unknown += 1,
        }
    }
}

fn password<'a>(own: &'a Option<Secret>, given: &'a Given<'_>) -> &'a [u8] {
    match (own, given) {
        (Some(own), _) => own,
        (None, Given::One(one)) => one,
        (None, Given::Each(_)) => &[],
    }
}

/// The lines of a file, and how they are to be read.
struct Entries {
    lines: Lines,
    layout: Layout,
}

/// An entry with the line of the other file that belongs to it.
type Asked = (Entry, Option<Secret>);

/// An entry with its answer, and what may have happened to the password.
type Answered = (Entry, Answer, Option<&'static str>);

/// The next entries, and why they are the last ones, if they are.
fn read_group(lines: &mut Entries, mut each: Option<&mut Lines>, most: usize) -> (Vec<Asked>, Option<End>) {
    let mut group = Vec::new();
    while group.len() < most {
        match read_one(lines, each.as_deref_mut()) {
            Ok(Some((entry, own))) => group.extend(entry.map(|entry| (entry, own))),
            Ok(None) => return (group, Some(End::Whole)),
            Err(error) => return (group, Some(End::Broken(error))),
        }
    }
    (group, None)
}

/// The next line of each file; `None` at the end.
fn read_one(
    lines: &mut Entries,
    each: Option<&mut Lines>,
) -> Result<Option<(Option<Entry>, Option<Secret>)>> {
    let Some(line) = lines.lines.next()? else { return Ok(None) };
    let own = match each {
        Some(each) => {
            let path = each.path.clone();
            let missing = || Misuse(format!("{path}: no password on line {}", line.number));
            Some(each.next()?.ok_or_else(missing)?.bytes)
        }
        None => None,
    };
    Ok(Some((lines.layout.entry(line.number, &line.bytes)?, own)))
}

fn show(out: &mut Out, entry: &Entry, answer: Answer, low: &VerifyArgs) -> ControlFlow<Closed> {
    if low.json {
        let answer = Answer { line: Some(entry.line), name: entry.name.clone(), ..answer };
        return out.print(|out| json::line(out, &answer));
    }
    if low.quiet {
        return ControlFlow::Continue(());
    }
    let label = entry.label();
    out.print(|out| match (answer.matches, &answer.error) {
        (Some(true), _) => writeln!(out, "{label}: match"),
        (Some(false), _) => writeln!(out, "{label}: no match"),
        (None, None) if answer.locked => writeln!(out, "{label}: locked"),
        (None, error) => writeln!(out, "{label}: no answer ({})", error.as_deref().unwrap_or_default()),
    })
}

/// How many lines there are, where reading them twice is possible.
fn total(file: &Path) -> Option<u64> {
    let is_file = file.as_os_str() != "-" && file.metadata().is_ok_and(|facts| facts.is_file());
    let mut reader = BufReader::new(is_file.then(|| File::open(file).ok())??);
    let mut count = 0;
    loop {
        let piece = reader.fill_buf().ok()?;
        if piece.is_empty() {
            return Some(count);
        }
        count += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
        let len = piece.len();
        reader.consume(len);
    }
}
