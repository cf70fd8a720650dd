//! What workloads start from: recordings, and documents that an engine made of them. Made once for each process, or once
//! for all processes of a run, if they share a folder.

use std::any::type_name;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use hashmill_testkit::{Trace, trace};
use hashmill_workloads::doc::{Patch, Shared, Texts};

use super::row::Commits;

/// A recording as one engine saved it: by engine, recording and commits.
type SavedAs = (&'static str, String, Commits);

/// The updates of a recording: a base, and what each transaction told the others.
pub type Session = (Vec<u8>, Vec<Vec<u8>>);

/// Recordings and what was made of them.
#[derive(Debug, Default)]
pub struct Fixtures {
    traces: HashMap<String, Rc<Trace>>,
    saved: HashMap<SavedAs, Rc<Vec<u8>>>,
    sessions: HashMap<(&'static str, String), Rc<Session>>,
    /// Where saved documents are kept for the processes that come later.
    folder: Option<PathBuf>,
}

impl Fixtures {
    /// Fixtures that keep saved documents in `folder`, which nobody but the processes of this run may fill.
    pub fn shared(folder: Option<PathBuf>) -> Self {
        Self { folder, ..Self::default() }
    }

    /// A recording by its name; `typed-<n>` is one that the typist of the testkit makes.
    pub fn trace(&mut self, name: &str) -> Result<Rc<Trace>, String> {
        if let Some(trace) = self.traces.get(name) {
            return Ok(trace.clone());
        }
        let typed = name.strip_prefix("typed-").and_then(|edits| edits.parse().ok());
        let trace = match typed {
            Some(edits) => Trace::typed(1, edits),
            None => Trace::read(name)?,
        };
        Ok(self.traces.entry(name.to_owned()).or_insert(Rc::new(trace)).clone())
    }

    /// A recording as `E` saves it.
    pub fn saved<E: Texts>(&mut self, name: &str, commits: Commits) -> Result<Rc<Vec<u8>>, String> {
        let key = (type_name::<E>(), name.to_owned(), commits);
        if let Some(saved) = self.saved.get(&key) {
            return Ok(saved.clone());
        }
        let file = format!("{} {name} {commits}", E::NAME);
        let file = self.folder.as_ref().map(|folder| folder.join(file));
        if let Some(saved) = file.as_ref().and_then(|file| std::fs::read(file).ok()) {
            return Ok(self.saved.entry(key).or_insert(Rc::new(saved)).clone());
        }
        let trace = self.trace(name)?;
        let saved = replay::<E>(&trace, commits).save();
        if let Some(file) = file {
            std::fs::write(&file, &saved).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(self.saved.entry(key).or_insert(Rc::new(saved)).clone())
    }

    /// The updates of a recording of several people: each edits at exactly the version of the recording.
    pub fn session<E: Shared>(&mut self, name: &str) -> Result<Rc<Session>, String> {
        let key = (type_name::<E>(), name.to_owned());
        if let Some(session) = self.sessions.get(&key) {
            return Ok(session.clone());
        }
        let trace = self.trace(name)?;
        let session = session::<E>(&trace);
        Ok(self.sessions.entry(key).or_insert(Rc::new(session)).clone())
    }
}

/// All edits of a recording as one list.
pub fn flat(trace: &Trace) -> Vec<Patch> {
    trace.patches().map(patch).collect()
}

/// Recordings come from a crate that knows nothing of ours.
fn patch(trace::Patch { at, delete, insert }: &trace::Patch) -> Patch {
    Patch { at: *at, delete: *delete, insert: insert.clone() }
}

/// The edits of a recording, each list one transaction.
pub fn transactions(trace: &Trace, commits: Commits) -> Vec<Vec<Patch>> {
    match commits {
        Commits::One => vec![flat(trace)],
        Commits::Each => trace.txns.iter().map(|txn| txn.patches.iter().map(patch).collect()).collect(),
    }
}

/// Types transactions into a new document.
pub fn play<E: Texts>(transactions: &[Vec<Patch>]) -> E {
    let mut doc = E::blank(1);
    transactions.iter().for_each(|patches| doc.edit(patches));
    doc
}

/// Types a recording into a new document.
pub fn replay<E: Texts>(trace: &Trace, commits: Commits) -> E {
    play(&transactions(trace, commits))
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
            agent.hear(&missing.iter().map(|&missing| updates[missing].clone()).collect::<Vec<_>>());
        }
        updates.push(agent.edit_and_tell(&txn.patches.iter().map(patch).collect::<Vec<_>>()));
        known[txn.agent][index] = true;
    }
    (base.save(), updates)
}
