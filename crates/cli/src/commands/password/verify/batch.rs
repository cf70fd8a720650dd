//! Verification of a file of hashes, batch by batch, with answers in order.

use super::super::costs::StoredLimits;
use super::super::input::entry::{Entry, Layout};
use super::super::input::lines::{Lines, unread_after};
use super::super::input::{self, Secret};
use super::super::report::{NO, UNKNOWN, YES};
use super::super::service::{BatchVerifier, EntryState, PasswordService};
use super::answer::Answer;
use crate::flags::{UsageError, VerifyArgs};
use crate::output::progress::{Bar, hushed};
use crate::output::{self, Out, StdoutClosed, display_path, json};
use crate::tune_file;
use anyhow::{Result, bail};
use hashmill_engines::{EngineShare, TagEngine};
use hashmill_hash::password::Passwords;
use hashmill_machine::free_kib;
use serde::Serialize;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the passwords come from.
enum PasswordSource<'a> {
    /// One password for all hashes.
    One(Secret),
    /// A file with a password for each line.
    Each(&'a Path),
}

/// The share of each engine, if a group of engines was requested.
#[derive(Serialize)]
struct Engines {
    engines: Vec<EngineShare>,
}

/// Number of answers by kind.
#[derive(Default)]
struct AnswerCounts {
    yes: u64,
    no: u64,
    unknown: u64,
    locked: u64,
    /// Likely input mistakes among passwords that do not match, and how often each occurred.
    mishaps: Vec<(&'static str, u64)>,
}

pub(super) fn run(
    flags: &VerifyArgs,
    file: &Path,
    limits: StoredLimits,
    engine: Option<Box<dyn TagEngine>>,
) -> Result<u8> {
    let (secret, source) = secret_and_passwords(flags, file)?;
    let layout = Layout::from_flags(&flags.layout)?;
    let StoredLimits { limits: costs, syntax } = limits;
    let passwords = Passwords::default().plan(tune_file::argon2()).limits(costs).syntax(syntax);
    let free_kib = free_kib();
    let service = PasswordService::new(passwords, secret, engine).memory_budget(free_kib.unwrap_or(u64::MAX));
    let verifier = BatchVerifier { service, limits, free_kib };
    let mut lines = Entries { lines: Lines::open(file)?, layout };
    let mut each = match &source {
        PasswordSource::Each(path) => Some(Lines::open(path)?),
        PasswordSource::One(_) => None,
    };
    let done = Arc::new(AtomicU64::new(0));
    let total = line_count(file);
    let bar = if flags.no_progress || hushed(flags.quiet) {
        None
    } else {
        Bar::counting("checking", &done, total, "passwords")
    };
    let mut out = Out::new(bar);
    let mut count = AnswerCounts::default();
    let mut reached = 0;
    let end = verify_all(&verifier, &mut lines, each.as_mut(), &source, |answers| {
        done.fetch_add(answers.len() as u64, Ordering::Relaxed);
        for (entry, answer, mishap) in answers {
            count.add(&answer, mishap);
            reached = entry.line;
            print_answer(&mut out, &entry, answer, flags)?;
        }
        out.flush()
    });
    let engines = verifier.service.shares();
    if flags.json && !engines.is_empty() {
        let line = |out: &mut dyn Write| json::line(out, &Engines { engines });
        let (ControlFlow::Continue(()) | ControlFlow::Break(StdoutClosed)) = out.print(line);
    }
    // Remove the bar before printing to standard error.
    let ended = out.finish();
    let is_complete = match end {
        End::Complete => true,
        End::StdoutClosed => false,
        End::InputError(error) => {
            output::print_error(&format!("{error:#}"));
            false
        }
    };
    for (mishap, times) in count.mishaps.iter().filter(|_| !flags.quiet) {
        let times = if *times == 1 { String::new() } else { format!(" ({times} times)") };
        output::print_note(&format!("note: {mishap}{times}"));
    }
    // Passwords beyond the last hash: the two files may not belong together.
    let left = if is_complete { each.as_mut().map(Lines::next).transpose()?.flatten() } else { None };
    if let (Some(line), Some(each)) = (&left, &each) {
        let number = line.number;
        output::print_error(&format!(
            "{}: no hash on line {number}; passwords from there on were not used",
            each.path
        ));
    }
    if !is_complete {
        output::print_error(&format!("{}: {}", display_path(file), unread_after(reached)));
    } else if count.yes + count.no + count.unknown + count.locked == 0 {
        output::print_error(&format!("{}: no hashes in it", display_path(file)));
        return Ok(UNKNOWN);
    }
    let code = match count {
        _ if !is_complete || left.is_some() => UNKNOWN,
        AnswerCounts { unknown: 1.., .. } => UNKNOWN,
        AnswerCounts { no: 1.., .. } => NO,
        // Only locked entries: a script must not take that for a match.
        AnswerCounts { yes: 0, .. } => NO,
        AnswerCounts { .. } => YES,
    };
    Ok(ended.answer_code(code, UNKNOWN))
}

/// Reads the secret, then the password or the name of the file of passwords.
fn secret_and_passwords<'a>(flags: &'a VerifyArgs, file: &Path) -> Result<(Secret, PasswordSource<'a>)> {
    let password_on_stdin = flags.passwords.is_none() && input::takes_stdin(&flags.input);
    let files = [Some(file), flags.passwords.as_deref()].into_iter().flatten();
    let readers = files.filter(|path| path.as_os_str() == "-").count() + usize::from(password_on_stdin);
    if readers > 1 {
        bail!(UsageError(
            "standard input cannot be the hashes and the password: see --password-fd".to_owned()
        ));
    }
    let secret = input::secret(&flags.input, readers > 0)?;
    let source = match &flags.passwords {
        Some(path) => PasswordSource::Each(path),
        None => PasswordSource::One(input::attempt(&flags.input)?),
    };
    Ok((secret, source))
}

