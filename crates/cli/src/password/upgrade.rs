//! `password upgrade`: a password is checked and its hash replaced by one that meets the costs asked for, alone or in a file.
//!
//! First everything is read and computed, then the file is replaced, and what was done is told last.

use super::bulk::{Checker, Readable};
use super::entry::{Entry, Layout};
use super::input::{self, Secret};
use super::keeper::{Keeper, Refusal};
use super::lines::Lines;
use super::{By, NO, UNKNOWN, YES, costs, print, print_json, stored};
use crate::engine;
use crate::flags::{Misuse, UpgradeArgs};
use crate::out::progress::{Bar, hushed};
use crate::out::{self, Closed, Out, json, shown};
use crate::replace::Held;
use crate::{kept, memory};
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

/// The largest file, which is held in memory as it was and as it will be.
const MOST_OF_FILE: u64 = 1 << 28;

/// What becomes of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Fate {
    /// The password matches, and this is the string in the place of the old one.
    Replaced(String),
    /// The password matches, and the hash may stay.
    Stays,
    NoMatch,
    /// No password was given.
    NotGiven,
    Locked,
    /// No answer, and why.
    Unknown(String),
}

/// What is told of an entry. The names of the fields are those of the JSON.
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
    /// What to store; for a single hash alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    locked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// What is told of a whole file.
#[derive(Serialize)]
struct Sum<'a> {
    file: &'a str,
    entries: usize,
    replaced: usize,
    written: bool,
}

pub(super) fn run(low: &UpgradeArgs) -> Result<u8> {
    let policy = costs::policy(&low.policy)?;
    memory::check(policy.params().blocks())?;
    let limits = costs::limits(&low.limits)?;
    let syntax = costs::syntax(low.limits.lenient);
    let free = free_kib();
    let plan = kept::argon2();
    let device = engine::computer(&low.engine)?;
    let keeper = |secret| {
        let passwords = Passwords::new(policy).plan(plan).limits(limits).syntax(syntax);
        let keeper = Keeper::new(passwords, secret, device).memory_budget(free.unwrap_or(u64::MAX));
        Checker { keeper, limits, syntax, free }
    };
    match &low.stored.file {
        Some(file) => of_file(file, policy, keeper, low),
        None => of_one(policy, keeper, low),
    }
}

fn of_one(policy: Policy, keeper: impl FnOnce(Secret) -> Checker, low: &UpgradeArgs) -> Result<u8> {
    if low.passwords.is_some() {
        bail!(Misuse("--passwords goes with --file; for one hash, give the password itself".to_owned()));
    }
    let old = stored::typed(&low.stored, Some(&low.input))?;
    let old = String::from_utf8_lossy(&old);
    let secret = || input::secret(&low.input, input::takes_stdin(&low.input));
    let limits = costs::limits(&low.limits)?;
    // A hash that cannot be checked is told about before anybody is asked for anything.
    let mut engines = Vec::new();
    let (fate, from, mishap) = match stored::decode(&*old, costs::syntax(low.limits.lenient), &limits) {
        Err(words) => (Fate::Unknown(words), None, None),
        Ok(hash) => {
            if let Some(words) = memory::refusal(hash.memory_kib(), free_kib()) {
                bail!(words);
            }
            let checker = keeper(secret()?);
            let password = input::attempt(&low.input)?;
            let keeper = &checker.keeper;
            let mut fate = match keeper.verify(&password, &hash, low.no_progress) {
                Ok(()) if keeper.wants_upgrade(&hash) => Fate::Replaced(String::new()),
                other => fate_of(other),
            };
            if let Fate::Replaced(new) = &mut fate {
                let made = keeper.hash(&password, &salt(keeper)?, low.no_progress)?;
                *new = hash.form().write(&made);
            }
            engines = keeper.shares();
            let mishap = mishap(&fate, &hash, &password);
            (fate, Some(stored::kind(&hash)), mishap)
        }
    };
    let new = match &fate {
        Fate::Replaced(new) => Some(&**new),
        Fate::Stays => Some(&*old),
        _ => None,
    };
    if low.json {
        print_json(&By { what: Report { hash: new, ..report(&fate, from.as_deref()) }, engines })?;
    } else if let Some(new) = new {
        print(&format!("{new}\n"))?;
    }
    match &fate {
        Fate::Unknown(words) if !low.json => out::complain(words),
        Fate::NoMatch if !low.json => out::complain("no match"),
        _ => {}
    }
    if low.quiet {
        return Ok(code(std::iter::once(&fate)));
    }
    if let Some(note) = note(std::iter::once(&fate), policy.params()) {
        out::remark(&note);
    }
    if let Some(mishap) = mishap {
        out::remark(&format!("take note: {mishap}"));
    }
    Ok(code(std::iter::once(&fate)))
}

