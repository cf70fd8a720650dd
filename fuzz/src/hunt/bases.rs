//! Start documents of a block: small, by several users, some with forged changes.

use hashmill_doc::{ActorId, Change, Document};
use hashmill_testkit::Rng;
use hashmill_testkit::mutate::chunk::{Chunk, split};
use hashmill_testkit::mutate::forge::{ForgeStrictness, KnownOps};

use crate::edits::edit;
use crate::targets::doc::{LIMITS, small, within};

/// Files that no edit makes: marks, bundles, authors, deflated changes, values of every type.
const KEPT: [&[u8]; 7] = [
    include_bytes!("../../corpus/doc_load/mark-document"),
    include_bytes!("../../corpus/doc_load/bundle"),
    include_bytes!("../../corpus/doc_load/exemplar"),
    include_bytes!("../../corpus/doc_load/author-footer"),
    include_bytes!("../../corpus/doc_load/two-change-chunks-compressed"),
    include_bytes!("../../corpus/doc_load/text-change"),
    include_bytes!("../../corpus/doc_load/put-document"),
];

/// A few people who edited and told each other most of it. The first has everything.
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
    // A forger, for operations that no edit makes, such as marks.
    for writer in 0..[0, 0, 0, 1, 1, 2][rng.below(6)] {
        let mut universe = universe(&docs[0]);
        let heads = docs[0].get_heads().iter().map(|hash| hash.0).collect();
        let forged = universe.forge(&[0xe0, writer as u8], heads, ForgeStrictness::Great, rng);
        if let Ok(change) = Change::from_bytes_with(&forged.bytes(), &LIMITS) {
            // What is refused is not there: nothing else is asked of it here.
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

/// What the changes of a document hold.
pub(super) fn universe(doc: &Document) -> KnownOps {
    let changes: Vec<Vec<u8>> = doc.get_changes(&[]).iter().map(Change::raw_bytes).collect();
    KnownOps::of(changes.iter().map(Vec::as_slice))
}

/// A file of one of several forms.
pub(super) fn file(rng: &mut Rng) -> (Vec<Chunk>, KnownOps) {
    if rng.below(4) == 0 {
        let kept = &KEPT[rng.below(KEPT.len())][1..];
        return (split(kept), KnownOps::of([kept]));
    }
    let docs = people(&within(LIMITS), rng);
    let mut doc = docs[0].clone();
    let universe = universe(&doc);
    let bytes = match rng.below(8) {
        0..=4 => doc.save_nocompress(),
        5 => doc.save(),
        6 => doc.save_after(&[]),
        // What one of them had, and the rest behind it.
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

/// Changes on top of [`small`], and what is known then.
pub(super) fn news(rng: &mut Rng) -> (Vec<Chunk>, KnownOps) {
    let small = small();
    let docs = people(&small, rng);
    (split(&docs[0].save_after(&small.get_heads())), universe(&docs[0]))
}
