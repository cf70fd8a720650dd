//! `password upgrade`: verifies passwords and replaces their hashes by ones that meet the requested costs.
//!
//! A file is read and all hashes are computed first; then the file is replaced; the report is printed last.

use super::costs::{self, StoredLimits};
use super::input::entry::{Entry, Layout};
use super::input::lines::Lines;
use super::input::{self, Secret, stored_hash};
use super::report::{EngineUsage, NO, UNKNOWN, YES, print_json};
use super::service::{BatchVerifier, EntryState, PasswordService, Refusal};
use crate::atomic_replace::LockedFile;
use crate::engines;
use crate::flags::{UpgradeArgs, UsageError};
use crate::output::progress::{Bar, hushed};
use crate::output::{self, Out, StdoutClosed, display_path, json, print};
use crate::resources::memory;
use crate::tune_file;
use anyhow::{Context, Result, bail};
use hashmill_hash::argon2::Params;
use hashmill_hash::password::foreign::StoredHash;
use hashmill_hash::password::{NewPassword, Passwords, Policy};
use hashmill_machine::free_kib;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum file size. Memory holds the old and the new content.
const MAX_FILE_BYTES: u64 = 1 << 28;

/// Result for an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
enum UpgradeOutcome {
    /// The password matches; this string replaces the old one.
    Replaced(String),
    /// The password matches; the hash meets the requested costs.
    UpToDate,
    NoMatch,
    /// No password was given.
    NotGiven,
    Locked,
    /// No answer, and why.
    Unknown(String),
}

/// The report on an entry. The field names are those of the JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// `null` if there is no answer, and where no password was given.
    #[serde(rename = "match")]
    matches: Option<bool>,
    upgraded: bool,
    /// Function and costs of the old hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    /// The string to store; only for a single hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    locked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// The report on a whole file.
#[derive(Serialize)]
struct UpgradeCounts<'a> {
    file: &'a str,
    entries: usize,
    replaced: usize,
    written: bool,
}

pub(super) fn run(flags: &UpgradeArgs) -> Result<u8> {
    let policy = costs::policy(&flags.policy)?;
    memory::check(policy.params().blocks())?;
    let limits = costs::stored_limits(&flags.limits)?;
    let free_kib = free_kib();
    let plan = tune_file::argon2();
    let engine = engines::tag_engine(&flags.engine)?;
    let verifier = |secret| {
        let StoredLimits { limits: costs, syntax } = limits;
        let passwords = Passwords::new(policy).plan(plan).limits(costs).syntax(syntax);
        let service =
            PasswordService::new(passwords, secret, engine).memory_budget(free_kib.unwrap_or(u64::MAX));
        BatchVerifier { service, limits, free_kib }
    };
    match &flags.stored.file {
        Some(file) => upgrade_file(file, policy, verifier, flags),
        None => upgrade_one(policy, verifier, limits, flags),
    }
}

fn upgrade_one(
    policy: Policy,
    verifier: impl FnOnce(Secret) -> BatchVerifier,
    limits: StoredLimits,
    flags: &UpgradeArgs,
) -> Result<u8> {
    if flags.passwords.is_some() {
        bail!(UsageError("--passwords goes with --file; for one hash, give the password itself".to_owned()));
    }
    let old = stored_hash::typed(&flags.stored, Some(&flags.input))?;
    let old = String::from_utf8_lossy(&old);
    // A hash that cannot be verified is reported before the user is asked for a password.
    let mut engines = Vec::new();
    let (outcome, from, mishap) = match stored_hash::decode(&*old, &limits) {
        Err(message) => (UpgradeOutcome::Unknown(message), None, None),
        Ok(hash) => {
            if let Some(message) = memory::refusal(hash.memory_kib(), free_kib()) {
                bail!(message);
            }
            let (secret, password) = input::secret_and_password(&flags.input)?;
            let service = verifier(secret).service;
            let mut outcome = match service.verify(&password, &hash, flags.no_progress) {
                Ok(()) if service.wants_upgrade(&hash) => UpgradeOutcome::Replaced(String::new()),
                other => outcome_of(other),
            };
            if let UpgradeOutcome::Replaced(new) = &mut outcome {
                let new_hash = service.hash(&password, &salt(&service)?, flags.no_progress)?;
                *new = hash.prefix().write(&new_hash);
            }
            engines = service.shares();
            let mishap = mishap(&outcome, &hash, &password);
            (outcome, Some(stored_hash::description(&hash)), mishap)
        }
    };
    let new = match &outcome {
        UpgradeOutcome::Replaced(new) => Some(&**new),
        UpgradeOutcome::UpToDate => Some(&*old),
        _ => None,
    };
    if flags.json {
        print_json(&EngineUsage {
            result: Report { hash: new, ..report(&outcome, from.as_deref()) },
            engines,
        })?;
    } else if let Some(new) = new {
        print(&format!("{new}\n"))?;
    }
    match &outcome {
        UpgradeOutcome::Unknown(reason) if !flags.json => output::print_error(reason),
        UpgradeOutcome::NoMatch if !flags.json => output::print_error("no match"),
        _ => {}
    }
    if flags.quiet {
        return Ok(exit_code(std::iter::once(&outcome)));
    }
    if let Some(note) = weakness_note(std::iter::once(&outcome), policy.params()) {
        output::print_note(&note);
    }
    if let Some(mishap) = mishap {
        output::print_note(&format!("note: {mishap}"));
    }
    Ok(exit_code(std::iter::once(&outcome)))
}

