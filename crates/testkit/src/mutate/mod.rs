//! Mutations of files and changes, with correct checksums: a reader must refuse them or keep them complete.
//!
//! The module knows the format but not the engine: [`chunk`] parses files, [`cells`] columns, [`change_builder`] changes.
//! [`column_edits`] mutates columns without interpreting them, [`forge`] writes changes with meaningful operations. The passed
//! generator decides everything.

pub mod cells;
pub mod change_builder;
pub mod chunk;
pub mod column_edits;
pub mod forge;
pub mod values;

use chunk::{Bundle, Change, Chunk, Document, Hash};
use forge::KnownOps;

use crate::Rng;
use crate::format::numbers::Input;

/// Mutates a file of chunks, at most `most` times.
pub fn mutate(chunks: &mut Vec<Chunk>, universe: &mut KnownOps, most: usize, rng: &mut Rng) {
    for _ in 0..1 + rng.below(most.max(1)) {
        if chunks.is_empty() {
            return;
        }
        let (at, to) = (rng.below(chunks.len()), rng.below(chunks.len()));
        match rng.below(40) {
            0 => drop(chunks.remove(at)),
            1 => chunks.insert(to, chunks[at].clone()),
            2 => chunks.swap(at, to),
            _ => mutate_chunk(&mut chunks[at], universe, rng),
        }
    }
}

fn mutate_chunk(chunk: &mut Chunk, universe: &mut KnownOps, rng: &mut Rng) {
    match chunk {
        Chunk::Document(document) => mutate_document(document, rng),
        Chunk::Change(change) => mutate_change(change, universe, rng),
        Chunk::Bundle(bundle) => mutate_bundle(bundle, rng),
        Chunk::Other { kind, body } => {
            if rng.below(8) == 0 {
                *kind = rng.below(6) as u8;
            }
            values::damage(body, rng);
        }
    }
    if rng.below(64) == 0 {
        // The body as bytes, of the same type or another.
        let mut bytes = vec![];
        chunk.write(&mut bytes);
        let mut input = Input(&bytes[8..]);
        if let (Some(kind), Some(body)) = (input.byte(), input.prefixed()) {
            let mut body = body.to_vec();
            values::damage(&mut body, rng);
            let kind = if rng.below(4) == 0 { rng.below(5) as u8 } else { kind };
            *chunk = Chunk::from_body(kind, &body);
        }
    }
}

fn mutate_document(document: &mut Document, rng: &mut Rng) {
    match rng.below(20) {
        0 => names(&mut document.actors, rng),
        1 => hashes(&mut document.heads, rng),
        2 => values::damage(&mut document.rest, rng),
        3..=7 => column_edits::cut(&mut document.changes, rng),
        _ => column_edits::cut(&mut document.ops, rng),
    }
}

fn mutate_bundle(bundle: &mut Bundle, rng: &mut Rng) {
    match rng.below(20) {
        0 => names(&mut bundle.actors, rng),
        1 => hashes(&mut bundle.deps, rng),
        2..=7 => column_edits::cut(&mut bundle.changes, rng),
        _ => column_edits::cut(&mut bundle.ops, rng),
    }
}

/// Does something to a change.
pub fn mutate_change(change: &mut Change, universe: &mut KnownOps, rng: &mut Rng) {
    match rng.below(32) {
        0 => hashes(&mut change.deps, rng),
        1 => values::damage(&mut change.actor, rng),
        2 => change.seq = values::number(change.seq, rng),
        3 => change.start = values::number(change.start, rng),
        4 => change.time = values::number(change.time as u64, rng) as i64,
        5 => change.message = values::text(rng),
        6 => names(&mut change.others, rng),
        7 => values::damage(&mut change.extra, rng),
        8 => change.deflated = !change.deflated,
        9..=19 => column_edits::cut(&mut change.ops, rng),
        _ => *change = universe.twisted(change, rng),
    }
}

fn names(names: &mut Vec<Vec<u8>>, rng: &mut Rng) {
    list(names, rng, values::damage);
}

fn hashes(hashes: &mut Vec<Hash>, rng: &mut Rng) {
    list(hashes, rng, |hash, rng| hash[rng.below(32)] ^= 1 << rng.below(8));
}

fn list<T: Clone>(list: &mut Vec<T>, rng: &mut Rng, change: impl Fn(&mut T, &mut Rng)) {
    if list.is_empty() {
        return;
    }
    let (at, to) = (rng.below(list.len()), rng.below(list.len()));
    match rng.below(5) {
        0 => drop(list.remove(at)),
        1 => list.insert(to, list[at].clone()),
        2 => list.swap(at, to),
        _ => change(&mut list[at], rng),
    }
}
