//! Cost of a document at earlier heads: reverting later changes against rebuilding the document, interleaved.
//!
//! `past FILE`: FILE is a saved document, or a recording of an editing session (`.json`), of which each patch becomes a change:
//!
//! `cargo build --release -p hashmill-doc --example past && target/release/examples/past automerge-paper.json`

use std::hint::black_box;
use std::time::{Duration, Instant};

use hashmill_doc::{
    ActorId, AutoCommit, ChangeHash, CommitOptions, Document, EditError, Limits, LoadOptions, ObjType, ROOT,
    ReadDoc, Shortcuts, Transactable,
};

type Error = Box<dyn std::error::Error>;

/// Numbers of changes to go back.
const BACK: [usize; 7] = [1, 4, 16, 256, 4_096, 32_768, 131_072];

/// Number of interleaved rounds.
const ROUNDS: usize = 9;

fn typed(recording: &serde_json::Value) -> Result<Document, Error> {
    let mut doc = Document::new().with_actor(ActorId::from([1; 16]));
    let text = doc.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text))?;
    let steps = recording["txns"].as_array().ok_or("no recording")?;
    for patch in steps.iter().flat_map(|step| step["patches"].as_array()).flatten() {
        let number = |at: usize| patch[at].as_u64().unwrap_or_default() as usize;
        let added = patch[2].as_str().unwrap_or_default();
        doc.transact(|tx| tx.splice_text(&text, number(0), number(1) as isize, added))?;
    }
    Ok(doc)
}

fn loaded(file: &[u8], shortcuts: Shortcuts) -> Result<Document, Error> {
    let limits = Limits { shortcuts, ..Limits::default() };
    let options = LoadOptions::new().limits(limits).actor(ActorId::from([2; 16]));
    Ok(Document::load_with(file, options)?)
}

/// Minimum time of each method.
fn least(mut ways: [impl FnMut() -> Result<(), Error>; 2]) -> Result<[Duration; 2], Error> {
    let mut least = [Duration::MAX; 2];
    for round in 0..ROUNDS {
        for at in [round % 2, 1 - round % 2] {
            let start = Instant::now();
            ways[at]()?;
            least[at] = least[at].min(start.elapsed());
        }
    }
    Ok(least)
}

fn fork_at(doc: &Document, heads: &[ChangeHash]) -> Result<(), Error> {
    black_box(doc.fork_at(heads)?);
    Ok(())
}

fn transact_at(doc: &Document, heads: &[ChangeHash]) -> Result<(), Error> {
    // A copy, so that the document keeps its length.
    let mut doc = doc.clone();
    doc.transact_at(heads, &CommitOptions::default(), |tx| tx.put(ROOT, "late", true))?;
    Ok(())
}

fn isolate(doc: &Document, heads: &[ChangeHash]) -> Result<(), Error> {
    let mut doc = AutoCommit::from(doc.clone());
    doc.isolate(heads)?;
    doc.put(ROOT, "late", true)?;
    doc.integrate();
    Ok(())
}

/// Minimum time of an edit of the longest text in the root and its rollback.
fn rolled_back(doc: &Document) -> Result<Duration, Error> {
    let mut doc = doc.clone();
    let texts = doc.keys(ROOT).filter_map(|key| doc.get(ROOT, key).ok()?).map(|(_, id)| id);
    let text = texts.filter(|id| doc.text(id).is_ok()).max_by_key(|id| doc.length(id)).ok_or("no text")?;
    let end = doc.length(&text);
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let failed: Result<(), EditError> = doc.transact(|tx| {
            tx.splice_text(&text, end / 2, 1, "x")?;
            tx.splice_text(&text, end + 9, 0, "past the end")
        });
        failed.expect_err("the index is past the end");
        least = least.min(start.elapsed());
    }
    Ok(least)
}

/// An action with its name.
type Action = (&'static str, fn(&Document, &[ChangeHash]) -> Result<(), Error>);

#[allow(clippy::print_stdout, reason = "an example")]
fn main() -> Result<(), Error> {
    let path = std::env::args().nth(1).ok_or("past FILE")?;
    let bytes = std::fs::read(&path)?;
    let file = if path.ends_with(".json") { typed(&serde_json::from_slice(&bytes)?)?.save() } else { bytes };
    let [back, anew] = [loaded(&file, Shortcuts::Usual)?, loaded(&file, Shortcuts::Never)?];
    let hashes: Vec<ChangeHash> = back.get_changes(&[]).iter().map(|change| change.hash()).collect();
    let fresh = loaded(&file, Shortcuts::Usual)?;
    let start = Instant::now();
    fork_at(&fresh, &[hashes[hashes.len() - 2]])?;
    println!("{} changes; the first fork_at after a load {:?}", hashes.len(), start.elapsed());
    println!("a failed edit and its rollback: {:?}", rolled_back(&back)?);
    fork_at(&anew, &[hashes[0]])?;
    fork_at(&back, &[hashes[0]])?;
    let actions: [Action; 3] = [("fork_at", fork_at), ("transact_at", transact_at), ("isolate", isolate)];
    for (name, action) in actions {
        for n in BACK.into_iter().filter(|n| *n < hashes.len()) {
            let heads = [hashes[hashes.len() - 1 - n]];
            let ways = [&back, &anew].map(|doc| move || action(doc, &heads));
            let [back, anew] = least(ways)?;
            let times = anew.as_secs_f64() / back.as_secs_f64();
            println!("{name:12} {n:7} back: {back:>10.1?}, anew {anew:>10.1?}, {times:.1} times");
        }
    }
    Ok(())
}
