//! Random documents by several writers, for properties of all documents: objects of every kind inside each other,
//! conflicts, counters, marks, blocks, and elements of texts that are not exactly one character.
//!
//! `HASHMILL_DOC_WORLDS=1000..200000` replaces the seeds of every such test, and the test then prints a summary.

pub(crate) mod contents;

use std::cell::Cell;
use std::ops::Range;
use std::time::Instant;

use hashmill_doc::{
    ActorId, ChangeHash, Document, EditError, ExpandMark, LoadOptions, Mark, ObjId, ObjType, ROOT, ReadDoc,
    ScalarValue, TextEncoding, Transactable, Transaction,
};
use hashmill_testkit::Rng;

use crate::oracle::compare::each;

pub(crate) const ENCODINGS: [TextEncoding; 4] = [
    TextEncoding::UnicodeCodePoint,
    TextEncoding::Utf8CodeUnit,
    TextEncoding::Utf16CodeUnit,
    TextEncoding::GraphemeCluster,
];

pub(crate) const WORDS: [&str; 12] =
    ["x", "xy", "", "é", "e\u{301}", "\n", "😀", "字", "\r\n", "some words", "\u{301}", "\u{fffc}"];
const KEYS: [&str; 5] = ["a", "b", "n", "é~/", "list"];
const WRITERS: usize = 3;

/// Several copies of one document.
pub(crate) struct World {
    pub(crate) writers: Vec<Document>,
    /// Every created object; a writer may not have received it yet.
    objects: Vec<(ObjId, ObjType)>,
    pub(crate) rng: Rng,
}

impl World {
    /// Copies with a text, a list and a counter, which the writers edit most often.
    pub(crate) fn new(seed: u64) -> Self {
        Self::counting_in(seed, ENCODINGS[seed as usize % ENCODINGS.len()])
    }

    pub(crate) fn counting_in(seed: u64, encoding: TextEncoding) -> Self {
        let rng = Rng::new(seed);
        let mut first = Document::with_encoding(encoding).with_actor(actor(0));
        let created = first.transact(|tx| {
            let text = tx.put_object(ROOT, "text", ObjType::Text)?;
            let list = tx.put_object(ROOT, "list", ObjType::List)?;
            tx.put(ROOT, "n", ScalarValue::counter(1))?;
            tx.insert(&list, 0, ScalarValue::counter(5))?;
            tx.insert(&text, 0, "xy")?;
            Ok::<_, EditError>([(ROOT, ObjType::Map), (text, ObjType::Text), (list, ObjType::List)])
        });
        let objects = created.expect("a new document takes everything").to_vec();
        let forks = (1..WRITERS).map(|n| first.fork().with_actor(actor(n))).collect::<Vec<_>>();
        Self { writers: [first].into_iter().chain(forks).collect(), objects, rng }
    }

    /// A change by one of the writers, or a merge; returns the index of the document.
    pub(crate) fn step(&mut self) -> usize {
        let who = self.rng.below(WRITERS);
        if self.rng.below(4) == 0 {
            let from = self.writers[self.rng.below(WRITERS)].clone();
            self.writers[who].merge(&from).expect("changes of this world");
            return who;
        }
        let Self { writers, objects, rng } = self;
        let edited = writers[who].transact(|tx| {
            for _ in 0..1 + rng.below(4) {
                // A failed edit must leave nothing.
                let _: Result<(), EditError> = edit(tx, objects, rng);
            }
            Ok::<_, EditError>(())
        });
        edited.expect("each edit alone fails");
        who
    }

    /// The texts that the first writer has.
    pub(crate) fn texts(&self) -> Vec<ObjId> {
        let texts = self.objects.iter().filter(|(_, kind)| *kind == ObjType::Text);
        texts
            .filter(|(text, _)| self.writers[0].object_type(text).is_ok())
            .map(|(text, _)| text.clone())
            .collect()
    }

    /// The first writer's document, with the changes of all.
    pub(crate) fn merged(mut self) -> Document {
        let rest = self.writers.split_off(1);
        let mut doc = self.writers.pop().expect("there are writers");
        for other in rest {
            doc.merge(&other).expect("changes of this world");
        }
        doc
    }
}

/// A document after some steps.
pub(crate) fn document(seed: u64, steps: usize) -> Document {
    let mut world = World::new(seed);
    for _ in 0..steps {
        world.step();
    }
    world.merged()
}

/// As [`document`], with intermediate heads of the first writer, which are ancestors in the document.
pub(crate) fn document_with_heads(seed: u64, steps: usize) -> (Document, Vec<Vec<ChangeHash>>) {
    let mut world = World::new(seed);
    let mut heads = vec![vec![], world.writers[0].get_heads()];
    for _ in 0..steps {
        if world.step() == 0 {
            heads.push(world.writers[0].get_heads());
        }
    }
    let doc = world.merged();
    heads.push(doc.get_heads());
    (doc, heads)
}

/// Load options with the text encoding of a document.
pub(crate) fn counting_as(doc: &Document) -> LoadOptions {
    LoadOptions::new().text_encoding(doc.text_encoding())
}

/// Actors whose order differs from that of their numbers.
fn actor(n: usize) -> ActorId {
    ActorId::from([[7, 1], [3, 3], [7, 0]][n])
}

