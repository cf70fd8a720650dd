//! Files with damaged chunks: every route loads the valid chunks and reports the others.

use hashmill_doc::{
    ActorId, Change, Document, LoadError, LoadOptions, Loss, OnPartialLoad, OpenCheck, ROOT, Rule,
    Transactable as _,
};

use crate::Rng;

/// A file with a document and further chunks, each with its changes.
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

/// Damages a chunk.
fn damage(piece: &mut Vec<u8>, rng: &mut Rng) {
    let at = rng.below(piece.len());
    match rng.below(3) {
        0 => piece[at] ^= 1 << rng.below(8),
        1 => piece.truncate(at.max(1)),
        _ => drop(piece.drain(at..(at + 1 + rng.below(9)).min(piece.len()))),
    }
}

/// A document, and the losses on the route to it.
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
        let opened = Document::open_with(bytes, ignore().open_check(opening))?;
        let losses = opened.losses()?.to_vec();
        Ok((opened.into_document()?, losses))
    };
    vec![
        ("load", loaded),
        ("load_incremental", onto_empty),
        ("load_incremental onto another", onto_other),
        ("rescue", Ok((rescue.document, rescue.losses))),
        ("open", opened(OpenCheck::Checksums)),
        ("open, frames", opened(OpenCheck::Frames)),
    ]
}

#[test]
fn chunks_after_a_damaged_one_are_loaded() {
    for seed in 0..300 {
        let rng = &mut Rng::new(seed);
        let File { doc, mut pieces } = file(rng);
        let mut lost = vec![];
        // At least one chunk with changes stays intact: an empty document may be among the chunks.
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
                    // It is present, or waits for a lost one.
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
fn loss_report_names_bytes_and_rule() {
    let mut doc = Document::new().with_actor(ActorId::from([1]));
    doc.transact(|tx| tx.put(ROOT, "a", 1)).unwrap();
    let snapshot = doc.save();
    doc.transact(|tx| tx.put(ROOT, "b", 1)).unwrap();
    let chunk = doc.save_incremental();
    let bytes = [&snapshot[..], b"noise", &chunk, &chunk[..chunk.len() - 3]].concat();
    let behind = snapshot.len() + 5 + chunk.len();
    for (route, loaded) in routes(&bytes) {
        let (_, losses) = loaded.unwrap();
        let reported: Vec<_> = losses
            .iter()
            .map(|loss| match &loss.reason {
                LoadError::Format(error) => (loss.bytes.clone(), error.rule.clone()),
                reason => panic!("{route}: {reason}"),
            })
            .collect();
        let noise = (snapshot.len()..snapshot.len() + 5, Rule::Magic);
        assert_eq!(reported, [noise, (behind..bytes.len(), Rule::Truncated)], "{route}");
    }
    // Without permission for losses, this is an error.
    assert!(matches!(Document::load(&bytes), Err(LoadError::Format(_))));
}
