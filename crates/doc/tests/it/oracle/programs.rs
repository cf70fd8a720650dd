//! Random programs of several writers: every document, change, save, and intermediate head is compared.

use hashmill_doc::{
    ActorId, AutoCommit, Change, Document, ExpandMark, Limits, LoadError, LoadOptions, Mark, ObjId, ObjType,
    ROOT, ReadDoc, ScalarValue, Transactable,
};
use hashmill_testkit::doc::History;
use hashmill_testkit::doc::forge::Forge;

use super::compare::{agree, agree_now, deliver, each, read};
use crate::Rng;

const KEYS: [&str; 5] = ["a", "b", "", "é", "a longer key"];

/// An object and its kind, with all objects inside.
fn objects(doc: &AutoCommit, from: &ObjId, found: &mut Vec<(ObjId, ObjType)>) {
    let kind = doc.object_type(from).expect("it is there");
    found.push((from.clone(), kind));
    for (value, id) in doc.values(from) {
        if value.as_object().is_some() {
            objects(doc, &id, found);
        }
    }
}

fn scalar(rng: &mut Rng) -> ScalarValue<'static> {
    let number = rng.below(400) as i64 - 100;
    match rng.below(11) {
        0 => ScalarValue::Null,
        1 => (number > 0).into(),
        2 => ScalarValue::Uint(number.unsigned_abs()),
        3 => ScalarValue::F64(number as f64 / 3.0),
        4 => vec![7; rng.below(300)].into(),
        5 => ScalarValue::Timestamp(number),
        6 => ScalarValue::Unknown { type_code: 10 + rng.below(6) as u8, bytes: vec![1, 2].into() },
        7 => "words".into(),
        8 | 9 => ScalarValue::counter(number),
        _ => number.into(),
    }
}

/// One random edit. An error must have no effect, which the comparison checks.
fn edit(doc: &mut AutoCommit, rng: &mut Rng) {
    let mut found = vec![];
    objects(doc, &ROOT, &mut found);
    let (obj, kind) = found[rng.below(found.len())].clone();
    let kinds = [ObjType::Map, ObjType::List, ObjType::Text];
    let (value, making) = (scalar(rng), kinds[rng.below(3)]);
    let _ = if kind.is_sequence() {
        let length = doc.length(&obj);
        let at = rng.below(length + 1);
        match rng.below(if kind == ObjType::Text { 12 } else { 8 }) {
            8 | 9 => {
                let end = at + rng.below(length - at + 1);
                let expand = [ExpandMark::Before, ExpandMark::After, ExpandMark::Both, ExpandMark::None];
                let mark = Mark::new(["bold", "link", ""][rng.below(3)], value, at, end);
                doc.mark(&obj, mark, expand[rng.below(4)])
            }
            10 => doc.split_block(&obj, at).map(drop),
            11 => match rng.below(2) {
                0 => doc.join_block(&obj, at),
                _ => doc.replace_block(&obj, at).map(drop),
            },
            0 => doc.insert_object(&obj, at, making).map(drop),
            1 if kind == ObjType::List => doc.insert(&obj, at, value),
            1 | 2 => doc.put(&obj, at, value),
            3 => doc.delete(&obj, at),
            4 => doc.increment(&obj, at, 3),
            5 if kind == ObjType::Text => doc.splice_text(&obj, at, rng.below(9) as isize - 3, ""),
            _ if kind == ObjType::Text => {
                let words = ["a", "é👍", "typed in one go ", "a line\\n"][rng.below(4)];
                doc.splice_text(&obj, at, rng.below(3) as isize, words)
            }
            _ => doc.insert(&obj, at, value),
        }
    } else {
        let key = KEYS[rng.below(KEYS.len())];
        match rng.below(6) {
            0 => doc.put_object(&obj, key, making).map(drop),
            1 => doc.delete(&obj, key),
            2 | 3 => doc.increment(&obj, key, -5),
            _ => doc.put(&obj, key, value),
        }
    };
}