/// An entry of the file, and the result so far.
struct Row {
    entry: Entry,
    /// Offset of its line in the file.
    offset: usize,
    /// Index of its password.
    password: Option<usize>,
    hash: Option<StoredHash>,
    /// Function and costs of the old hash.
    from: Option<String>,
    outcome: UpgradeOutcome,
}

fn upgrade_file(
    file: &Path,
    policy: Policy,
    verifier: impl FnOnce(Secret) -> BatchVerifier,
    flags: &UpgradeArgs,
) -> Result<u8> {
    if file.as_os_str() == "-" {
        bail!(UsageError("--file -: name a file that can be replaced".to_owned()));
    }
    let on_stdin =
        flags.passwords.as_ref().map_or(input::takes_stdin(&flags.input), |path| path.as_os_str() == "-");
    let verifier = verifier(input::secret(&flags.input, on_stdin)?);
    let locked = LockedFile::open(file, MAX_FILE_BYTES)?;
    let mut rows = rows(&locked.bytes, Layout::from_flags(&flags.layout)?)
        .with_context(|| display_path(file).into_owned())?;
    if rows.is_empty() {
        bail!("{}: no hashes in it", display_path(file));
    }
    if let Some(name) = &flags.name {
        rows.retain(|row| row.entry.name.as_ref() == Some(name));
        if rows.is_empty() {
            bail!(UsageError(format!("{}: no entry of the name {name:?}", display_path(file))));
        }
    }
    let passwords = match &flags.passwords {
        Some(path) => assign_passwords(&mut rows, locked.bytes.split(|byte| *byte == b'\n').count(), path)?,
        None => {
            rows.iter_mut().for_each(|row| row.password = Some(0));
            vec![input::attempt(&flags.input)?]
        }
    };

    let mishaps = compute(&verifier, &mut rows, &passwords, flags)?;
    let new = new_content(&locked.bytes, &rows);
    let replaced = rows.iter().filter(|row| matches!(row.outcome, UpgradeOutcome::Replaced(_))).count();
    let written = replaced > 0 && !flags.dry_run;
    let finished = if written { Some(locked.replace(&new)?) } else { None };

    let counts = UpgradeCounts { file: &display_path(file), entries: rows.len(), replaced, written };
    let summary = EngineUsage { result: counts, engines: verifier.service.shares() };
    let mut out = Out::new(None);
    let (ControlFlow::Continue(()) | ControlFlow::Break(StdoutClosed)) =
        print_report(&mut out, &rows, &summary, flags);
    let ended = out.finish();
    if let Some(finished) = finished {
        output::note_other_names(&display_path(file), finished);
    }
    if let Some(note) =
        weakness_note(rows.iter().map(|row| &row.outcome), policy.params()).filter(|_| !flags.quiet)
    {
        output::print_note(&note);
    }
    for (mishap, times) in mishaps.iter().filter(|_| !flags.quiet) {
        let times = if *times == 1 { String::new() } else { format!(" ({times} times)") };
        output::print_note(&format!("note: {mishap}{times}"));
    }
    Ok(ended.answer_code(exit_code(rows.iter().map(|row| &row.outcome)), UNKNOWN))
}

/// The entries of a file.
fn rows(bytes: &[u8], mut layout: Layout) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut offset = 0;
    for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        if let Some(entry) = layout.entry(number, text)? {
            rows.push(Row {
                entry,
                offset,
                password: None,
                hash: None,
                from: None,
                outcome: UpgradeOutcome::NotGiven,
            });
        }
        offset += line.len();
    }
    Ok(rows)
}

