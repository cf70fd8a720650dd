//! Mutated files on both engines: a file that Hashmill accepts must have the same state in the official crate, if that crate can read
//! its own file of the same changes.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hashmill_doc::{Change, Document, LoadError};
use hashmill_testkit::mutate::chunk::{self, Chunk};
use hashmill_testkit::mutate::forge::{ForgeStrictness, KnownOps};
use hashmill_testkit::mutate::mutate;
use hashmill_testkit::{Rng, hex};

use super::hashmill::Hashmill;
use super::official::Official;
use super::peer::{Peer, visible_state};
use super::runner;
use super::script::{Encoding, Script};

/// Number of mutations for each script.
const MUTATIONS_PER_SCRIPT: usize = 64;

/// Actor of the loaded documents.
const ACTOR: &[u8] = &[7; 4];

/// Numbers of mutated files by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All files.
    pub files: usize,
    /// Files that Hashmill accepts.
    pub accepted: usize,
    /// Accepted files with the same state in both.
    pub equal: usize,
    /// Files from whose changes the official crate saves a file that it cannot load.
    pub unreadable: usize,
    /// Files on which the official crate panics.
    pub panics: usize,
    /// Files with tables: the official crate shows their content if it reads changes, but not if it loads a file.
    pub tables: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, accepted, equal, unreadable, panics, tables } = self;
        write!(
            f,
            "{accepted} of {files} files accepted: {equal} equal, {unreadable} that the official crate cannot read after \
             saving them itself, {panics} on which it panics, {tables} with tables that it shows empty"
        )
    }
}

/// A file with different states in the two engines.
#[derive(Clone, Debug)]
pub struct Finding {
    pub seed: u64,
    /// The file, as Hashmill saves it.
    pub file: Vec<u8>,
    pub description: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.description)?;
        f.write_str(&hex::encode(&self.file))
    }
}

/// Result of the official crate for a file.
enum OfficialResult {
    Equal,
    Unreadable,
    Panicked,
    EmptyTable,
    Different(String),
}

/// Mutates at least `files` files, from scripts that start with `seed`.
pub fn search(seed: u64, files: usize) -> Result<Counts, Box<Finding>> {
    let mut counts = Counts::default();
    for seed in seed.. {
        if counts.files >= files {
            break;
        }
        search_script(seed, &mut counts)?;
    }
    Ok(counts)
}

fn search_script(seed: u64, counts: &mut Counts) -> Result<(), Box<Finding>> {
    let mut rng = Rng::new(seed);
    let changes = runner::changes::<Hashmill>(&Script::random(seed, 6));
    let mut known_ops = KnownOps::from_files(changes.iter().map(Vec::as_slice));
    let heads = known_ops.heads();
    let forged = known_ops.forge(&[0xe0], heads, ForgeStrictness::Great, &mut rng).bytes();
    let mut doc = Document::new();
    for change in changes.iter().chain([&forged]) {
        // A refused change has no effect.
        if let Ok(change) = Change::from_bytes(change) {
            drop(doc.apply_changes([change]));
        }
    }
    let mut pool = vec![chunk::split(&doc.save_nocompress())];
    for _ in 0..MUTATIONS_PER_SCRIPT {
        let mut file = pool[rng.below(pool.len())].clone();
        mutate(&mut file, &mut known_ops, 2, &mut rng);
        counts.files += 1;
        let Some(mut doc) = load_with_computed_heads(&mut file) else { continue };
        counts.accepted += 1;
        match official_result(&mut doc) {
            OfficialResult::Equal => counts.equal += 1,
            OfficialResult::Unreadable => counts.unreadable += 1,
            OfficialResult::Panicked => counts.panics += 1,
            OfficialResult::EmptyTable => counts.tables += 1,
            OfficialResult::Different(description) => {
                return Err(Box::new(Finding { seed, file: doc.save_nocompress(), description }));
            }
        }
        if pool.len() < 6 {
            pool.push(file);
        }
    }
    Ok(())
}

/// Loads a file; if its heads are wrong, replaces them with the heads of its content.
fn load_with_computed_heads(file: &mut [Chunk]) -> Option<Document> {
    let computed = match Document::load(&chunk::join(file)) {
        Ok(doc) => return Some(doc),
        Err(LoadError::Heads { computed, .. }) => computed,
        Err(_) => return None,
    };
    let Some(Chunk::Document(document)) = file.iter_mut().find(|chunk| matches!(chunk, Chunk::Document(_)))
    else {
        return None;
    };
    document.lead_to(computed.iter().map(|hash| hash.0).collect());
    Document::load(&chunk::join(file)).ok()
}

/// Compares the official crate's reading of a document with Hashmill's.
fn official_result(doc: &mut Document) -> OfficialResult {
    let saved = doc.save_nocompress();
    let Ok(mut hashmill) = Hashmill::load(&saved, ACTOR, Encoding::Scalars) else {
        return OfficialResult::Different("Hashmill does not load the file that it saved".to_owned());
    };
    let official = || {
        Official::load(&saved, ACTOR, Encoding::Scalars)
            .map(|mut doc| (doc.heads(), visible_state(&doc, None, false)))
    };
    match attempt(official) {
        None => OfficialResult::Panicked,
        Some(Ok(state)) if state == (hashmill.heads(), visible_state(&hashmill, None, false)) => {
            OfficialResult::Equal
        }
        Some(Ok((official_heads, official_state))) => {
            let (heads, state) = (hashmill.heads(), visible_state(&hashmill, None, false));
            let shows_empty_table = |state: &str| state.contains("{table} of 0:");
            if official_heads == heads && shows_empty_table(&official_state) && !shows_empty_table(&state) {
                return OfficialResult::EmptyTable;
            }
            OfficialResult::Different(format!(
                "official: {official_heads:02x?}\n{official_state}\nHashmill: {heads:02x?}\n{state}"
            ))
        }
        Some(Err(reason)) => {
            let reload = || {
                let mut doc = Official::blank(ACTOR, Encoding::Scalars);
                doc.apply(&hashmill.changes(&[]))?;
                let saved = doc.save();
                Official::load(&saved, ACTOR, Encoding::Scalars)
            };
            match attempt(reload) {
                None => OfficialResult::Panicked,
                Some(Err(_)) => OfficialResult::Unreadable,
                Some(Ok(_)) => OfficialResult::Different(format!(
                    "the official crate reads its own file but not Hashmill's: {reason}"
                )),
            }
        }
    }
}

/// `None` if the official crate panics.
fn attempt<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}
