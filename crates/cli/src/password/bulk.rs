//! A file of hashes, many at a time, and the answers in their order.

use super::answer::Answer;
use super::input::{self, Secret};
use super::lines::{Entry, Lines};
use super::{NO, UNKNOWN, YES, costs};
use crate::flags::{Misuse, VerifyArgs};
use crate::memory;
use crate::out::progress::Bar;
use crate::out::{self, Closed, Out, json, shown};
use anyhow::Result;
use hashmill_hash::password::{Limits, Login, PasswordHash, Passwords};
use hashmill_machine::free_kib;
use std::fs::File;
use std::io::{BufRead, BufReader};
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

/// How many answers of which kind.
#[derive(Default)]
struct Count {
    yes: u64,
    no: u64,
    unknown: u64,
    /// Of those that do not match: what may have happened to the password, and how often.
    mishaps: Vec<(&'static str, u64)>,
}

pub(super) fn run(passwords: Passwords, file: &Path, given: &Given<'_>, low: &VerifyArgs) -> Result<u8> {
    let free = free_kib();
    let limits = costs::limits(&low.limits)?;
    let passwords = passwords.memory_budget(free.unwrap_or(u64::MAX));
    let checker = Checker { passwords, limits, free, low };
    let mut lines = Lines::open(file)?;
    let mut each = match given {
        Given::Each(path) => Some(Lines::open(path)?),
        Given::One(_) => None,
    };
    let done = Arc::new(AtomicU64::new(0));
    let total = total(file);
    let bar = if low.no_progress || low.quiet { None } else { Bar::counting(&done, total, "passwords") };
    let mut out = Out::new(bar);
    let mut count = Count::default();
    let mut reached = 0;
    let end = checker.check(&mut lines, each.as_mut(), given, |answers| {
        done.fetch_add(answers.len() as u64, Ordering::Relaxed);
        for (entry, answer, mishap) in answers {
            count.add(answer.matches, mishap);
            reached = entry.line;
            show(&mut out, &entry, answer, low)?;
        }
        out.flush()
    });
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
        out::complain(&format!("take note: {mishap}{times}"));
    }
    // Passwords that are left over have no hash on their line: the two files may not belong together.
    let left = if whole { each.as_mut().map(Lines::next).transpose()?.flatten() } else { None };
    if let (Some(line), Some(each)) = (&left, &each) {
        let words = format!("no hash on line {}, so nothing from there on was looked at", line.number);
        out::complain(&format!("{}: {words}", each.path));
    }
    if !whole {
        out::complain(&format!("{}: nothing after line {reached} of it was looked at", shown(file)));
    } else if count.yes + count.no + count.unknown == 0 {
        out::complain(&format!("{}: no hashes in it", shown(file)));
        return Ok(UNKNOWN);
    }
    let code = match count {
        _ if !whole || left.is_some() => UNKNOWN,
        Count { unknown: 1.., .. } => UNKNOWN,
        Count { no: 1.., .. } => NO,
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
struct Checker<'a> {
    passwords: Passwords,
    limits: Limits,
    /// KiB at the beginning, if the system tells.
    free: Option<u64>,
    low: &'a VerifyArgs,
}

impl Checker<'_> {
    /// Answers group by group, until the file or the interest in it ends.
    fn check(
        &self,
        lines: &mut Lines,
        mut each: Option<&mut Lines>,
        given: &Given<'_>,
        mut tell: impl FnMut(Vec<Answered>) -> ControlFlow<Closed>,
    ) -> End {
        // Enough for every thread to stay busy while others finish, few enough for answers to come steadily.
        let most = 8 * hashmill_machine::threads();
        loop {
            let (group, end) = read_group(lines, each.as_deref_mut(), most);
            let refused = group.iter().map(|(entry, _)| self.refusal(entry)).collect::<Vec<_>>();
            let worth = || group.iter().zip(&refused).filter(|(_, refusal)| refusal.is_none());
            let logins: Vec<_> = worth()
                .map(|((entry, own), _)| Login { password: password(own, given), stored: &entry.hash })
                .collect();
            let mut results = self.passwords.verify_many(&logins).into_iter().map(Answer::from);
            drop(logins);
            let answers = refused.into_iter().map(|refusal| match refusal {
                Some(words) => Answer::none(words),
                None => results.next().expect("an answer for each login"),
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

    /// Why a hash is not computed although its costs are allowed: the system would end this program.
    fn refusal(&self, entry: &Entry) -> Option<String> {
        let syntax = costs::syntax(self.low.limits.lenient);
        // A hash that cannot be read gets its reason from whoever tries.
        let hash = PasswordHash::decode(&entry.hash, syntax, &self.limits).ok()?;
        memory::refusal(hash.params().blocks(), self.free)
    }
}

impl Count {
    fn add(&mut self, matches: Option<bool>, mishap: Option<&'static str>) {
        match matches {
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

/// An entry with the line of the other file that belongs to it.
type Asked = (Entry, Option<Secret>);

/// An entry with its answer, and what may have happened to the password.
type Answered = (Entry, Answer, Option<&'static str>);

/// The next entries, and why they are the last ones, if they are.
fn read_group(lines: &mut Lines, mut each: Option<&mut Lines>, most: usize) -> (Vec<Asked>, Option<End>) {
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
fn read_one(lines: &mut Lines, each: Option<&mut Lines>) -> Result<Option<(Option<Entry>, Option<Secret>)>> {
    let Some(line) = lines.next()? else { return Ok(None) };
    let own = match each {
        Some(each) => {
            let path = each.path.clone();
            let missing = || Misuse(format!("{path}: no password on line {}", line.number));
            Some(each.next()?.ok_or_else(missing)?.bytes)
        }
        None => None,
    };
    Ok(Some((Entry::of(&line), own)))
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
