//! Mutated files on both engines: a file that Hashmill accepts and saves must have the same state in the official crate, if that
//! can read its own file of the same changes.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hashmill_doc::{Change, Document, LoadError};
use hashmill_testkit::mutate::chunk::{self, Chunk};
use hashmill_testkit::mutate::forge::{ForgeStrictness, KnownOps};
use hashmill_testkit::mutate::mutate;
use hashmill_testkit::{Rng, hex};

use super::official::Official;
use super::ours::Ours;
use super::peer::{Peer, portrait};
use super::runner;
use super::script::{Encoding, Script};

/// Mutations of the file of one script.
const ROUNDS: usize = 64;

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
    /// Files with tables, which the official crate shows if read as changes but not if loaded from a file.
    pub tables: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, accepted, equal, unreadable, panics, tables } = self;
        write!(
            f,
            "{accepted} of {files} files accepted: {equal} alike, {unreadable} that the official crate cannot read when \
             it writes them itself, {panics} on which it panics, {tables} with tables that it shows empty"
        )
    }
}

/// A file that both engines understand in different ways.
#[derive(Clone, Debug)]
pub struct Finding {
    pub seed: u64,
    /// The file as ours saves it.
    pub file: Vec<u8>,
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.what)?;
        f.write_str(&hex::encode(&self.file))
    }
}

/// Result of the official crate for a file.
enum Judged {
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
        block(seed, &mut counts)?;
    }
    Ok(counts)
}

fn block(seed: u64, counts: &mut Counts) -> Result<(), Box<Finding>> {
    let mut rng = Rng::new(seed);
    let changes = runner::changes::<Ours>(&Script::invent(seed, 6));
    let mut universe = KnownOps::of(changes.iter().map(Vec::as_slice));
    let heads = universe.heads();
    let forged = universe.forge(&[0xe0], heads, ForgeStrictness::Great, &mut rng).bytes();
    let mut doc = Document::new();
    for change in changes.iter().chain([&forged]) {
        // A refused change has no effect.
        if let Ok(change) = Change::from_bytes(change) {
            drop(doc.apply_changes([change]));
        }
    }
    let mut pool = vec![chunk::split(&doc.save_nocompress())];
    for _ in 0..ROUNDS {
        let mut file = pool[rng.below(pool.len())].clone();
        mutate(&mut file, &mut universe, 2, &mut rng);
        counts.files += 1;
        let Some(mut doc) = accepted(&mut file) else { continue };
        counts.accepted += 1;
        match judge(&mut doc) {
            Judged::Equal => counts.equal += 1,
            Judged::Unreadable => counts.unreadable += 1,
            Judged::Panicked => counts.panics += 1,
            Judged::EmptyTable => counts.tables += 1,
            Judged::Different(what) => {
                return Err(Box::new(Finding { seed, file: doc.save_nocompress(), what }));
            }
        }
        if pool.len() < 6 {
            pool.push(file);
        }
    }
    Ok(())
}

/// Loads a file, with the heads that follow from what is in it.
fn accepted(file: &mut [Chunk]) -> Option<Document> {
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

fn judge(doc: &mut Document) -> Judged {
    let saved = doc.save_nocompress();
    let Ok(mut ours) = Ours::load(&saved, ACTOR, Encoding::Scalars) else {
        return Judged::Different("ours does not load what it saved".to_owned());
    };
    let official = || {
        Official::load(&saved, ACTOR, Encoding::Scalars)
            .map(|mut it| (it.heads(), portrait(&it, None, false)))
    };
    match attempt(official) {
        None => Judged::Panicked,
        Some(Ok(theirs)) if theirs == (ours.heads(), portrait(&ours, None, false)) => Judged::Equal,
        Some(Ok((heads, words))) => {
            let (our_heads, our_words) = (ours.heads(), portrait(&ours, None, false));
            if heads == our_heads && words.contains("{table} of 0:") && !our_words.contains("{table} of 0:") {
                return Judged::EmptyTable;
            }
            Judged::Different(format!("official: {heads:02x?}\n{words}\nours: {our_heads:02x?}\n{our_words}"))
        }
        Some(Err(why)) => {
            let own = || {
                let mut own = Official::blank(ACTOR, Encoding::Scalars);
                own.apply(&ours.changes(&[]))?;
                let saved = own.save();
                Official::load(&saved, ACTOR, Encoding::Scalars)
            };
            match attempt(own) {
                None => Judged::Panicked,
                Some(Err(_)) => Judged::Unreadable,
                Some(Ok(_)) => {
                    Judged::Different(format!("the official crate reads its own file and not ours: {why}"))
                }
            }
        }
    }
}

/// `None` if the official crate panics.
fn attempt<T>(deed: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(deed)).ok()
}
