//! Recordings of real typing, and a cache of the documents that engines build from them.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use hashmill_lab::model::engine::CaseError;
use hashmill_testkit::{Trace, trace};
use hashmill_workloads::doc::{Patch, Shared, Texts};

use crate::builds;

/// Name of the testkit's simulated typist, which needs no file.
pub const TYPIST: &str = "typist";

/// Division of a recording into commits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Commits {
    /// One transaction for all edits.
    One,
    /// One for each transaction of the recording.
    Each,
}

impl fmt::Display for Commits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::One { "one" } else { "each" })
    }
}

/// A recording, or its first transactions.
#[derive(Debug)]
pub struct Recording {
    pub name: String,
    pub trace: Trace,
    pub commits: Commits,
}

/// The updates of a recording of several users: a base document, and the update of each transaction.
pub type Session = (Vec<u8>, Vec<Vec<u8>>);

impl Recording {
    /// The first `size` transactions of a recording.
    pub fn read(name: &str, size: usize, commits: Commits) -> Result<Self, CaseError> {
        let trace = match name {
            TYPIST => Trace::typed(1, size),
            _ => Trace::read(name).map_err(CaseError::unavailable)?,
        };
        Self::first_transactions(name, trace, size, commits)
    }

    /// A complete recording.
    pub fn read_all(name: &str, commits: Commits) -> Result<Self, CaseError> {
        let trace = Trace::read(name).map_err(CaseError::unavailable)?;
        let size = trace.txns.len();
        Self::first_transactions(name, trace, size, commits)
    }

    fn first_transactions(
        name: &str,
        mut trace: Trace,
        size: usize,
        commits: Commits,
    ) -> Result<Self, CaseError> {
        let all = trace.txns.len();
        if !(1..=all).contains(&size) {
            return Err(CaseError::failed(format!("{name} has {all} transactions, not {size}")));
        }
        if size < all {
            if trace.agents > 1 {
                return Err(CaseError::failed(format!(
                    "{name} has several users, and only the text after all {all} transactions is known: use size {all}"
                )));
            }
            trace.txns.truncate(size);
            let mut text: Vec<char> = trace.start.chars().collect();
            trace.patches().for_each(|patch| trace::apply(&mut text, patch));
            trace.end = text.into_iter().collect();
        }
        Ok(Self { name: name.to_owned(), trace, commits })
    }

    /// Whether it has characters of two UTF-16 units.
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

    /// Applies all edits to a new document.
    pub fn replay<E: Texts>(&self) -> E {
        replay_transactions(&self.transactions())
    }

    /// The document as an engine saves it.
    pub fn saved<E: Texts>(&self) -> Result<Vec<u8>, CaseError> {
        cached(&self.cache_name::<E>("saved"), || self.replay::<E>().save())
    }

    /// The updates that its users exchange. Each edit is made at the same version as in the recording.
    pub fn session<E: Shared>(&self) -> Result<Session, CaseError> {
        let file =
            cached(&self.cache_name::<E>("session"), || pack_session(&session_updates::<E>(&self.trace)))?;
        unpack_session(&file).ok_or_else(|| CaseError::failed("a cached session is damaged"))
    }

    fn cache_name<E: Texts>(&self, content: &str) -> String {
        format!("{content} {} {} {} {}", E::NAME, self.name, self.trace.txns.len(), self.commits)
    }
}

/// Applies transactions to a new document.
pub fn replay_transactions<E: Texts>(transactions: &[Vec<Patch>]) -> E {
    let mut doc = E::blank(1);
    transactions.iter().for_each(|patches| doc.edit(patches));
    doc
}

/// Converts a patch of `testkit`, which uses no other crate of the workspace.
fn patch(trace::Patch { at, delete, insert }: &trace::Patch) -> Patch {
    Patch { at: *at, delete: *delete, insert: insert.clone() }
}

fn patches(txn: &trace::Txn) -> Vec<Patch> {
    txn.patches.iter().map(patch).collect()
}

/// Reads a result that takes long to compute from the cache. The first session of a program computes and writes it.
fn cached(name: &str, compute: impl FnOnce() -> Vec<u8>) -> Result<Vec<u8>, CaseError> {
    let folder = cache_folder().map_err(CaseError::failed)?;
    let file = folder.join(name);
    if let Ok(bytes) = fs::read(&file) {
        return Ok(bytes);
    }
    let bytes = compute();
    // Another session may write the same file, so it is written atomically.
    hashmill_atomic_file::write(&file, &bytes)
        .map_err(|error| CaseError::failed(format!("{}: {error}", file.display())))?;
    Ok(bytes)
}