/// An entry with where its line begins, its password, and what is known of it so far.
struct Row {
    entry: Entry,
    offset: usize,
    password: Option<usize>,
    hash: Option<StoredHash>,
    from: Option<String>,
    fate: Fate,
}

fn of_file(
    file: &Path,
    policy: Policy,
    keeper: impl FnOnce(Secret) -> Checker,
    low: &UpgradeArgs,
) -> Result<u8> {
    if file.as_os_str() == "-" {
        bail!(Misuse("--file -: name a file that can be replaced".to_owned()));
    }
    let on_stdin =
        low.passwords.as_ref().map_or(input::takes_stdin(&low.input), |path| path.as_os_str() == "-");
    let checker = keeper(input::secret(&low.input, on_stdin)?);
    let held = Held::open(file, MOST_OF_FILE)?;
    let mut rows = rows(&held.bytes, Layout::of(&low.layout)?).with_context(|| shown(file).into_owned())?;
    if rows.is_empty() {
        bail!("{}: no hashes in it", shown(file));
    }
    if let Some(name) = &low.name {
        rows.retain(|row| row.entry.name.as_ref() == Some(name));
        if rows.is_empty() {
            bail!(Misuse(format!("{}: no entry of the name {name:?}", shown(file))));
        }
    }
    let passwords = match &low.passwords {
        Some(path) => assign(&mut rows, held.bytes.split(|byte| *byte == b'\n').count(), path)?,
        None => {
            rows.iter_mut().for_each(|row| row.password = Some(0));
            vec![input::attempt(&low.input)?]
        }
    };

    let mishaps = compute(&checker, &mut rows, &passwords, low)?;
    let new = replaced(&held.bytes, &rows);
    let replaced = rows.iter().filter(|row| matches!(row.fate, Fate::Replaced(_))).count();
    let written = replaced > 0 && !low.dry_run;
    let finished = if written { Some(held.replace(&new)?) } else { None };

    let sum = Sum { file: &shown(file), entries: rows.len(), replaced, written };
    let sum = By { what: sum, engines: checker.keeper.shares() };
    let mut out = Out::new(None);
    let (ControlFlow::Continue(()) | ControlFlow::Break(Closed)) = tell(&mut out, &rows, &sum, low);
    let ended = out.finish();
    if let Some(finished) = finished {
        out::remark_other_names(&shown(file), finished);
    }
    if let Some(note) = note(rows.iter().map(|row| &row.fate), policy.params()).filter(|_| !low.quiet) {
        out::remark(&note);
    }
    for (mishap, times) in mishaps.iter().filter(|_| !low.quiet) {
        let times = if *times == 1 { String::new() } else { format!(" ({times} times)") };
        out::remark(&format!("take note: {mishap}{times}"));
    }
    Ok(ended.answer(code(rows.iter().map(|row| &row.fate)), UNKNOWN))
}

/// The entries of a file.
fn rows(bytes: &[u8], mut layout: Layout) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut offset = 0;
    for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        if let Some(entry) = layout.entry(number, text)? {
            rows.push(Row { entry, offset, password: None, hash: None, from: None, fate: Fate::NotGiven });
        }
        offset += line.len();
    }
    Ok(rows)
}

