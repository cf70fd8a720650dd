//! Minimisation of findings.

use hashmill_testkit::mutate::change_builder::{Actors, Draft};
use hashmill_testkit::mutate::chunk::{Chunk, join, split};

use super::targets::{Target, lead};
use super::{Finding, catch};
use crate::Verdict;
use crate::targets::doc_limits;

/// Maximum number of runs of a minimisation.
const MOST: usize = 4000;

/// A smaller input with the same finding.
pub fn shrink(target: &Target, input: &[u8], finding: &Finding) -> Vec<u8> {
    let mut runs = 0;
    let mut best = input.to_vec();
    let kind = finding.kind();
    let mut breaks = |input: &[u8]| {
        runs += 1;
        match catch::run(|| (target.body)(input)) {
            Err(found) => (found.kind() == kind).then_some(None),
            Ok(Verdict::OtherHeads(heads)) => Some(Some(heads)),
            Ok(_) => None,
        }
        .filter(|_| runs < MOST)
    };
    loop {
        let mut smaller = None;
        for candidate in candidates(target, &best) {
            let candidate = match breaks(&candidate) {
                Some(None) => candidate,
                Some(Some(heads)) => {
                    let head = head(target);
                    let mut file = split(candidate.get(head..).unwrap_or_default());
                    lead(&mut file, &heads);
                    let repaired = [&candidate[..head.min(candidate.len())], &join(&file)].concat();
                    if breaks(&repaired) != Some(None) {
                        continue;
                    }
                    repaired
                }
                None => continue,
            };
            if candidate.len() < best.len() {
                smaller = Some(candidate);
                break;
            }
        }
        match smaller {
            Some(candidate) => best = candidate,
            None => return best,
        }
    }
}

/// Bytes before the file in an input.
fn head(target: &Target) -> usize {
    match target.name {
        "doc_load" | "doc_rescue" | "doc_incremental" | "doc_sync" => 1,
        "doc_limits" => doc_limits::HEAD + 1,
        _ => 0,
    }
}

/// Inputs that are a little smaller.
fn candidates(target: &Target, input: &[u8]) -> Vec<Vec<u8>> {
    match target.name {
        "doc_converse" => {
            (0..input.len() / 2).map(|at| [&input[..2 * at], &input[2 * at + 2..]].concat()).collect()
        }
        "doc_cursor" | "doc_json" => vec![],
        // A message, not chunks.
        "doc_sync" if input.first().is_some_and(|first| first % 2 == 0) => vec![],
        "doc_change" => {
            let body =
                |chunk: Chunk| if let Chunk::Change(change) = chunk { Some(change.body()) } else { None };
            smaller_chunks(&Chunk::from_body(1, input)).into_iter().filter_map(body).collect()
        }
        _ => {
            let (head, file) = input.split_at(head(target).min(input.len()));
            let chunks = split(file);
            let mut all = vec![];
            let mut push = |chunks: &[Chunk]| all.push([head, &join(chunks)].concat());
            for at in 0..chunks.len() {
                let mut fewer = chunks.clone();
                fewer.remove(at);
                push(&fewer);
            }
            for at in 0..chunks.len() {
                for chunk in smaller_chunks(&chunks[at]) {
                    let mut smaller = chunks.clone();
                    smaller[at] = chunk;
                    push(&smaller);
                }
            }
            all
        }
    }
}

fn smaller_chunks(chunk: &Chunk) -> Vec<Chunk> {
    let mut smaller = vec![];
    match chunk {
        Chunk::Change(change) => {
            let mut actors = Actors::default();
            if let Some(draft) = Draft::from_change(change, &mut actors) {
                let rows = draft.ops.len();
                let halves = [0..rows / 2, rows / 2..rows];
                for rows in halves.into_iter().chain((0..rows.min(64)).map(|row| row..row + 1)) {
                    let mut fewer = draft.clone();
                    fewer.ops.drain(rows);
                    smaller.push(Chunk::Change(fewer.change(&actors)));
                }
            }
            for at in 0..change.ops.len() {
                let mut fewer = change.clone();
                fewer.ops.remove(at);
                smaller.push(Chunk::Change(fewer));
            }
            let mut plain = change.clone();
            plain.message.clear();
            plain.extra.clear();
            plain.deflated = false;
            smaller.push(Chunk::Change(plain));
        }
        Chunk::Document(document) => {
            for at in 0..document.ops.len() {
                let mut fewer = document.clone();
                fewer.ops.remove(at);
                smaller.push(Chunk::Document(fewer));
            }
            for at in 0..document.changes.len() {
                let mut fewer = document.clone();
                fewer.changes.remove(at);
                smaller.push(Chunk::Document(fewer));
            }
        }
        Chunk::Bundle(_) | Chunk::Other { .. } => {}
    }
    smaller
}