/// Assigns to each entry the password on its line of another file, if not empty. Returns the passwords.
fn assign_passwords(rows: &mut [Row], line_count: usize, path: &Path) -> Result<Vec<Secret>> {
    let mut lines = Lines::open(path)?;
    let mut passwords = Vec::new();
    let mut rows = rows.iter_mut().peekable();
    while let Some(line) = lines.next()? {
        if line.number > line_count as u64 {
            let number = line.number;
            bail!(UsageError(format!(
                "{}: no hash on line {number}: do the two files belong together? Nothing was written",
                lines.path
            )));
        }
        let row = rows.next_if(|row| row.entry.line == line.number);
        if let Some(row) = row.filter(|_| !line.bytes.is_empty()) {
            row.password = Some(passwords.len());
            passwords.push(line.bytes);
        }
    }
    Ok(passwords)
}

/// Likely input mistakes, and how often each occurred.
type Mishaps = Vec<(&'static str, u64)>;

/// Verifies the entries that have a password, and computes the new hashes.
fn compute(
    verifier: &BatchVerifier,
    rows: &mut [Row],
    passwords: &[Secret],
    flags: &UpgradeArgs,
) -> Result<Mishaps> {
    let done = Arc::new(AtomicU64::new(0));
    let total = rows.iter().filter(|row| row.password.is_some()).count() as u64;
    let bar = if flags.no_progress || hushed(flags.quiet) {
        None
    } else {
        Bar::counting("upgrading", &done, Some(total), "passwords")
    };
    let mut mishaps = Mishaps::new();
    let service = &verifier.service;
    for batch in rows.chunks_mut(service.batch_len()) {
        for row in &mut *batch {
            match (verifier.decode(&row.entry.field), row.password) {
                (EntryState::Locked, _) => row.outcome = UpgradeOutcome::Locked,
                (EntryState::Unusable(reason), Some(_)) => row.outcome = UpgradeOutcome::Unknown(reason),
                (EntryState::Unusable(_), None) => {}
                (EntryState::Hash(hash), _) => {
                    row.from = Some(stored_hash::description(&hash));
                    row.hash = Some(hash);
                }
            }
        }
        let logins = batch.iter().map(|row| Some((&passwords[row.password?][..], row.hash.as_ref()?)));
        let results = verifier.verify(&logins.collect::<Vec<_>>());
        let mut wanted = Vec::new();
        for (row, result) in batch.iter_mut().zip(results) {
            let (Some(result), Some(hash), Some(password)) = (result, &row.hash, row.password) else {
                continue;
            };
            row.outcome = outcome_of(result);
            if row.outcome == UpgradeOutcome::UpToDate && service.wants_upgrade(hash) {
                row.outcome = UpgradeOutcome::Replaced(String::new());
                wanted.push((salt(service)?, password));
            }
            if let Some(mishap) = mishap(&row.outcome, hash, &passwords[password]) {
                match mishaps.iter_mut().find(|(known, _)| *known == mishap) {
                    Some((_, times)) => *times += 1,
                    None => mishaps.push((mishap, 1)),
                }
            }
        }
        let new = wanted.iter().map(|(salt, password)| NewPassword { password: &passwords[*password], salt });
        let mut new_hashes = service.hash_many(&new.collect::<Vec<_>>())?.into_iter();
        for row in &mut *batch {
            if let (UpgradeOutcome::Replaced(new), Some(hash)) = (&mut row.outcome, &row.hash) {
                *new = hash.prefix().write(&new_hashes.next().expect("one hash for each row in `wanted`"));
            }
        }
        let finished = batch.iter().filter(|row| row.password.is_some()).count() as u64;
        done.fetch_add(finished, Ordering::Relaxed);
    }
    if let Some(bar) = bar {
        bar.finish();
    }
    Ok(mishaps)
}

fn salt(service: &PasswordService) -> Result<Vec<u8>> {
    let mut salt = vec![0; service.policy().salt_len()];
    getrandom::fill(&mut salt).context("random bytes for the salt")?;
    Ok(salt)
}

fn outcome_of(result: Result<(), Refusal>) -> UpgradeOutcome {
    match result {
        Ok(()) => UpgradeOutcome::UpToDate,
        Err(Refusal::Mismatch) => UpgradeOutcome::NoMatch,
        Err(Refusal::Unknown(reason)) => UpgradeOutcome::Unknown(reason),
    }
}

/// A note on a password that did not match or whose hash was replaced.
fn mishap(outcome: &UpgradeOutcome, hash: &StoredHash, password: &[u8]) -> Option<&'static str> {
    let is_truncated = hash.foreign().is_some_and(|foreign| foreign.ignores_part_of(password));
    match outcome {
        UpgradeOutcome::NoMatch => input::mishap(password),
        UpgradeOutcome::Replaced(_) if is_truncated => {
            Some("bcrypt used only the first 72 bytes of the password; the new hash covers all of it")
        }
        _ => None,
    }
}

