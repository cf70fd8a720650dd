//! Very many concurrent writers: the resulting documents can be loaded, merged and edited within limits that are ample
//! for a single writer.

use hashmill_doc::{
    ActorId, Change, Document, Limits, LoadOptions, ROOT, ReadDoc, ScalarValue, Shortcuts, Transactable,
};
use hashmill_testkit::size;

/// Few steps not covered by bytes: a cost that grows with the square of the number of writers exceeds it.
const LIMITS: Limits = Limits { steps: 1 << 12, ..DEFAULT };
const DEFAULT: Limits = Limits {
    inflated_bytes: 1 << 24,
    operations: 1 << 20,
    total: 1 << 20,
    changes: 1 << 20,
    steps: 0,
    parallel_from: u64::MAX,
    shortcuts: Shortcuts::DEFAULT,
};

fn empty() -> Document {
    Document::load_with(&[], LoadOptions::new().limits(LIMITS)).unwrap()
}

fn actor(number: u32) -> ActorId {
    ActorId::from(number.to_be_bytes())
}

/// Two actors who, `turns` times, write a change each and merge.
fn in_turns(turns: i64) -> Document {
    let [mut one, mut other] = [1, 2].map(|who| empty().with_actor(actor(who)));
    for turn in 0..turns {
        one.transact(|tx| tx.put(ROOT, "one", turn)).unwrap();
        other.transact(|tx| tx.put(ROOT, "other", turn)).unwrap();
        let changes = other.get_changes(&one.get_heads());
        other.merge(&one).unwrap();
        one.apply_changes(changes).unwrap();
    }
    one
}

/// One change by each of `people` actors after `base`.
fn apart(base: &Document, people: u32, key: impl Fn(u32) -> String) -> Vec<Change> {
    let one = |number: u32| {
        let mut doc = base.fork().with_actor(actor(1000 + number));
        doc.transact(|tx| tx.put(ROOT, key(number).as_str(), i64::from(number))).unwrap();
        doc.get_last_local_change().expect("a change was made")
    };
    (0..people).map(one).collect()
}

/// The document of all changes, applied on all routes.
fn together(base: &Document, changes: &[Change]) -> Document {
    let mut doc = base.clone();
    doc.apply_changes(changes.iter().cloned()).unwrap();
    assert_eq!(doc.get_heads().len(), changes.len());
    let loaded = Document::load_with(&doc.save(), LoadOptions::new().limits(LIMITS)).unwrap();
    let mut merged = empty();
    merged.merge(&doc).unwrap();
    let mut applied = empty();
    applied.apply_changes(doc.get_changes(&[])).unwrap();
    for other in [&loaded, &merged, &applied] {
        assert_eq!(other.get_heads(), doc.get_heads());
        assert_eq!(other.keys(ROOT).count(), doc.keys(ROOT).count());
    }
    loaded.check(true);
    doc
}

#[test]
fn thousands_of_concurrent_changes_are_merged() {
    let base = in_turns(1500);
    let people = size::of(1000, 4000);
    let mut doc = together(&base, &apart(&base, people, |number| number.to_string()));
    doc.transact(|tx| tx.put(ROOT, "end", true)).unwrap();
    assert_eq!(doc.get_heads().len(), 1);
    let last = doc.get_last_local_change().expect("a change was made");
    assert!(last.deps().len() >= people as usize);
    let mut other = Document::load_with(&doc.save(), LoadOptions::new().limits(LIMITS)).unwrap();
    other.transact(|tx| tx.put(ROOT, "end", false)).unwrap();
    doc.merge(&other).unwrap();
    assert_eq!(doc.get_as(ROOT, "end"), Ok(Some(false)));
}

#[test]
fn one_put_resolves_thousands_of_conflicting_values() {
    let mut base = empty().with_actor(actor(1));
    base.transact(|tx| tx.put(ROOT, "key", ScalarValue::counter(0))).unwrap();
    let mut doc = together(&base, &apart(&base, 2000, |_| "key".into()));
    assert_eq!(doc.get_all(ROOT, "key").unwrap().len(), 2000);
    let before = doc.clone();
    // Comparing each with each would exceed the steps of one call.
    doc.transact(|tx| tx.put(ROOT, "key", "decided")).unwrap();
    let decided = doc.get_last_local_change().expect("a change was made");
    let mut other = before;
    other.apply_changes([decided]).unwrap();
    assert_eq!(other.get_all(ROOT, "key").unwrap().len(), 1);
    assert_eq!(other.get_heads(), doc.get_heads());
    other.check(true);
}

/// A document in which `people` actors concurrently put `keys` keys each.
fn undecided(people: u32, keys: u32) -> Document {
    let base = empty().with_actor(actor(1));
    let mut doc = base.clone();
    for number in 0..people {
        let mut one = base.fork().with_actor(actor(1000 + number));
        one.transact(|tx| (0..keys).try_for_each(|key| tx.put(ROOT, key.to_string(), number % 2 == 0)))
            .unwrap();
        doc.apply_changes([one.get_last_local_change().expect("a change was made")]).unwrap();
    }
    doc
}

/// Accepted contents can be loaded, whatever was refused afterwards.
fn loads(doc: &mut Document) {
    let loaded = Document::load_with(&doc.save(), LoadOptions::new().limits(LIMITS)).unwrap();
    assert_eq!(loaded.get_heads(), doc.get_heads());
    doc.check(true);
}

#[test]
fn concurrent_resolutions_are_accepted_within_the_limits() {
    let base = undecided(100, 1);
    let decisions: Vec<Change> = apart(&base, 100, |_| "0".into());
    let mut doc = base.clone();
    let taken = decisions.iter().take_while(|change| doc.apply_changes([(*change).clone()]).is_ok()).count();
    assert!((10..100).contains(&taken), "{taken}");
    loads(&mut doc);
    let mut whole = base.clone();
    assert!(whole.apply_changes(decisions).is_err());
    loads(&mut whole);
    assert_eq!(whole.get_heads(), base.get_heads());
    // Without encoding in between.
    let mut merged = base.clone();
    let merges = (0..100).take_while(|number| {
        let mut one = base.fork().with_actor(actor(5000 + number));
        one.transact(|tx| tx.put(ROOT, "0", "decided")).unwrap();
        merged.merge(&one).is_ok()
    });
    assert!((10..100).contains(&merges.count()));
    loads(&mut merged);
}

#[test]
fn local_resolution_can_be_loaded() {
    let mut base = undecided(60, 18);
    let mut in_one = base.clone();
    let mut transaction = in_one.transaction();
    let decided =
        (0..18).take_while(|key| transaction.put(ROOT, key.to_string(), ScalarValue::Null).is_ok()).count();
    transaction.commit();
    assert!((5..18).contains(&decided), "{decided}");
    loads(&mut in_one);
    let decided =
        (0..18).take_while(|key| base.transact(|tx| tx.delete(ROOT, key.to_string())).is_ok()).count();
    assert!((5..18).contains(&decided), "{decided}");
    loads(&mut base);
}
