//! Files with damaged chunks: on every route the good chunks are taken, and the bad ones are reported.

use hashmill_doc::{
    ActorId, Change, Document, LoadError, LoadOptions, Loss, OnPartialLoad, Opening, ROOT, Rule,
    Transactable as _,
};

use crate::Rng;

/// A file as a store writes it: a document, and chunks behind it. Each piece with the changes that are in it.
struct File {
    doc: Document,
    pieces: Vec<(Vec<u8>, Vec<Change>)>,
}

fn file(rng: &mut Rng) -> File {
    let mut people: Vec<Document> =
        (1..=2).map(|actor| Document::new().with_actor(ActorId::from([actor]))).collect();
    let edit = |people: &mut [Document], rng: &mut Rng| {
        let who = rng.below(2);
        let other = people[1 - who].fork();
        if rng.below(2) == 0 {
            people[who].merge(&other).unwrap();
        }
        let value = "words ".repeat(1 + rng.below(100));
        people[who].transact(|tx| tx.put(ROOT, format!("key {}", rng.below(9)), value)).unwrap();
        people[who].get_last_local_change().unwrap()
    };
    let mut pieces = vec![];
    if rng.below(3) > 0 {
        (0..rng.below(5)).for_each(|_| drop(edit(&mut people, rng)));
        let other = people[1].fork();
        people[0].merge(&other).unwrap();
        let first = people[0].save();
        pieces.push((first, people[0].get_changes(&[])));
    }
    for _ in 0..1 + rng.below(8) {
        let change = edit(&mut people, rng);
        let bytes = if rng.below(2) == 0 { change.raw_bytes() } else { change.bytes() };
        pieces.push((bytes, vec![change]));
    }
    let mut doc = people.remove(0);
    doc.merge(&people[0]).unwrap();
    File { doc, pieces }
}

/// Damages a chunk so that it cannot be what it was.
fn damage(piece: &mut Vec<u8>, rng: &mut Rng) {
    let at = rng.below(piece.len());
    match rng.below(3) {
        0 => piece[at] ^= 1 << rng.below(8),
        1 => piece.truncate(at.max(1)),
        _ => drop(piece.drain(at..(at + 1 + rng.below(9)).min(piece.len()))),
    }
}

/// A document, and what was lost on the way into it.
type Loaded = Result<(Document, Vec<Loss>), LoadError>;

fn routes(bytes: &[u8]) -> Vec<(&'static str, Loaded)> {
    let ignore = || LoadOptions::new().on_partial_load(OnPartialLoad::Ignore);
    let loaded = Document::load_reported(bytes, ignore()).map(|(doc, report)| (doc, report.losses));
    let mut empty = Document::new();
    let onto_empty = empty.load_incremental_reported(bytes).map(|report| (empty, report.losses));
    let mut other = Document::new().with_actor(ActorId::from([9]));
    other.transact(|tx| tx.put(ROOT, "other", 1)).unwrap();
    let onto_other = other.load_incremental_reported(bytes).map(|report| (other, report.losses));
    let rescue = Document::rescue(bytes, LoadOptions::new());
    let opened = |opening| {
        let opened = Document::open_with(bytes, ignore().opening(opening))?;
        let losses = opened.losses()?.to_vec();
        Ok((opened.into_document()?, losses))
    };
    vec![
        ("load", loaded),
        ("load_incremental", onto_empty),
        ("load_incremental onto another", onto_other),
        ("rescue", Ok((rescue.document, rescue.losses))),
        ("open", opened(Opening::Checksums)),
        ("open, frames", opened(Opening::Frames)),
    ]
}

#[test]
fn what_lies_behind_a_damaged_chunk_is_taken() {
    for seed in 0..300 {
        let rng = &mut Rng::new(seed);
        let File { doc, mut pieces } = file(rng);
        let mut lost = vec![];
        // One piece with changes stays, so that there is something to be had: an empty document may be among the pieces.
        for _ in 0..rng.below(pieces.len()).min(3) {
            let at = rng.below(pieces.len());
            let mut others = pieces.iter().enumerate().filter(|(other, _)| *other != at);
            let some_stay = others.any(|(_, (_, changes))| !changes.is_empty());
            if pieces[at].1.is_empty() || !some_stay {
                continue;
            }
            let changes = std::mem::take(&mut pieces[at].1);
            damage(&mut pieces[at].0, rng);
            lost.extend(changes);
        }
        let bytes: Vec<u8> = pieces.iter().flat_map(|(piece, _)| piece).copied().collect();
        for (route, loaded) in routes(&bytes) {
            let (mut loaded, losses) = loaded.unwrap_or_else(|error| panic!("{seed}: {route}: {error}"));
            assert_eq!(losses.is_empty(), lost.is_empty(), "{seed}: {route}: {losses:?}");
            for (_, changes) in &pieces {
                for change in changes {
                    // It is here, or waits for one that was lost.
                    let here = loaded.get_change_by_hash(&change.hash()).is_some();
                    let waits = !lost.is_empty();
                    assert!(here || waits, "{seed}: {route} lacks {}", change.hash());
                }
            }
            loaded.apply_changes(lost.iter().cloned()).unwrap();
            for head in doc.get_heads() {
                assert!(loaded.get_change_by_hash(&head).is_some(), "{seed}: {route} lacks {head}");
            }
        }
    }
}

#[test]
fn a_report_names_the_bytes_and_the_rule() {
    let mut doc = Document::new().with_actor(ActorId::from([1]));
    doc.transact(|tx| tx.put(ROOT, "a", 1)).unwrap();
    let snapshot = doc.save();
    doc.transact(|tx| tx.put(ROOT, "b", 1)).unwrap();
    let chunk = doc.save_incremental();
    let bytes = [&snapshot[..], b"noise", &chunk, &chunk[..chunk.len() - 3]].concat();
    let behind = snapshot.len() + 5 + chunk.len();
    for (route, loaded) in routes(&bytes) {
        let (_, losses) = loaded.unwrap();
        let told: Vec<_> = losses
            .iter()
            .map(|loss| match &loss.why {
                LoadError::Format(error) => (loss.bytes.clone(), error.rule.clone()),
                why => panic!("{route}: {why}"),
            })
            .collect();
        let noise = (snapshot.len()..snapshot.len() + 5, Rule::Magic);
        assert_eq!(told, [noise, (behind..bytes.len(), Rule::Truncated)], "{route}");
    }
    // Without leave, it is an error as before.
    assert!(matches!(Document::load(&bytes), Err(LoadError::Format(_))));
}