/// Gives each entry the password on its line of another file, if there is one, and those passwords.
fn assign(rows: &mut [Row], line_count: usize, path: &Path) -> Result<Vec<Secret>> {
    let mut lines = Lines::open(path)?;
    let mut passwords = Vec::new();
    let mut rows = rows.iter_mut().peekable();
    while let Some(line) = lines.next()? {
        if line.number > line_count as u64 {
            let words = format!("no hash on line {}: do the two files belong together?", line.number);
            bail!(Misuse(format!("{}: {words} Nothing was written", lines.path)));
        }
        let row = rows.next_if(|row| row.entry.line == line.number);
        if let Some(row) = row.filter(|_| !line.bytes.is_empty()) {
            row.password = Some(passwords.len());
            passwords.push(line.bytes);
        }
    }
    Ok(passwords)
}

/// What may have gone wrong with passwords, and how often.
type Mishaps = Vec<(&'static str, u64)>;

/// Verifies what has a password, and makes new hashes where they are wanted.
fn compute(checker: &Checker, rows: &mut [Row], given: &[Secret], low: &UpgradeArgs) -> Result<Mishaps> {
    let done = Arc::new(AtomicU64::new(0));
    let total = rows.iter().filter(|row| row.password.is_some()).count() as u64;
    let bar = if low.no_progress || hushed(low.quiet) {
        None
    } else {
        Bar::counting("upgrading", &done, Some(total), "passwords")
    };
    let mut mishaps = Mishaps::new();
    let keeper = &checker.keeper;
    for group in rows.chunks_mut(keeper.at_once()) {
        for row in &mut *group {
            match (checker.read(&row.entry.field), row.password) {
                (Readable::Locked, _) => row.fate = Fate::Locked,
                (Readable::Not(words), Some(_)) => row.fate = Fate::Unknown(words),
                (Readable::Not(_), None) => {}
                (Readable::Hash(hash), _) => {
                    row.from = Some(stored::kind(&hash));
                    row.hash = Some(hash);
                }
            }
        }
        let asked = group.iter().map(|row| Some((&given[row.password?][..], row.hash.as_ref()?)));
        let results = checker.verify(&asked.collect::<Vec<_>>());
        let mut wanted = Vec::new();
        for (row, result) in group.iter_mut().zip(results) {
            let (Some(result), Some(hash), Some(password)) = (result, &row.hash, row.password) else {
                continue;
            };
            row.fate = fate_of(result);
            if row.fate == Fate::Stays && keeper.wants_upgrade(hash) {
                row.fate = Fate::Replaced(String::new());
                wanted.push((salt(keeper)?, password));
            }
            if let Some(mishap) = mishap(&row.fate, hash, &given[password]) {
                match mishaps.iter_mut().find(|(known, _)| *known == mishap) {
                    Some((_, times)) => *times += 1,
                    None => mishaps.push((mishap, 1)),
                }
            }
        }
        let new = wanted.iter().map(|(salt, password)| NewPassword { password: &given[*password], salt });
        let mut made = keeper.hash_many(&new.collect::<Vec<_>>())?.into_iter();
        for row in &mut *group {
            if let (Fate::Replaced(new), Some(hash)) = (&mut row.fate, &row.hash) {
                *new = hash.form().write(&made.next().expect("a hash for each that is wanted"));
            }
        }
        let finished = group.iter().filter(|row| row.password.is_some()).count() as u64;
        done.fetch_add(finished, Ordering::Relaxed);
    }
    if let Some(bar) = bar {
        bar.finish();
    }
    Ok(mishaps)
}

fn salt(keeper: &Keeper) -> Result<Vec<u8>> {
    let mut salt = vec![0; keeper.policy().salt_len()];
    getrandom::fill(&mut salt).context("random bytes for the salt")?;
    Ok(salt)
}

fn fate_of(result: Result<(), Refusal>) -> Fate {
    match result {
        Ok(()) => Fate::Stays,
        Err(Refusal::Mismatch) => Fate::NoMatch,
        Err(Refusal::Unknown(why)) => Fate::Unknown(why),
    }
}

/// What somebody should know about a password that did not match, or whose hash was replaced.
fn mishap(fate: &Fate, hash: &StoredHash, password: &[u8]) -> Option<&'static str> {
    let cut = hash.foreign().is_some_and(|foreign| foreign.ignores_part_of(password));
    match fate {
        Fate::NoMatch => input::mishap(password),
        Fate::Replaced(_) if cut => Some(
            "bcrypt looked at the first 72 bytes of the password alone; the new hash is of all of it as it was given",
        ),
        _ => None,
    }
}