/// The cache folder of this build: another build may write other bytes.
fn cache_folder() -> std::io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let metadata = fs::metadata(&program)?;
    let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let all = builds::target().join("rivals/recordings");
    let folder = all.join(format!("{name}-{modified:x}-{:x}", metadata.len()));
    if !folder.is_dir() {
        fs::create_dir_all(&folder)?;
        // Caches of earlier builds are no longer read. A failed removal is repeated by the next build.
        for other in fs::read_dir(&all)?.filter_map(Result::ok).map(|entry| entry.path()) {
            let is_stale =
                other.file_name().is_some_and(|other| is_cache_of(&name, &other.to_string_lossy()));
            if is_stale && other != folder {
                fs::remove_dir_all(&other).ok();
            }
        }
    }
    Ok(folder)
}

/// Whether a folder is the cache of a build of the program: its name, and two numbers.
fn is_cache_of(program: &str, folder: &str) -> bool {
    let numbers = folder.strip_prefix(program).and_then(|rest| rest.strip_prefix('-'));
    let is_number = |text: &str| u128::from_str_radix(text, 16).is_ok();
    numbers
        .and_then(|numbers| numbers.split_once('-'))
        .is_some_and(|(modified, length)| is_number(modified) && is_number(length))
}

fn pack_session((base, updates): &Session) -> Vec<u8> {
    let mut out = Vec::new();
    for part in std::iter::once(base).chain(updates) {
        out.extend((part.len() as u64).to_le_bytes());
        out.extend(part);
    }
    out
}

fn unpack_session(mut bytes: &[u8]) -> Option<Session> {
    let mut parts = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let (part, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        parts.push(part.to_vec());
        bytes = rest;
    }
    let updates = (!parts.is_empty()).then(|| parts.split_off(1))?;
    Some((parts.pop()?, updates))
}

fn session_updates<E: Shared>(trace: &Trace) -> Session {
    let mut base = E::blank(0);
    let mut agents: Vec<E> = (0..trace.agents).map(|agent| base.fork(agent as u8 + 1)).collect();
    let mut known = vec![vec![false; trace.txns.len()]; trace.agents];
    let mut updates: Vec<Vec<u8>> = Vec::with_capacity(trace.txns.len());
    for (index, txn) in trace.txns.iter().enumerate() {
        let agent = &mut agents[txn.agent];
        let mut missing = Vec::new();
        let mut queue = txn.parents.clone();
        while let Some(parent) = queue.pop() {
            if !known[txn.agent][parent] {
                known[txn.agent][parent] = true;
                missing.push(parent);
                queue.extend(&trace.txns[parent].parents);
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
    fn first_transactions_end_with_the_text_of_a_plain_replay() {
        let recording = Recording::read(TYPIST, 300, Commits::Each).expect("the typist needs no file");
        let part = Recording::first_transactions(TYPIST, recording.trace.clone(), 200, Commits::Each)
            .expect("fewer transactions");
        for recording in [recording, part] {
            assert_eq!(recording.replay::<Hashmill>().text(), recording.trace.end);
        }
        let error = Recording::read("no such recording", 1, Commits::One).expect_err("there is none");
        assert!(
            matches!(&error, CaseError::Unavailable(reason) if reason.contains("HASHMILL_DATA")),
            "{error}"
        );
    }

    #[test]
    fn caches_of_other_programs_are_not_stale() {
        assert!(is_cache_of("rivals-session", "rivals-session-17f-9a"));
        assert!(!is_cache_of("rivals-session", "rivals-session-counting-17f-9a"));
        assert!(!is_cache_of("rivals-session-counting", "rivals-session-17f-9a"));
        assert!(!is_cache_of("rivals", "rivals-session-17f"));
        assert!(!is_cache_of("rivals-session", "rivals-session"));
    }

    #[test]
    fn a_session_is_read_back() {
        for session in [(vec![1, 2], vec![vec![], vec![3]]), (vec![], vec![])] {
            assert_eq!(unpack_session(&pack_session(&session)), Some(session));
        }
        assert_eq!(unpack_session(&[9]), None);
    }
}