/// A change that the API cannot make: tables, and predecessors that omit some values.
fn forged(doc: &mut AutoCommit, seed: u64) {
    let doc = doc.document();
    let history = read(&doc.get_changes(&[]));
    let mut forge = Forge::new(seed, history);
    let actor = hashmill_testkit::doc::Actor(doc.get_actor().as_bytes().into());
    let heads = forge.history.heads();
    let change = Change::from_bytes(&forge.change_by(&actor, heads).bytes()).expect("a sound change");
    doc.apply_changes([change]).expect("a sound change");
}

#[test]
fn edits_of_several_writers_equal_the_oracle() {
    each(0..24, |seed| {
        let mut rng = Rng::new(seed);
        let actor = |n: u8| ActorId::from([n.wrapping_mul(91), 1]);
        let mut docs: Vec<AutoCommit> =
            (0..3).map(|n| AutoCommit::from(Document::new().with_actor(actor(n)))).collect();
        for step in 0..40 {
            let (i, j) = (rng.below(3), rng.below(3));
            for _ in 0..1 + rng.below(4) {
                edit(&mut docs[i], &mut rng);
            }
            match rng.below(12) {
                0 => drop(docs[i].rollback()),
                1 => forged(&mut docs[i], seed << 8 | step),
                2 => drop(docs[i].empty_commit(&hashmill_doc::CommitOptions::default())),
                3..6 => {
                    let mut changes = docs[j].document().get_changes(&[]);
                    (1..changes.len()).rev().for_each(|k| changes.swap(k, rng.below(k + 1)));
                    for change in changes {
                        docs[i].document().apply_changes([change]).expect("a sound change");
                    }
                }
                6 => {
                    let other = docs[j].document().clone();
                    docs[i].document().merge(&other).expect("sound changes");
                }
                7 => {
                    let file = docs[i].document().save();
                    let actor = docs[i].document().get_actor().clone();
                    let doc = Document::load(&file).expect("a sound file").with_actor(actor);
                    docs[i] = AutoCommit::from(doc);
                }
                8 => {
                    let doc = docs[i].document();
                    agree_now(doc, &read(&doc.get_changes(&[])), &format!("seed {seed}, step {step}"));
                }
                _ => {}
            }
        }
        for doc in &mut docs {
            let doc = doc.document();
            agree(doc, &read(&doc.get_changes(&[])), &format!("seed {seed}, the end"));
        }
    });
}

#[test]
fn forged_changes_of_several_writers_equal_the_oracle() {
    each(0..150, |seed| {
        let mut forge = Forge::new(seed, History::new());
        let (mut doc, mut history) = (Document::new(), History::new());
        for _ in 0..20 {
            deliver(&mut doc, &mut history, &forge.change(3, 0));
        }
        agree(&mut doc, &history, "at the end");
    });
}

/// Values passed by callers are written only if they can be read again.
#[test]
fn values_of_every_possible_type() {
    for type_code in 0..=u8::MAX {
        let mut doc = Document::new();
        let value = ScalarValue::Unknown { type_code, bytes: vec![0].into() };
        let put = doc.transact(|tx| tx.put(ROOT, "k", value));
        assert_eq!(put.is_ok(), (10..16).contains(&type_code), "type {type_code}");
        let history = read(&doc.get_changes(&[]));
        agree(&mut doc, &history, &format!("type {type_code}"));
    }
}

/// A change with few bytes and many operations is applied completely or refused.
#[test]
fn changes_at_the_work_limit_are_all_or_nothing() {
    for (count, steps) in [(300, 1000), (3000, 1000), (20_000, 100), (3000, 1 << 18)] {
        let mut doc = Document::new().with_actor(ActorId::from([7]));
        let list = doc.transact(|tx| tx.put_object(ROOT, "list", ObjType::List)).expect("a sound edit");
        doc.transact(|tx| (0..count).try_for_each(|_| tx.insert(&list, 0, ()))).expect("sound edits");
        let limits = Limits { steps, ..Limits::default() };
        let file = doc.save_after(&[]);
        let mut other = Document::load_with(&[], LoadOptions::new().limits(limits)).expect("nothing");
        let when = format!("{count} insertions and {steps} steps");
        match other.load_incremental(&file) {
            Ok(_) => agree_now(&other, &read(&doc.get_changes(&[])), &when),
            Err(reason) => {
                assert!(matches!(reason, LoadError::Limit(_) | LoadError::Apply(_)), "{when}: {reason}");
            }
        }
        other.check(true);
    }
}
