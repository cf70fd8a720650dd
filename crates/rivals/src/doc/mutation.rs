//! Mutated files for both engines: what ours accepts and saves, the official crate reads and shows alike, wherever it can
//! read what it saves itself of the same changes.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hashmill_doc::{Change, Document, LoadError};
use hashmill_testkit::Rng;
use hashmill_testkit::mutate::chunk::{self, Chunk};
use hashmill_testkit::mutate::forge::{Care, Universe};
use hashmill_testkit::mutate::mutate;

use super::official::Official;
use super::ours::Ours;
use super::peer::{Peer, portrait};
use super::runner;
use super::script::{Encoding, Script};

/// Mutations of the file of one script.
const ROUNDS: usize = 64;

/// Whoever looks.
const ACTOR: &[u8] = &[7; 4];

/// What became of mutated files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of them.
    pub files: usize,
    /// Those that ours accepts.
    pub accepted: usize,
    /// Of these, those that both show alike.
    pub equal: usize,
    /// Those of whose changes the official crate makes no file that it reads itself.
    pub unreadable: usize,
    /// Those on which it panics.
    pub panics: usize,
    /// Those with tables, of which the official crate shows what it read as changes and nothing of what it read in a file.
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
        self.file.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What the official crate makes of a file.
enum Judged {
    Equal,
    Unreadable,
    Panicked,
    EmptyTable,
    Different(String),
}

/// Mutates at least so many files, from scripts of which the first has this seed.
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
    let mut universe = Universe::of(changes.iter().map(Vec::as_slice));
    let heads = universe.heads();
    let forged = universe.forge(&[0xe0], heads, Care::Great, &mut rng).bytes();
    let mut doc = Document::new();
    for change in changes.iter().chain([&forged]) {
        // A forged change that is refused is not there.
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

/// Nothing where the official crate panics.
fn attempt<T>(deed: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(deed)).ok()
}
