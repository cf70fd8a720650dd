//! Recordings of real typing, and a cache of the documents that engines build from them.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use hashmill_lab::model::engine::CaseError;
use hashmill_testkit::{Trace, trace};
use hashmill_workloads::doc::{Patch, Shared, Texts};

use crate::builds;

/// Not a recording, but the testkit's typist, who needs no file.
pub const TYPIST: &str = "typist";

/// How a recording is committed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Commits {
    /// All of it in one transaction.
    One,
    /// Each of its transactions for itself.
    Each,
}

impl fmt::Display for Commits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::One { "one" } else { "each" })
    }
}

/// A recording, or the beginning of one.
#[derive(Debug)]
pub struct Recording {
    pub name: String,
    pub trace: Trace,
    pub commits: Commits,
}

/// The updates of a recording of several people: a base, and what each transaction told the others.
pub type Session = (Vec<u8>, Vec<Vec<u8>>);

impl Recording {
    /// The first `size` transactions of a recording.
    pub fn read(name: &str, size: usize, commits: Commits) -> Result<Self, CaseError> {
        let trace = match name {
            TYPIST => Trace::typed(1, size),
            _ => Trace::read(name).map_err(CaseError::unavailable)?,
        };
        Self::beginning(name, trace, size, commits)
    }

    /// All of a recording.
    pub fn whole(name: &str, commits: Commits) -> Result<Self, CaseError> {
        let trace = Trace::read(name).map_err(CaseError::unavailable)?;
        let size = trace.txns.len();
        Self::beginning(name, trace, size, commits)
    }

    fn beginning(name: &str, mut trace: Trace, size: usize, commits: Commits) -> Result<Self, CaseError> {
        let all = trace.txns.len();
        if !(1..=all).contains(&size) {
            return Err(CaseError::failed(format!("{name} has {all} transactions, not {size}")));
        }
        if size < all {
            if trace.agents > 1 {
                return Err(CaseError::failed(format!(
                    "{name} is of several people, and only where all of it ends is known: write {all}"
                )));
            }
            trace.txns.truncate(size);
            let mut text: Vec<char> = trace.start.chars().collect();
            trace.patches().for_each(|patch| trace::apply(&mut text, patch));
            trace.end = text.into_iter().collect();
        }
        Ok(Self { name: name.to_owned(), trace, commits })
    }

    /// Whether it has characters that are two units of UTF-16.
    pub fn is_wide(&self) -> bool {
        let mut texts =
            self.trace.patches().map(|patch| &patch.insert).chain(std::iter::once(&self.trace.start));
        texts.any(|text| text.chars().any(|letter| letter.len_utf16() > 1))
    }

    /// The edits, each list one transaction.
    pub fn transactions(&self) -> Vec<Vec<Patch>> {
        match self.commits {
            Commits::One => vec![self.trace.patches().map(patch).collect()],
            Commits::Each => self.trace.txns.iter().map(patches).collect(),
        }
    }

    /// Types it into a new document.
    pub fn replay<E: Texts>(&self) -> E {
        play(&self.transactions())
    }

    /// It as an engine saves it.
    pub fn saved<E: Texts>(&self) -> Result<Vec<u8>, CaseError> {
        cached(&self.file::<E>("saved"), || self.replay::<E>().save())
    }

    /// What its people told each other: each edits at exactly the version of the recording.
    pub fn session<E: Shared>(&self) -> Result<Session, CaseError> {
        let file = cached(&self.file::<E>("session"), || packed(&session::<E>(&self.trace)))?;
        unpacked(&file).ok_or_else(|| CaseError::failed("a session that was kept is damaged"))
    }

    fn file<E: Texts>(&self, what: &str) -> String {
        format!("{what} {} {} {} {}", E::NAME, self.name, self.trace.txns.len(), self.commits)
    }
}

/// Types transactions into a new document.
pub fn play<E: Texts>(transactions: &[Vec<Patch>]) -> E {
    let mut doc = E::blank(1);
    transactions.iter().for_each(|patches| doc.edit(patches));
    doc
}

/// Recordings come from a crate that knows nothing of ours.
fn patch(trace::Patch { at, delete, insert }: &trace::Patch) -> Patch {
    Patch { at: *at, delete: *delete, insert: insert.clone() }
}

fn patches(txn: &trace::Txn) -> Vec<Patch> {
    txn.patches.iter().map(patch).collect()
}

