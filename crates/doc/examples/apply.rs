//! Program for instruction counts: applies the changes of a document typed by one author or by two concurrent authors.
//!
//! `apply one|two each|batch|load ROUNDS`: ROUNDS times, applies all changes, one per call or all in one call, or loads
//! the file. The cost of one round is half the difference between 1 and 3 rounds:
//!
//! `cargo build --release -p hashmill-doc --example apply`
//! `valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/apply two each 3`

use std::hint::black_box;

use hashmill_doc::{ActorId, Change, Document, EditError, ObjId, ObjType, ROOT, ReadDoc, Transactable};

/// Keystrokes of the single author.
const ALONE: usize = 30_000;

/// Keystrokes of each of two authors between two merges, and the number of merges.
const APART: (usize, usize) = (70, 200);

/// Types mostly at the end; each key is a change.
fn typed(doc: &mut Document, text: &ObjId, keys: usize, seed: &mut u64) -> Result<(), EditError> {
    for key in 0..keys {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (len, anywhere) = (doc.length(text), (*seed >> 33) as usize);
        doc.transact(|tx| match key {
            _ if key % 9 == 8 && len > 2 => tx.splice_text(text, anywhere % (len - 1), 1, ""),
            _ if key % 16 == 0 => tx.splice_text(text, anywhere % (len + 1), 0, "a"),
            _ => tx.splice_text(text, len, 0, "a"),
        })?;
    }
    Ok(())
}

fn written(by_two: bool) -> Result<Document, Box<dyn std::error::Error>> {
    let (mut one, mut seed) = (Document::new().with_actor(ActorId::from([1; 16])), 5);
    let text = one.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text))?;
    if !by_two {
        typed(&mut one, &text, ALONE, &mut seed)?;
        return Ok(one);
    }
    let mut two = one.fork().with_actor(ActorId::from([2; 16]));
    let (keys, times) = APART;
    for _ in 0..times {
        typed(&mut one, &text, keys, &mut seed)?;
        typed(&mut two, &text, keys, &mut seed)?;
        one.merge(&two)?;
        two.merge(&one)?;
    }
    Ok(one)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [who @ ("one" | "two"), how @ ("each" | "batch" | "load"), rounds] =
        [0, 1, 2].map(|at| arguments.get(at).map_or("", String::as_str))
    else {
        return Err("apply one|two each|batch|load ROUNDS".into());
    };
    let mut doc = written(who == "two")?;
    let (changes, file): (Vec<Change>, _) = (doc.get_changes(&[]), doc.save_nocompress());
    for _ in 0..rounds.parse()? {
        let mut again = Document::new();
        match how {
            "each" => changes.iter().try_for_each(|change| again.apply_changes([change.clone()]))?,
            "batch" => again.apply_changes(changes.clone())?,
            _ => again = Document::load(&file)?,
        }
        black_box(again);
    }
    Ok(())
}