/// A note on the costs of new hashes, if any were computed.
fn weakness_note<'a>(
    mut outcomes: impl Iterator<Item = &'a UpgradeOutcome>,
    params: Params,
) -> Option<String> {
    outcomes
        .any(|outcome| matches!(outcome, UpgradeOutcome::Replaced(_)))
        .then(|| costs::weakness_note(params))
        .flatten()
}

/// The content of the file with the new hashes; all other bytes are unchanged.
fn new_content(old: &[u8], rows: &[Row]) -> Vec<u8> {
    let mut new = Vec::with_capacity(old.len());
    let mut at = 0;
    for row in rows {
        if let UpgradeOutcome::Replaced(hash) = &row.outcome {
            let range = row.offset + row.entry.range.start..row.offset + row.entry.range.end;
            new.extend_from_slice(&old[at..range.start]);
            new.extend_from_slice(row.entry.replacement(hash).as_bytes());
            at = range.end;
        }
    }
    new.extend_from_slice(&old[at..]);
    new
}

/// The exit code for all entries. Without a match it is not `YES`: a script must not take a locked entry for a match.
fn exit_code<'a>(outcomes: impl Iterator<Item = &'a UpgradeOutcome>) -> u8 {
    let (mut yes, mut no, mut unknown) = (0, 0, 0);
    for outcome in outcomes {
        match outcome {
            UpgradeOutcome::Replaced(_) | UpgradeOutcome::UpToDate => yes += 1,
            UpgradeOutcome::NoMatch => no += 1,
            UpgradeOutcome::Unknown(_) => unknown += 1,
            UpgradeOutcome::NotGiven | UpgradeOutcome::Locked => {}
        }
    }
    match (yes, no, unknown) {
        (_, _, 1..) => UNKNOWN,
        (1.., 0, _) => YES,
        _ => NO,
    }
}

fn report<'a>(outcome: &'a UpgradeOutcome, from: Option<&'a str>) -> Report<'a> {
    Report {
        line: None,
        name: None,
        matches: match outcome {
            UpgradeOutcome::Replaced(_) | UpgradeOutcome::UpToDate => Some(true),
            UpgradeOutcome::NoMatch => Some(false),
            UpgradeOutcome::NotGiven | UpgradeOutcome::Locked | UpgradeOutcome::Unknown(_) => None,
        },
        upgraded: matches!(outcome, UpgradeOutcome::Replaced(_)),
        from,
        hash: None,
        locked: *outcome == UpgradeOutcome::Locked,
        error: match outcome {
            UpgradeOutcome::Unknown(reason) => Some(reason),
            _ => None,
        },
    }
}

fn print_report(
    out: &mut Out,
    rows: &[Row],
    summary: &EngineUsage<UpgradeCounts<'_>>,
    flags: &UpgradeArgs,
) -> ControlFlow<StdoutClosed> {
    for row in rows {
        if flags.json {
            let (line, name) = (Some(row.entry.line), row.entry.name.as_deref());
            out.print(|out| {
                json::line(out, &Report { line, name, ..report(&row.outcome, row.from.as_deref()) })
            })?;
        } else if !flags.quiet {
            let label = row.entry.label();
            let from = row.from.as_deref().unwrap_or_default();
            out.print(|out| match &row.outcome {
                UpgradeOutcome::Replaced(_) => writeln!(out, "{label}: match, replaced ({from})"),
                UpgradeOutcome::UpToDate => writeln!(out, "{label}: match, kept ({from})"),
                UpgradeOutcome::NoMatch => writeln!(out, "{label}: no match"),
                UpgradeOutcome::NotGiven => writeln!(out, "{label}: no password given"),
                UpgradeOutcome::Locked => writeln!(out, "{label}: locked"),
                UpgradeOutcome::Unknown(reason) => writeln!(out, "{label}: no answer ({reason})"),
            })?;
        }
    }
    if flags.json {
        return out.print(|out| json::line(out, summary));
    }
    if flags.quiet {
        return ControlFlow::Continue(());
    }
    let UpgradeCounts { file, entries, replaced, .. } = &summary.result;
    let done = if flags.dry_run { "would be replaced; nothing was written" } else { "replaced" };
    out.print(|out| writeln!(out, "{file}: {replaced} of {entries} hashes {done}"))
}