/// What takes long to make is made by the first session of a program, and read by all others of the same program.
fn cached(name: &str, make: impl FnOnce() -> Vec<u8>) -> Result<Vec<u8>, CaseError> {
    let folder = folder().map_err(CaseError::failed)?;
    let file = folder.join(name);
    if let Ok(bytes) = fs::read(&file) {
        return Ok(bytes);
    }
    let bytes = make();
    // Another session may be making it, too: it is there whole, or not at all.
    hashmill_atomic_file::write(&file, &bytes)
        .map_err(|error| CaseError::failed(format!("{}: {error}", file.display())))?;
    Ok(bytes)
}

/// Another build may write other bytes, so each has a folder of its own.
fn folder() -> std::io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let facts = fs::metadata(&program)?;
    let made = facts.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let all = builds::target().join("rivals/recordings");
    let folder = all.join(format!("{name}-{made:x}-{:x}", facts.len()));
    if !folder.is_dir() {
        fs::create_dir_all(&folder)?;
        // What builds of before kept is read no more; what cannot be removed now may be the next time.
        for other in fs::read_dir(&all)?.filter_map(Result::ok).map(|entry| entry.path()) {
            let of_before = other.file_name().is_some_and(|other| is_of(&name, &other.to_string_lossy()));
            if of_before && other != folder {
                fs::remove_dir_all(&other).ok();
            }
        }
    }
    Ok(folder)
}

/// Whether a folder is that of some build of the program: its name, and two numbers.
fn is_of(program: &str, folder: &str) -> bool {
    let numbers = folder.strip_prefix(program).and_then(|rest| rest.strip_prefix('-'));
    let is_number = |word: &str| u128::from_str_radix(word, 16).is_ok();
    numbers
        .and_then(|numbers| numbers.split_once('-'))
        .is_some_and(|(made, length)| is_number(made) && is_number(length))
}

fn packed((base, updates): &Session) -> Vec<u8> {
    let mut out = Vec::new();
    for part in std::iter::once(base).chain(updates) {
        out.extend((part.len() as u64).to_le_bytes());
        out.extend(part);
    }
    out
}

fn unpacked(mut bytes: &[u8]) -> Option<Session> {
    let mut parts = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let (part, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        parts.push(part.to_vec());
        bytes = rest;
    }
    let updates = (!parts.is_empty()).then(|| parts.split_off(1))?;
    Some((parts.pop()?, updates))
}

fn session<E: Shared>(trace: &Trace) -> Session {
    let mut base = E::blank(0);
    let mut agents: Vec<E> = (0..trace.agents).map(|who| base.fork(who as u8 + 1)).collect();
    let mut known = vec![vec![false; trace.txns.len()]; trace.agents];
    let mut updates: Vec<Vec<u8>> = Vec::with_capacity(trace.txns.len());
    for (index, txn) in trace.txns.iter().enumerate() {
        let agent = &mut agents[txn.agent];
        let mut missing = Vec::new();
        let mut open = txn.parents.clone();
        while let Some(parent) = open.pop() {
            if !known[txn.agent][parent] {
                known[txn.agent][parent] = true;
                missing.push(parent);
                open.extend(&trace.txns[parent].parents);
            }
        }
        missing.sort_unstable();
        if !missing.is_empty() {
            agent.apply_updates(&missing.iter().map(|&missing| updates[missing].clone()).collect::<Vec<_>>());
        }
        updates.push(agent.edit_and_export(&patches(txn)));
        known[txn.agent][index] = true;
    }
    (base.save(), updates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_workloads::doc::Hashmill;

    #[test]
    fn a_beginning_ends_where_a_plain_text_ends() {
        let recording = Recording::read(TYPIST, 300, Commits::Each).expect("the typist needs no file");
        let part =
            Recording::beginning(TYPIST, recording.trace.clone(), 200, Commits::Each).expect("a beginning");
        for recording in [recording, part] {
            assert_eq!(recording.replay::<Hashmill>().text(), recording.trace.end);
        }
        let error = Recording::read("no such recording", 1, Commits::One).expect_err("there is none");
        assert!(matches!(&error, CaseError::Unavailable(why) if why.contains("HASHMILL_DATA")), "{error}");
    }

    #[test]
    fn another_program_keeps_what_it_has() {
        assert!(is_of("rivals-session", "rivals-session-17f-9a"));
        assert!(!is_of("rivals-session", "rivals-session-counting-17f-9a"));
        assert!(!is_of("rivals-session-counting", "rivals-session-17f-9a"));
        assert!(!is_of("rivals", "rivals-session-17f"));
        assert!(!is_of("rivals-session", "rivals-session"));
    }

    #[test]
    fn a_session_is_read_back() {
        for session in [(vec![1, 2], vec![vec![], vec![3]]), (vec![], vec![])] {
            assert_eq!(unpacked(&packed(&session)), Some(session));
        }
        assert_eq!(unpacked(&[9]), None);
    }
}