pub(crate) fn scalar(rng: &mut Rng) -> ScalarValue<'static> {
    let small = rng.below(8) as i64 - 3;
    match rng.below(16) {
        0 => ScalarValue::Null,
        1 => ScalarValue::Boolean(small > 0),
        2 => ScalarValue::Uint(small.unsigned_abs()),
        3 => ScalarValue::F64(0.0),
        4 => ScalarValue::F64(-0.0),
        5 => ScalarValue::F64([1.5, f64::NAN, f64::INFINITY][rng.below(3)]),
        6 => vec![7; rng.below(3)].into(),
        7 => ScalarValue::Timestamp(small),
        8 => ScalarValue::Unknown { type_code: 10 + rng.below(6) as u8, bytes: vec![1].into() },
        9..12 => ScalarValue::counter(small),
        12..14 => WORDS[rng.below(WORDS.len())].into(),
        _ => small.into(),
    }
}

/// Different values of one mark, some differing only in what `anonymise` hides. Zeros with two signs are omitted: of
/// neighbours that are equal in this sense, a reader gets the first.
fn mark_value(rng: &mut Rng) -> ScalarValue<'static> {
    let values: [ScalarValue<'static>; 11] = [
        ScalarValue::Null,
        true.into(),
        "x".into(),
        "y".into(),
        5.into(),
        7.into(),
        2.5.into(),
        3.5.into(),
        vec![1].into(),
        vec![2].into(),
        ScalarValue::Timestamp(9),
    ];
    values[rng.below(values.len())].clone()
}

/// One edit of a present object.
fn edit(
    tx: &mut Transaction<'_>,
    objects: &mut Vec<(ObjId, ObjType)>,
    rng: &mut Rng,
) -> Result<(), EditError> {
    // Half of the edits are on the first objects, so that they conflict.
    let among = if rng.below(2) == 0 { objects.len().min(3) } else { objects.len() };
    let (obj, kind) = objects[rng.below(among)].clone();
    let making = [ObjType::Map, ObjType::List, ObjType::Text][rng.below(3)];
    let length = tx.length(&obj);
    let at = rng.below(length + 1);
    let word = WORDS[rng.below(WORDS.len())];
    let mut add = |object: ObjId, kind: ObjType| objects.push((object, kind));
    let key = KEYS[rng.below(KEYS.len())];
    let roll = rng.below(20);
    match kind {
        ObjType::Map => match roll {
            0..4 => add(tx.put_object(&obj, key, making)?, making),
            4..7 => tx.delete(&obj, key)?,
            7..11 => tx.increment(&obj, key, rng.below(7) as i64 - 3)?,
            _ => tx.put(&obj, key, scalar(rng))?,
        },
        ObjType::List => match roll {
            0..3 => add(tx.insert_object(&obj, at, making)?, making),
            3..5 => add(tx.put_object(&obj, at, making)?, making),
            5..8 => tx.delete(&obj, at)?,
            8..12 => tx.increment(&obj, at, rng.below(7) as i64 - 3)?,
            12..15 => tx.put(&obj, at, scalar(rng))?,
            _ => tx.insert(&obj, at, scalar(rng))?,
        },
        ObjType::Text => match roll {
            0..4 => tx.splice_text(&obj, at, rng.below(3) as isize, word)?,
            4 => tx.splice_text(&obj, at, -(rng.below(3).min(at) as isize), "")?,
            5..8 => tx.insert(&obj, at, word)?,
            8 => tx.insert(&obj, at, scalar(rng))?,
            9..11 => tx.put(&obj, at, word)?,
            11 => tx.put(&obj, at, scalar(rng))?,
            12 => tx.increment(&obj, at, 2)?,
            13 => add(tx.insert_object(&obj, at, making)?, making),
            14 => add(tx.split_block(&obj, at)?, ObjType::Map),
            15 => match rng.below(2) {
                0 => tx.join_block(&obj, at)?,
                _ => add(tx.replace_block(&obj, at)?, ObjType::Map),
            },
            _ => {
                let end = at + rng.below(length + 1 - at);
                let expand = [ExpandMark::Before, ExpandMark::After, ExpandMark::Both, ExpandMark::None];
                let mark = Mark::new(["b", "link"][rng.below(2)], mark_value(rng), at, end);
                tx.mark(&obj, mark, expand[rng.below(4)])?;
            }
        },
        ObjType::Table => unreachable!("nothing makes tables"),
    }
    Ok(())
}

/// Checks a property for these seeds, or for those of the environment. The property returns the number of operations it
/// processed.
#[allow(clippy::print_stdout, reason = "a search tells what it did")]
pub(crate) fn for_all(name: &str, seeds: Range<u64>, property: impl Fn(u64) -> usize) {
    let wanted = std::env::var("HASHMILL_DOC_WORLDS").ok();
    let (prints, seeds) = match &wanted {
        None => (false, seeds),
        Some(range) => {
            let (from, to) = range.split_once("..").expect("HASHMILL_DOC_WORLDS is FROM..TO");
            let number = |text: &str| text.parse().expect("HASHMILL_DOC_WORLDS is FROM..TO");
            (true, number(from)..number(to))
        }
    };
    let (began, operations) = (Instant::now(), Cell::new(0));
    each(seeds.clone(), |seed| operations.set(operations.get() + property(seed)));
    if prints {
        println!("{name}: seeds {seeds:?}, {} operations, {:?}", operations.get(), began.elapsed());
    }
}