/// A note on the costs of new hashes, if there are any.
fn note<'a>(mut fates: impl Iterator<Item = &'a Fate>, params: Params) -> Option<String> {
    fates.any(|fate| matches!(fate, Fate::Replaced(_))).then(|| costs::note(params)).flatten()
}

/// The file with new hashes where entries have them, and everything else as it was.
fn replaced(old: &[u8], rows: &[Row]) -> Vec<u8> {
    let mut new = Vec::with_capacity(old.len());
    let mut at = 0;
    for row in rows {
        if let Fate::Replaced(hash) = &row.fate {
            let place = row.offset + row.entry.place.start..row.offset + row.entry.place.end;
            new.extend_from_slice(&old[at..place.start]);
            new.extend_from_slice(row.entry.written(hash).as_bytes());
            at = place.end;
        }
    }
    new.extend_from_slice(&old[at..]);
    new
}

/// The exit code of all of them. Not yes without a match: a script that asks about a locked entry must not take it for one.
fn code<'a>(fates: impl Iterator<Item = &'a Fate>) -> u8 {
    let (mut yes, mut no, mut unknown) = (0, 0, 0);
    for fate in fates {
        match fate {
            Fate::Replaced(_) | Fate::Stays => yes += 1,
            Fate::NoMatch => no += 1,
            Fate::Unknown(_) => unknown += 1,
            Fate::NotGiven | Fate::Locked => {}
        }
    }
    match (yes, no, unknown) {
        (_, _, 1..) => UNKNOWN,
        (1.., 0, _) => YES,
        _ => NO,
    }
}

fn report<'a>(fate: &'a Fate, from: Option<&'a str>) -> Report<'a> {
    Report {
        line: None,
        name: None,
        matches: match fate {
            Fate::Replaced(_) | Fate::Stays => Some(true),
            Fate::NoMatch => Some(false),
            Fate::NotGiven | Fate::Locked | Fate::Unknown(_) => None,
        },
        upgraded: matches!(fate, Fate::Replaced(_)),
        from,
        hash: None,
        locked: *fate == Fate::Locked,
        error: match fate {
            Fate::Unknown(words) => Some(words),
            _ => None,
        },
    }
}

fn tell(out: &mut Out, rows: &[Row], sum: &By<Sum<'_>>, low: &UpgradeArgs) -> ControlFlow<Closed> {
    for row in rows {
        if low.json {
            let (line, name) = (Some(row.entry.line), row.entry.name.as_deref());
            out.print(|out| {
                json::line(out, &Report { line, name, ..report(&row.fate, row.from.as_deref()) })
            })?;
        } else if !low.quiet {
            let label = row.entry.label();
            let from = row.from.as_deref().unwrap_or_default();
            out.print(|out| match &row.fate {
                Fate::Replaced(_) => writeln!(out, "{label}: match, replaced ({from})"),
                Fate::Stays => writeln!(out, "{label}: match, stays ({from})"),
                Fate::NoMatch => writeln!(out, "{label}: no match"),
                Fate::NotGiven => writeln!(out, "{label}: no password given"),
                Fate::Locked => writeln!(out, "{label}: locked"),
                Fate::Unknown(words) => writeln!(out, "{label}: no answer ({words})"),
            })?;
        }
    }
    if low.json {
        return out.print(|out| json::line(out, sum));
    }
    if low.quiet {
        return ControlFlow::Continue(());
    }
    let Sum { file, entries, replaced, .. } = &sum.what;
    let done = if low.dry_run { "would be replaced; nothing was written" } else { "replaced" };
    out.print(|out| writeln!(out, "{file}: {replaced} of {entries} hashes {done}"))
}
