//! Refused or rolled-back operations leave nothing behind: no actors, no bytes, and no budget that such bytes would
//! have paid for.

use hashmill_doc::legacy::{Op, OpId, OpType};
use hashmill_doc::{
    ActorId, ApplyError, Change, Document, EditError, Limits, LoadOptions, ObjId, ObjType, ROOT, ScalarValue,
    Shortcuts, Transactable,
};

/// Limits with little room for bytes of values, and few steps beyond those paid for by bytes.
const LIMITS: Limits = Limits {
    inflated_bytes: 1 << 20,
    operations: 1 << 16,
    total: 1 << 17,
    changes: 1 << 12,
    steps: 3000,
    parallel_from: u64::MAX,
    shortcuts: Shortcuts::DEFAULT,
};

/// A document with a list, and the list.
fn base() -> (Document, ObjId) {
    let mut doc = Document::load_with(&[], LoadOptions::new().limits(LIMITS)).unwrap();
    doc.set_actor(ActorId::from([1]));
    let list = doc.transact(|tx| tx.put_object(ROOT, "list", ObjType::List)).unwrap();
    (doc, list)
}

/// A change of `len` bytes by an actor with a long id. Its last operation, by another actor, supersedes a missing
/// value.
fn wrong(doc: &Document, actor: u8, len: usize) -> Change {
    let mut fork = doc.fork().with_actor(ActorId::from([actor; 40]));
    fork.transact(|tx| {
        let map = tx.put_object(ROOT, format!("map of {actor}"), ObjType::Map)?;
        tx.put(&map, "text", "x".repeat(len))
    })
    .unwrap();
    let mut change = fork.get_last_local_change().unwrap().decode();
    let last = change.operations.last().unwrap();
    let unknown_op = OpId::new(2, &ActorId::from([actor; 50]));
    let action = OpType::Put(ScalarValue::Null);
    let last = Op { pred: vec![unknown_op], action, ..last.clone() };
    change.operations.push(last);
    Change::try_from(&change).unwrap()
}

/// Inserts nulls at the front of a list until one is refused; returns their number.
fn nulls(doc: &mut Document, list: &ObjId) -> usize {
    for number in 0.. {
        match doc.transact(|tx| tx.insert(list, 0, ScalarValue::Null)) {
            Ok(()) => {}
            Err(EditError::Limit(_)) => return number,
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("there are limits")
}

/// Performs an action without effect, and checks that the document accepts neither less nor more afterwards.
fn leaves_nothing(about: &str, nothing: impl Fn(&mut Document, u8)) {
    let (mut doc, list) = base();
    let mut other = doc.clone();
    let (before, file) = (doc.stats(), doc.save());
    for round in 2..100 {
        nothing(&mut doc, round);
        assert_eq!(doc.stats(), before, "{about}");
    }
    doc.check(true);
    assert_eq!(doc.save(), file, "{about}");
    // The maximum number of nulls, not increased by removed bytes.
    assert_eq!(nulls(&mut doc, &list), nulls(&mut other, &list), "{about}");
    let again = Document::load_with(&doc.save(), LoadOptions::new().limits(LIMITS)).unwrap();
    assert_eq!(again.get_heads(), doc.get_heads());
    // And the maximum number of bytes.
    let long = |tx: &mut hashmill_doc::Transaction<'_>| tx.put(ROOT, "long", "x".repeat(900_000));
    doc.transact(long).unwrap_or_else(|error| panic!("{about}: {error}"));
    doc.check(true);
}

#[test]
fn invalid_change_leaves_nothing() {
    leaves_nothing("alone", |doc, round| {
        let change = wrong(doc, round, 30_000);
        assert!(matches!(doc.apply_changes([change]), Err(ApplyError::Fault { .. })));
    });
    leaves_nothing("each for itself", |doc, round| {
        let applied = doc.apply_valid([wrong(doc, round, 30_000), wrong(doc, round + 100, 10)]);
        assert_eq!((applied.taken.len(), applied.refused.len()), (0, 2));
    });
    leaves_nothing("as a chunk", |doc, round| {
        assert!(doc.load_incremental(&wrong(doc, round, 30_000).raw_bytes()).is_err());
    });
}

/// A change with a value, by an actor with a long id.
fn right(doc: &Document, actor: u8, len: usize) -> Change {
    let mut fork = doc.fork().with_actor(ActorId::from([actor; 60]));
    fork.transact(|tx| tx.put(ROOT, "right", "y".repeat(len))).unwrap();
    fork.get_last_local_change().unwrap()
}

#[test]
fn change_out_of_sequence_leaves_nothing() {
    leaves_nothing("a sequence number too far on", |doc, round| {
        let mut change = right(doc, round, 10).decode();
        change.seq = 3;
        let change = Change::try_from(&change).unwrap();
        assert!(matches!(doc.apply_changes([change]), Err(ApplyError::Fault { .. })));
    });
    leaves_nothing("a counter that is taken", |doc, round| {
        let mut change = right(doc, round, 10).decode();
        change.start_op = 1;
        let change = Change::try_from(&change).unwrap();
        assert!(matches!(doc.apply_changes([change]), Err(ApplyError::Fault { .. })));
    });
}

/// A valid change of a refused batch is rolled back, too.
#[test]
fn batch_with_one_invalid_change_leaves_nothing() {
    leaves_nothing("a batch", |doc, round| {
        let batch = [right(doc, round, 20_000), wrong(doc, round, 20_000)];
        assert!(matches!(doc.apply_changes(batch), Err(ApplyError::Fault { .. })));
    });
}

#[test]
fn change_beyond_a_limit_leaves_nothing() {
    let much = |actor: u8| {
        let mut other = Document::new().with_actor(ActorId::from([actor; 60]));
        other.transact(|tx| tx.put(ROOT, "long", "z".repeat(1 << 20))).unwrap();
        other
    };
    leaves_nothing("a change", |doc, round| {
        let refused = doc.apply_changes(much(round).get_changes(&[]));
        assert!(matches!(refused, Err(ApplyError::Limit(_))));
    });
    leaves_nothing("a merge", |doc, round| {
        assert!(matches!(doc.merge(&much(round)), Err(ApplyError::Limit(_))));
    });
}

#[test]
fn rollback_leaves_nothing() {
    leaves_nothing("a transaction", |doc, _| {
        let mut tx = doc.transaction();
        tx.put(ROOT, "text", "x".repeat(30_000)).unwrap();
        tx.put_object(ROOT, "map", ObjType::Map).unwrap();
        tx.rollback();
    });
    leaves_nothing("a transaction that is dropped", |doc, _| {
        let failed = doc.transact(|tx| {
            tx.put(ROOT, "text", "x".repeat(30_000))?;
            tx.delete(ROOT, 0)
        });
        assert!(failed.is_err());
    });
}
