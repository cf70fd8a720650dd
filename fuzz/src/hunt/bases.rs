//! Start documents of a block: small, by several users, some with forged changes.

use hashmill_doc::{ActorId, Change, Document};
use hashmill_testkit::Rng;
use hashmill_testkit::mutate::chunk::{Chunk, split};
use hashmill_testkit::mutate::forge::{ForgeStrictness, KnownOps};

use crate::edits::edit;
use crate::targets::doc::{LIMITS, small, within};

/// Files that edits do not produce: marks, bundles, authors, deflated changes, values of every type.
const CORPUS_FILES: [&[u8]; 7] = [
    include_bytes!("../../corpus/doc_load/mark-document"),
    include_bytes!("../../corpus/doc_load/bundle"),
    include_bytes!("../../corpus/doc_load/exemplar"),
    include_bytes!("../../corpus/doc_load/author-footer"),
    include_bytes!("../../corpus/doc_load/two-change-chunks-compressed"),
    include_bytes!("../../corpus/doc_load/text-change"),
    include_bytes!("../../corpus/doc_load/put-document"),
];

/// Documents of a few users who edited and exchanged most of their changes. The first has all changes.
pub(super) fn people(start: &Document, rng: &mut Rng) -> Vec<Document> {
    let mut docs: Vec<Document> = (0..[1, 1, 1, 2, 2, 3][rng.below(6)])
        .map(|person| start.fork().with_actor(ActorId::from([person as u8 + 1; 2])))
        .collect();
    for _ in 0..[1, 1, 1, 2, 2, 4][rng.below(6)] {
        let (who, from) = (rng.below(docs.len()), rng.below(docs.len()));
        edit(&mut docs[who], rng);
        if rng.below(3) == 0 {
            tell(&mut docs, from, who);
        }
    }
    (1..docs.len()).for_each(|from| tell(&mut docs, from, 0));
    // Forged changes, for operations that edits do not produce, such as marks.
    for writer in 0..[0, 0, 0, 1, 1, 2][rng.below(6)] {
        let mut universe = universe(&docs[0]);
        let heads = docs[0].get_heads().iter().map(|hash| hash.0).collect();
        let forged = universe.forge(&[0xe0, writer as u8], heads, ForgeStrictness::Great, rng);
        if let Ok(change) = Change::from_bytes_with(&forged.bytes(), &LIMITS) {
            // A refused change is left out; its refusal is not checked here.
            drop(docs[0].apply_changes([change]));
        }
    }
    docs
}

fn tell(docs: &mut [Document], from: usize, to: usize) {
    if from != to {
        let news = docs[to].get_changes_added(&docs[from]);
        docs[to].apply_changes(news).expect("what one made the others take");
    }
}

/// The known operations of a document's changes.
pub(super) fn universe(doc: &Document) -> KnownOps {
    let changes: Vec<Vec<u8>> = doc.get_changes(&[]).iter().map(Change::raw_bytes).collect();
    KnownOps::from_files(changes.iter().map(Vec::as_slice))
}

/// A file in one of several encodings.
pub(super) fn file(rng: &mut Rng) -> (Vec<Chunk>, KnownOps) {
    if rng.below(4) == 0 {
        let bytes = &CORPUS_FILES[rng.below(CORPUS_FILES.len())][1..];
        return (split(bytes), KnownOps::from_files([bytes]));
    }
    let docs = people(&within(LIMITS), rng);
    let mut doc = docs[0].clone();
    let universe = universe(&doc);
    let bytes = match rng.below(8) {
        0..=4 => doc.save_nocompress(),
        5 => doc.save(),
        6 => doc.save_after(&[]),
        // The document of one user, followed by the missing changes.
        _ => {
            let mut part = docs[docs.len() - 1].clone();
            let rest = part.get_changes_added(&doc);
            let mut bytes = part.save_nocompress();
            rest.iter().for_each(|change| bytes.extend(change.raw_bytes()));
            bytes
        }
    };
    (split(&bytes), universe)
}

/// Changes on top of [`small`], and the known operations after them.
pub(super) fn news(rng: &mut Rng) -> (Vec<Chunk>, KnownOps) {
    let small = small();
    let docs = people(&small, rng);
    (split(&docs[0].save_after(&small.get_heads())), universe(&docs[0]))
}
