//! Time to receive a recording of concurrent typing into documents of different origin, interleaved.
//!
//! `receive FILE.json ROUNDS`: FILE is a concurrent recording of <https://github.com/josephg/editing-traces>, unpacked. Each
//! document contains its first tenth; the rest arrives with one change per call, or in one call.
//!
//! `cargo build --release -p hashmill-doc --example receive && target/release/examples/receive clownschool.json 9`

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use hashmill_doc::{ActorId, Change, ChangeHash, Document, ObjType, ROOT, Transactable};

type Error = Box<dyn std::error::Error>;

/// The changes of a recording, each after its dependencies.
fn changes(recording: &serde_json::Value) -> Result<Vec<Change>, Error> {
    let steps = recording["txns"].as_array().ok_or("no recording")?;
    let mut first = Document::new().with_actor(ActorId::from([0xff; 16]));
    let text = first.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text))?;
    let mut changes = first.get_changes(&[]);
    let mut number_of: HashMap<ChangeHash, usize> =
        changes.iter().enumerate().map(|(number, change)| (change.hash(), number)).collect();
    let mut people: Vec<Document> = vec![];
    // Index of the last change of each step.
    let mut last: Vec<usize> = vec![];
    for step in steps {
        let who = step["agent"].as_u64().unwrap_or_default() as usize;
        while people.len() <= who {
            people.push(first.fork().with_actor(ActorId::from([people.len() as u8; 16])));
        }
        let doc = &mut people[who];
        for parent in step["parents"].as_array().into_iter().flatten() {
            // All changes that the author had received by then: a recording has each step after its parents.
            let mut received: BTreeSet<usize> = BTreeSet::new();
            let mut missing = vec![last[parent.as_u64().unwrap_or_default() as usize]];
            while let Some(number) = missing.pop() {
                let change: &Change = &changes[number];
                if doc.get_change_by_hash(&change.hash()).is_none() && received.insert(number) {
                    missing.extend(change.deps().iter().map(|hash| number_of[hash]));
                }
            }
            doc.apply_changes(received.into_iter().map(|number| changes[number].clone()))?;
        }
        for patch in step["patches"].as_array().into_iter().flatten() {
            let number = |at: usize| patch[at].as_u64().unwrap_or_default() as usize;
            let added = patch[2].as_str().unwrap_or_default();
            doc.transact(|tx| tx.splice_text(&text, number(0), number(1) as isize, added))?;
            let change = doc.get_last_local_change().ok_or("an edit is a change")?;
            number_of.insert(change.hash(), changes.len());
            changes.push(change);
        }
        last.push(changes.len() - 1);
    }
    Ok(changes)
}

/// Origins of a document with the same changes.
const KINDS: [&str; 5] = ["received", "loaded", "saved", "forked", "heads asked"];

fn receiver(kind: &str, before: &[Change]) -> Result<Document, Error> {
    let mut doc = Document::new();
    doc.apply_changes(before.iter().cloned())?;
    if kind != "received" {
        doc = Document::load(&doc.save())?;
    }
    match kind {
        "saved" => drop(doc.save()),
        "forked" => doc = doc.fork(),
        "heads asked" => drop(doc.get_heads()),
        _ => {}
    }
    Ok(doc)
}

#[allow(clippy::print_stdout, reason = "an example")]
fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, rounds] = &arguments[..] else { return Err("receive FILE.json ROUNDS".into()) };
    let changes = changes(&serde_json::from_slice(&std::fs::read(file)?)?)?;
    let (before, after) = changes.split_at(changes.len() / 10);
    println!("{} changes before, {} arrive", before.len(), after.len());
    let mut least = [[Duration::MAX; KINDS.len()]; 2];
    for round in 0..rounds.parse()? {
        for at in 0..KINDS.len() {
            let at = (at + round) % KINDS.len();
            for (each, least) in [true, false].into_iter().zip(&mut least) {
                let mut doc = receiver(KINDS[at], before)?;
                let arriving = after.to_vec();
                let start = Instant::now();
                if each {
                    arriving.into_iter().try_for_each(|change| doc.apply_changes([change]))?;
                } else {
                    doc.apply_changes(arriving)?;
                }
                least[at] = least[at].min(start.elapsed());
            }
        }
    }
    for (how, least) in ["one by one", "at once"].iter().zip(least) {
        for (kind, time) in KINDS.iter().zip(least) {
            let ratio = time.as_secs_f64() / least[0].as_secs_f64();
            println!("{how}, {kind}: {:.2} ms, {ratio:.3}", time.as_secs_f64() * 1e3);
        }
    }
    Ok(())
}