/// Why there are no further answers.
enum End {
    /// All entries were processed.
    Complete,
    /// Standard output takes no more.
    StdoutClosed,
    /// One of the files cannot be read any further.
    InputError(anyhow::Error),
}

/// Verifies batch by batch, until the file ends or standard output is closed.
fn verify_all(
    verifier: &BatchVerifier,
    lines: &mut Entries,
    mut each: Option<&mut Lines>,
    source: &PasswordSource<'_>,
    mut print: impl FnMut(Vec<AnsweredEntry>) -> ControlFlow<StdoutClosed>,
) -> End {
    loop {
        let (batch, end) = read_batch(lines, each.as_deref_mut(), verifier.service.batch_len());
        let states: Vec<_> = batch.iter().map(|(entry, _)| verifier.decode(&entry.field)).collect();
        let logins = batch.iter().zip(&states).map(|((_, own), state)| match state {
            EntryState::Hash(hash) => Some((password(own, source), hash)),
            EntryState::Locked | EntryState::Unusable(_) => None,
        });
        let results = verifier.verify(&logins.collect::<Vec<_>>());
        let answers = states.into_iter().zip(results).map(|(state, result)| match (state, result) {
            (_, Some(result)) => Answer::from(result),
            (EntryState::Locked, None) => Answer::locked(),
            (EntryState::Unusable(message), None) => Answer::unknown(message),
            (EntryState::Hash(_), None) => unreachable!("every decoded hash was verified"),
        });
        let answered = batch
            .iter()
            .zip(answers)
            .map(|((entry, own), answer)| (entry.clone(), answer, input::mishap(password(own, source))));
        let printed = print(answered.collect());
        match (printed, end) {
            (ControlFlow::Break(StdoutClosed), None | Some(End::Complete | End::StdoutClosed)) => {
                return End::StdoutClosed;
            }
            (_, Some(end)) => return end,
            (ControlFlow::Continue(()), None) => {}
        }
    }
}

impl AnswerCounts {
    fn add(&mut self, answer: &Answer, mishap: Option<&'static str>) {
        match answer.matches {
            // Neither yes nor no: no password gives access.
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

/// The password for an entry: that on its line of the other file, or the one for all.
fn password<'a>(own: &'a Option<Secret>, source: &'a PasswordSource<'_>) -> &'a [u8] {
    match (own, source) {
        (Some(own), _) => own,
        (None, PasswordSource::One(one)) => one,
        (None, PasswordSource::Each(_)) => &[],
    }
}

/// The lines of a file of hashes, and their layout.
struct Entries {
    lines: Lines,
    layout: Layout,
}

/// An entry with the password on its line of the other file.
type EntryWithPassword = (Entry, Option<Secret>);

/// An entry with its answer, and the likely input mistake in its password.
type AnsweredEntry = (Entry, Answer, Option<&'static str>);

/// The next entries, and why they are the last, if they are.
fn read_batch(
    lines: &mut Entries,
    mut each: Option<&mut Lines>,
    max_entries: usize,
) -> (Vec<EntryWithPassword>, Option<End>) {
    let mut batch = Vec::new();
    while batch.len() < max_entries {
        match read_one(lines, each.as_deref_mut()) {
            Ok(Some((entry, own))) => batch.extend(entry.map(|entry| (entry, own))),
            Ok(None) => return (batch, Some(End::Complete)),
            Err(error) => return (batch, Some(End::InputError(error))),
        }
    }
    (batch, None)
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
            let missing = || UsageError(format!("{path}: no password on line {}", line.number));
            Some(each.next()?.ok_or_else(missing)?.bytes)
        }
        None => None,
    };
    Ok(Some((lines.layout.entry(line.number, &line.bytes)?, own)))
}

fn print_answer(
    out: &mut Out,
    entry: &Entry,
    answer: Answer,
    flags: &VerifyArgs,
) -> ControlFlow<StdoutClosed> {
    if flags.json {
        let answer = Answer { line: Some(entry.line), name: entry.name.clone(), ..answer };
        return out.print(|out| json::line(out, &answer));
    }
    if flags.quiet {
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

/// Number of lines, if the file can be read twice.
fn line_count(file: &Path) -> Option<u64> {
    let is_file = file.as_os_str() != "-" && file.metadata().is_ok_and(|metadata| metadata.is_file());
    let mut reader = BufReader::new(is_file.then(|| File::open(file).ok())??);
    let mut count = 0;
    loop {
        let chunk = reader.fill_buf().ok()?;
        if chunk.is_empty() {
            return Some(count);
        }
        count += chunk.iter().filter(|byte| **byte == b'\n').count() as u64;
        let len = chunk.len();
        reader.consume(len);
    }
}
