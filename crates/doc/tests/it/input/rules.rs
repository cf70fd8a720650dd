//! Every rule that is not about bytes, broken in every possible place: in a decoded change, in an applied one, in a
//! document, in a bundle. The error is the same everywhere, and the document is unchanged.

use hashmill_doc::{
    ActorId, ApplyError, Change, DecodeError, Document, EditError, Fault, Limits, LoadError, LoadOptions,
    ObjType, OpFault, ROOT, ReadDoc, Rule, ScalarValue, Transactable,
};

use crate::Rng;
use crate::support::forge::{At, Draft, Id, Op, hex, number, put, tables};

/// The rows of a change, as in a document or bundle of only that change.
fn rows(draft: &Draft, kind: u8) -> Vec<(u64, String)> {
    let digits = |bytes: &[u8]| crate::support::forge::digits(bytes);
    let mut columns: Vec<(u64, String)> =
        draft.columns.iter().map(|(spec, data)| (*spec, digits(data))).collect();
    columns.push((0x21, "7f00".to_owned()));
    if kind == 0 {
        // Without predecessors, which a document does not contain.
        columns.retain(|(spec, _)| !(0x70..0x80).contains(spec));
        columns.extend([(0x23, format!("7f{}", digits(&draft.start))), (0x80, "7f00".to_owned())]);
    } else {
        columns.iter_mut().filter(|(spec, _)| *spec == 0x02).for_each(|(spec, _)| *spec = 0x03);
        columns.push((0xb3, "7f00".to_owned()));
    }
    columns.sort();
    columns
}

/// A document or a bundle of one change with one operation.
fn whole(draft: &Draft, kind: u8) -> Vec<u8> {
    let one = |value: &[u8]| format!("7f{}", crate::support::forge::digits(value));
    let (seq, start) = (one(&draft.seq), one(&draft.start));
    let fixed = |value: &str| value.to_owned();
    let changes = if kind == 0 {
        vec![
            (0x01, fixed("7f00")),
            (0x03, seq),
            (0x13, start),
            (0x23, fixed("7f00")),
            (0x40, fixed("7f00")),
            (0x56, fixed("7f07")),
        ]
    } else {
        vec![
            (0x01, fixed("7f00")),
            (0x03, seq),
            (0x13, start.clone()),
            (0x23, start),
            (0x33, fixed("7f00")),
            (0x50, fixed("7f00")),
            (0x60, fixed("7f00")),
        ]
    };
    tables(kind, &[vec![7]], &changes, &rows(draft, kind))
}

fn rule(bytes: &[u8]) -> Rule {
    match Document::load(bytes) {
        Err(LoadError::Format(error)) => error.rule,
        other => panic!("{:?}", other.map(|doc| doc.get_heads())),
    }
}

/// A row with only an insertion of a character after the head of object 1.
fn typed() -> Op {
    Op { obj: Some((0, 1)), at: At::Head, insert: true, value: (0x16, b"x".to_vec()), ..put() }
}

#[test]
fn malformed_operations_are_refused_in_all_chunk_types() {
    let at = |op: Op| Draft { start: vec![8], ..Draft::new(7, &op) };
    let element = |op: Op| at(Op { obj: Some((0, 1)), at: At::After((0, 2)), ..op });
    let none = || (0, vec![]);
    let over = |op: Op| Op { preds: vec![(0, 2)], ..op };
    let make = |action| Op { action, value: none(), ..put() };
    let delete = || over(make(3));
    let mark = || Op { action: 7, ..typed() };
    let name = |draft: Draft| draft.with(0xa5, "7f016d");
    let expand = |draft: Draft| draft.with(0x94, "0001");
    let mut cases: Vec<(&str, Draft, OpFault)> = vec![
        ("a put that expands", expand(at(put())), OpFault::Expand),
        ("a character that expands", expand(at(typed())), OpFault::Expand),
        ("a deletion that expands", expand(element(delete())), OpFault::Expand),
        ("a deletion of a key that expands", expand(at(delete())), OpFault::Expand),
        ("a map that expands", expand(at(make(0))), OpFault::Expand),
        ("a put with a name", name(at(put())), OpFault::MarkName),
        ("a character with a name", name(at(typed())), OpFault::MarkName),
        ("a deletion with a name", name(element(delete())), OpFault::MarkName),
        ("a deletion with a value", at(over(Op { action: 3, ..put() })), OpFault::Value),
        ("the end of a mark with a value", at(mark()), OpFault::Value),
        ("an insertion at a key", at(Op { insert: true, ..put() }), OpFault::InsertKey),
        ("an update of the head", at(Op { insert: false, ..typed() }), OpFault::Head),
        (
            "an increment by text",
            at(over(Op { action: 5, value: (0x16, vec![b'x']), ..put() })),
            OpFault::Increment,
        ),
        (
            "an increment by a counter",
            at(over(Op { action: 5, value: (0x18, vec![1]), ..put() })),
            OpFault::Increment,
        ),
        (
            "an increment that inserts",
            at(Op { action: 5, value: (0x14, vec![1]), ..typed() }),
            OpFault::Inserts,
        ),
        ("a deletion that inserts", at(Op { action: 3, value: none(), ..typed() }), OpFault::Inserts),
        ("a mark at a key", at(Op { action: 7, value: none(), ..put() }), OpFault::Mark),
        ("a mark on an element", element(Op { action: 7, value: none(), ..put() }), OpFault::Mark),
        ("an object to come", at(Op { obj: Some((0, 8)), ..put() }), OpFault::Later),
        ("an object to come, typed in", at(Op { obj: Some((0, 9)), ..typed() }), OpFault::Later),
        ("an element to come", at(Op { at: At::After((0, 8)), ..typed() }), OpFault::Later),
    ];
    for action in [0, 2, 4, 6] {
        cases.push((
            "an object with a value",
            at(Op { value: (0x14, vec![1]), ..make(action) }),
            OpFault::Value,
        ));
        cases.push(("an inserted object with a value", at(Op { action, ..typed() }), OpFault::Value));
    }
    // A document contains no predecessors.
    let no_document: Vec<(&str, Draft, OpFault)> = vec![
        ("a predecessor to come", at(Op { preds: vec![(0, 8)], ..put() }), OpFault::Later),
        ("a predecessor to come, deleted", element(Op { preds: vec![(0, 8)], ..delete() }), OpFault::Later),
        ("a predecessor twice", at(Op { preds: vec![(0, 2), (0, 2)], ..put() }), OpFault::PredOrder),
    ];
    let descending =
        ("predecessors descending", at(Op { preds: vec![(0, 3), (0, 2)], ..put() }), OpFault::PredOrder);
    for (kinds, cases) in [(&[0, 3][..], cases), (&[3], no_document), (&[], vec![descending])] {
        for (name, draft, expected) in cases {
            let bytes = draft.bytes();
            let Err(DecodeError::Format(error)) = Change::from_bytes(&bytes) else { panic!("{name}") };
            assert_eq!(error.rule, Rule::Operation(expected), "{name}");
            assert_eq!(rule(&bytes), Rule::Operation(expected), "{name}");
            for kind in kinds {
                // A bundle sorts duplicates and unordered predecessors itself.
                assert_eq!(rule(&whole(&draft, *kind)), Rule::Operation(expected), "{name}: {kind}");
            }
        }
    }
}

#[test]
fn unknown_values_have_unknown_type_codes() {
    let mut doc = Document::new();
    let list = doc.transact(|tx| tx.put_object(ROOT, "l", ObjType::List)).unwrap();
    let before = doc.save();
    for type_code in (0..10).chain(16..=255) {
        let value = || ScalarValue::Unknown { type_code, bytes: vec![1].into() };
        let refused = |result: Result<(), EditError>| {
            assert!(matches!(result, Err(EditError::WrongValue { .. })), "{type_code}");
        };
        refused(doc.transact(|tx| tx.put(ROOT, "k", value())));
        refused(doc.transact(|tx| tx.insert(&list, 0, value())));
        refused(doc.transact(|tx| tx.put_literal(ROOT, "k", value()).map(drop)));
        refused(doc.transact(|tx| tx.splice(&list, 0, 0, [value()])));
    }
    assert_eq!(doc.save(), before);
}

/// Actors 1 to 3 of one document: `text` with a character, a list, a map, `k`.
struct Writers {
    base: Document,
    text: hashmill_doc::ObjId,
}

fn writers() -> Writers {
    let mut base = Document::new().with_actor(ActorId::from([1]));
    let text = base
        .transact(|tx| {
            let text = tx.put_object(ROOT, "text", ObjType::Text)?;
            tx.splice_text(&text, 0, 0, "a")?;
            tx.put_object(ROOT, "list", ObjType::List)?;
            tx.put_object(ROOT, "map", ObjType::Map)?;
            tx.put(ROOT, "k", 1)?;
            Ok::<_, EditError>(text)
        })
        .unwrap();
    Writers { base, text }
}

fn by(actor: u8, doc: &Document) -> Document {
    doc.fork().with_actor(ActorId::from([actor]))
}

/// A change by actor 9 after the heads of `doc` with the operation, whose actors are 9, then `other`.
fn after(doc: &Document, other: u8, start: u32, op: &Op) -> Change {
    let deps = doc.get_heads().iter().map(|hash| hash.0).collect();
    let others = vec![vec![other]];
    let draft = Draft { deps, start: number(start.into()), others, ..Draft::new(9, op) };
    Change::from_bytes(&draft.bytes()).unwrap()
}

fn past(change: &Change) -> ApplyError {
    let rule = Fault::Operation { counter: change.start_op(), rule: OpFault::NotAncestor };
    ApplyError::Fault { hash: change.hash(), fault: rule }
}

/// Concurrent operations of another actor, and changes that refer to them without having them as ancestors.
fn blind() -> (Document, Document, Vec<(&'static str, Change)>) {
    let Writers { base, text } = writers();
    let mut other = by(2, &base);
    other
        .transact(|tx| {
            tx.splice_text(&text, 1, 0, "b")?;
            tx.put(ROOT, "k", 2)?;
            let list = tx.put_object(ROOT, "list2", ObjType::List)?;
            tx.insert(&list, 0, 1)?;
            tx.put_object(ROOT, "map2", ObjType::Map)?;
            tx.put_object(ROOT, "text2", ObjType::Text)?;
            tx.put(&text, 0, "A")
        })
        .unwrap();
    // Operations 6 to 12 by actor 2, the only one that is named.
    let named = |ctr: u32| -> Id { (1, ctr) };
    let none = || (0, vec![]);
    let x = || (0x16, b"x".to_vec());
    let change = |op: Op| after(&base, 2, 40, &op);
    let cases = vec![
        ("a key of a map", change(Op { obj: Some(named(10)), ..put() })),
        (
            "a character in a text",
            change(Op { obj: Some(named(11)), at: At::Head, insert: true, value: x(), ..put() }),
        ),
        ("a value in a list", change(Op { obj: Some(named(8)), at: At::Head, insert: true, ..put() })),
        (
            "a deletion in a list",
            change(Op {
                obj: Some(named(8)),
                at: At::After(named(9)),
                action: 3,
                value: none(),
                preds: vec![named(9)],
                ..put()
            }),
        ),
        ("a predecessor at a key", change(Op { preds: vec![named(7)], ..put() })),
        ("a deletion of a key", change(Op { action: 3, value: none(), preds: vec![named(7)], ..put() })),
        ("a map at a key", change(Op { action: 0, value: none(), preds: vec![named(7)], ..put() })),
    ];
    (base, other, cases)
}

#[test]
fn references_to_non_ancestors_are_refused() {
    let (base, other, cases) = blind();
    for (name, change) in cases {
        // With and without the referenced operation in the document, the change is refused, now and later.
        let mut doc = other.clone();
        let before = (doc.get_heads(), doc.save());
        assert_eq!(doc.apply_changes([change.clone()]), Err(past(&change)), "{name}");
        doc.check(true);
        assert_eq!((doc.get_heads(), doc.save()), before, "{name}");
        let mut alone = base.clone();
        assert!(alone.apply_changes([change.clone()]).is_err(), "{name}");
        alone.merge(&other).unwrap();
        assert_eq!(alone.apply_changes([change.clone()]), Err(past(&change)), "{name}");
        let file = [other.clone().save(), change.raw_bytes()].concat();
        assert!(Document::load(&file).is_err(), "{name}");
    }
}

#[test]
fn updates_by_non_ancestors_cannot_be_superseded() {
    let (base, other, _) = blind();
    // Operation 12 by actor 2 replaced the first character, element 2 by actor 1: three actors are named.
    let op = Op { obj: Some((1, 1)), at: At::After((1, 2)), preds: vec![(2, 12)], ..put() };
    let draft = Draft {
        deps: base.get_heads().iter().map(|hash| hash.0).collect(),
        start: vec![40],
        others: vec![vec![1], vec![2]],
        ..Draft::new(9, &op)
    };
    let change = Change::from_bytes(&draft.bytes()).unwrap();
    assert_eq!(other.clone().apply_changes([change.clone()]), Err(past(&change)));
    let descendant = Draft { deps: other.get_heads().iter().map(|hash| hash.0).collect(), ..draft };
    let mut doc = other;
    doc.apply_changes([Change::from_bytes(&descendant.bytes()).unwrap()]).unwrap();
    doc.check(true);
    assert_eq!(Document::load(&doc.save()).unwrap().get_heads(), doc.get_heads());
}

#[test]
fn deletion_cannot_be_superseded() {
    let mut doc = Document::new().with_actor(ActorId::from([7]));
    doc.transact(|tx| tx.put(ROOT, "k", 1)).unwrap();
    doc.transact(|tx| tx.delete(ROOT, "k")).unwrap();
    let op = Op { preds: vec![(0, 2)], ..put() };
    let draft =
        Draft { deps: vec![doc.get_heads()[0].0], seq: vec![3], start: vec![3], ..Draft::new(7, &op) };
    let change = Change::from_bytes(&draft.bytes()).unwrap();
    let fault = Fault::Operation { counter: 3, rule: OpFault::Pred };
    assert_eq!(doc.apply_changes([change.clone()]), Err(ApplyError::Fault { hash: change.hash(), fault }));
}

#[test]
fn own_previous_change_must_be_an_ancestor() {
    let mut doc = Document::new().with_actor(ActorId::from([7]));
    doc.transact(|tx| tx.put(ROOT, "k", 1)).unwrap();
    let first = doc.get_changes(&[]).remove(0);
    let next = Draft { seq: vec![2], start: vec![2], ..Draft::new(7, &put()) };
    let change = Change::from_bytes(&next.bytes()).unwrap();
    let refused = |last| {
        let fault = Fault::Seq { last, found: 2 };
        Err(ApplyError::Fault { hash: change.hash(), fault })
    };
    assert_eq!(
        doc.apply_changes([change.clone()]),
        refused(0),
        "after its actor's first, which it does not name"
    );
    assert_eq!(Document::new().apply_changes([change.clone()]), refused(0), "before it");
    assert_eq!(Document::new().apply_changes([change.clone(), first]), refused(0));
}

/// Two changes by actors 7 and 8 without dependencies: the second overwrites the first, with counters from `start` on.
fn two_changes(named: bool, start: &str) -> Vec<u8> {
    // Two equal differences are a run.
    let counters = if start == "01" { "0201".to_owned() } else { format!("7e01{start}") };
    let own = |value: &str| value.to_owned();
    let changes = [
        (0x01, own("7e0001")),
        (0x03, own("7e0100")),
        (0x13, counters.clone()),
        (0x23, own("0200")),
        (0x40, own(if named { "7e0001" } else { "0200" })),
        (0x43, own(if named { "7f00" } else { "" })),
        (0x56, own("0207")),
    ];
    let ops = [
        (0x15, own("02016b")),
        (0x21, own("7e0001")),
        (0x23, counters),
        (0x34, own("02")),
        (0x42, own("0201")),
        (0x56, own("0214")),
        (0x57, own("0102")),
        (0x80, own("7e0100")),
        (0x81, own("7f01")),
        (0x83, format!("7f{:02x}", 1 + hex(start)[0])),
    ];
    let changes: Vec<(u64, String)> = changes.into_iter().filter(|(_, data)| !data.is_empty()).collect();
    tables(0, &[vec![7], vec![8]], &changes, &ops)
}

#[test]
fn document_chunk_must_contain_valid_changes() {
    // Valid except for its heads, of which it names none.
    assert!(matches!(Document::load(&two_changes(true, "01")), Err(LoadError::Heads { .. })));
    assert_eq!(rule(&two_changes(false, "01")), Rule::Operation(OpFault::NotAncestor));
    assert_eq!(rule(&two_changes(true, "00")), Rule::Operation(OpFault::Later));
    // A change without operations up to counter 5, and one after it that starts at 1.
    let own = |table: &[(u64, &str)]| -> Vec<(u64, String)> {
        table.iter().map(|(spec, data)| (*spec, (*data).to_owned())).collect()
    };
    let changes = own(&[
        (0x01, "7e0001"),
        (0x03, "7e0100"),
        (0x13, "7e057c"),
        (0x23, "0200"),
        (0x40, "7e0001"),
        (0x43, "7f00"),
        (0x56, "0207"),
    ]);
    let ops = own(&[
        (0x15, "7f016b"),
        (0x21, "7f01"),
        (0x23, "7f01"),
        (0x34, "01"),
        (0x42, "7f01"),
        (0x56, "7f14"),
        (0x57, "01"),
        (0x80, "7f00"),
    ]);
    assert_eq!(rule(&tables(0, &[vec![7], vec![8]], &changes, &ops)), Rule::StartOp);
}

/// A document of one change: a list at 1 with elements 2, 3, 4, each inserted after its entry of `origins`.
fn list(order: [u8; 3], origins: [u8; 3]) -> Vec<u8> {
    let own = |value: &str| value.to_owned();
    let changes = [
        (0x01, own("7f00")),
        (0x03, own("7f01")),
        (0x13, own("7f04")),
        (0x23, own("7f00")),
        (0x40, own("7f00")),
        (0x56, own("7f07")),
    ];
    let rle = |values: &[Option<u8>]| -> String {
        let mut out = String::new();
        let mut literals: Vec<u8> = vec![];
        let end = |literals: &mut Vec<u8>, out: &mut String| {
            if !literals.is_empty() {
                *out += &crate::support::forge::digits(&[0x80 - literals.len() as u8]);
                *out += &crate::support::forge::digits(&std::mem::take(literals));
            }
        };
        for group in values.chunk_by(|a, b| a == b) {
            match group[0] {
                Some(value) if group.len() == 1 => literals.push(value),
                value => {
                    end(&mut literals, &mut out);
                    let count = group.len();
                    out += &value.map_or(format!("00{count:02x}"), |value| format!("{count:02x}{value:02x}"));
                }
            }
        }
        end(&mut literals, &mut out);
        out
    };
    let steps = |values: &[u8]| -> Vec<Option<u8>> {
        let mut last = 0;
        values
            .iter()
            .map(|value| Some(value.wrapping_sub(std::mem::replace(&mut last, *value)) & 0x7f))
            .collect()
    };
    let keys: Vec<Option<u8>> = [0].iter().chain(&origins).map(|origin| (*origin > 0).then_some(0)).collect();
    let counters = [vec![None], steps(&origins)].concat();
    let ids = [&[1], &order[..]].concat();
    let ops = [
        (0x01, own("00010300")),
        (0x02, own("00010301")),
        (0x11, rle(&keys)),
        (0x13, rle(&counters)),
        (0x15, own("7f016c0003")),
        (0x21, own("0400")),
        (0x23, rle(&steps(&ids))),
        (0x34, own("0103")),
        (0x42, own("7f020301")),
        (0x56, own("0400")),
        (0x80, own("0400")),
    ];
    tables(0, &[vec![7]], &changes, &ops)
}

#[test]
fn elements_must_be_where_they_were_inserted() {
    let right = |bytes: &[u8]| matches!(Document::load(bytes), Err(LoadError::Heads { .. }));
    assert!(right(&list([2, 3, 4], [0, 2, 3])), "one behind the other");
    assert!(right(&list([2, 4, 3], [0, 2, 2])), "two behind one");
    assert_eq!(rule(&list([2, 3, 4], [0, 2, 2])), Rule::Operation(OpFault::ElementOrder));
    assert_eq!(rule(&list([3, 2, 4], [0, 0, 3])), Rule::Operation(OpFault::ElementOrder));
    assert_eq!(rule(&list([2, 4, 3], [0, 2, 4])), Rule::Operation(OpFault::Later));
}

/// A list, then `count` nulls at its front by one change, as chunks.
fn nulls(count: usize) -> (Document, Vec<u8>) {
    let mut doc = Document::new().with_actor(ActorId::from([7]));
    let list = doc.transact(|tx| tx.put_object(ROOT, "list", ObjType::List)).unwrap();
    doc.transact(|tx| (0..count).try_for_each(|_| tx.insert(&list, 0, ScalarValue::Null))).unwrap();
    let bytes = doc.save_after(&[]);
    (doc, bytes)
}

#[test]
fn decoded_change_is_applied_completely_or_refused() {
    let (doc, bytes) = nulls(600_000);
    let mut other = Document::new();
    other.load_incremental(&bytes).unwrap();
    let list = other.get(ROOT, "list").unwrap().unwrap().1;
    assert_eq!((other.length(&list), other.get_heads()), (600_000, doc.get_heads()));
    // Within limits: completely or not at all.
    let limits = Limits { steps: 1000, ..Limits::default() };
    for count in [100, 300, 500, 999, 1000, 1500, 3000, 3999, 4000, 5000] {
        let (_, bytes) = nulls(count);
        let mut doc = Document::load_with(&[], LoadOptions::new().limits(limits)).unwrap();
        match doc.load_incremental(&bytes) {
            Ok(read) => {
                assert_eq!(read, count + 1);
                doc.check(true);
                assert_eq!(Document::load(&doc.save()).unwrap().get_heads(), doc.get_heads());
            }
            Err(error) => {
                assert!(
                    matches!(error, LoadError::Limit(_) | LoadError::Apply(ApplyError::Limit(_))),
                    "{error}"
                );
                assert!(doc.is_empty(), "{count}");
            }
        }
        let changes: Vec<Change> = Document::load(&bytes).unwrap().get_changes(&[]);
        let mut doc = Document::load_with(&[], LoadOptions::new().limits(limits)).unwrap();
        // They were paid for when they were decoded, but the document must be readable within the limits.
        match doc.apply_changes(changes) {
            Ok(()) => {
                let list = doc.get(ROOT, "list").unwrap().unwrap().1;
                assert_eq!(doc.length(&list), count);
                Document::load_with(&doc.save(), LoadOptions::new().limits(limits)).unwrap();
            }
            Err(error) => {
                assert!(matches!(error, ApplyError::Limit(_)), "{error}");
                assert!(count > 300 && doc.is_empty());
            }
        }
    }
}

/// All permutations.
pub(crate) fn permutations<T: Clone>(things: &[T]) -> Vec<Vec<T>> {
    if things.is_empty() {
        return vec![vec![]];
    }
    let without = |n: usize| [&things[..n], &things[n + 1..]].concat();
    (0..things.len())
        .flat_map(|n| {
            permutations(&without(n)).into_iter().map(move |mut rest| {
                rest.insert(0, things[n].clone());
                rest
            })
        })
        .collect()
}

/// The document after the changes were delivered one by one, regardless of refusals.
fn delivered(changes: &[Change]) -> (Vec<hashmill_doc::ChangeHash>, Vec<u8>) {
    let mut doc = Document::new();
    for change in changes {
        // Refused in one order, refused in all.
        let _ = doc.apply_changes([change.clone()]);
    }
    doc.check(true);
    let mut known = doc.get_changes(&[]).iter().map(Change::hash).collect::<Vec<_>>();
    known.sort_unstable();
    let text: Vec<u8> = doc.hydrate(ROOT).map(|value| format!("{value:?}").into_bytes()).unwrap();
    let again = Document::load(&doc.save()).unwrap();
    assert_eq!(again.get_heads(), doc.get_heads());
    (known, text)
}

#[test]
fn order_of_delivery_does_not_matter() {
    let (base, other, cases) = blind();
    let good = after(&base, 1, 6, &Op { preds: vec![(1, 5)], ..put() });
    for (name, blind) in cases {
        let next = Draft {
            deps: vec![blind.hash().0],
            seq: vec![2],
            start: vec![60],
            ..Draft::new(9, &Op { at: At::Key("z"), ..put() })
        };
        let next = Change::from_bytes(&next.bytes()).unwrap();
        let mut changes = base.get_changes(&[]);
        changes.extend(other.get_changes(&base.get_heads()));
        changes.extend([blind, next]);
        let mut states: Vec<_> = permutations(&changes).iter().map(|order| delivered(order)).collect();
        states.dedup();
        assert_eq!((states.len(), states[0].0.len()), (1, 2), "{name}");
    }
    let mut changes = base.get_changes(&[]);
    changes.extend(other.get_changes(&base.get_heads()));
    changes.push(good);
    let mut states: Vec<_> = permutations(&changes).iter().map(|order| delivered(order)).collect();
    states.dedup();
    assert_eq!((states.len(), states[0].0.len()), (1, 3));
}

#[test]
fn concurrent_changes_are_checked_against_their_ancestors() {
    // Several actors write, and sometimes exchange changes; all of these are accepted in any order of delivery,
    // respecting dependencies or not.
    let mut rng = Rng::new(5);
    let Writers { base, text } = writers();
    let mut docs: Vec<Document> = (2..7).map(|actor| by(actor, &base)).collect();
    for _ in 0..300 {
        let (n, m) = (rng.below(docs.len()), rng.below(docs.len()));
        if rng.below(4) == 0 {
            let from = docs[m].clone();
            docs[n].merge(&from).unwrap();
        }
        let (doc, what) = (&mut docs[n], rng.below(6));
        let length = doc.length(&text);
        let index = rng.below(length + 1);
        doc.transact(|tx| match what {
            0 => tx.put(ROOT, "k", index as i64),
            1 => tx.splice_text(&text, 0, 1.min(length) as isize, ""),
            2 if index < length => tx.put(&text, index, "B"),
            3 => tx.put_object(ROOT, "k", ObjType::Map).and_then(|map| tx.put(&map, "in", 1)),
            _ => tx.splice_text(&text, index, 0, "xy"),
        })
        .unwrap();
    }
    let mut all = base;
    docs.iter().for_each(|doc| drop(all.merge(doc).unwrap()));
    let mut changes = all.get_changes(&[]);
    let state = all.hydrate(ROOT).unwrap();
    for round in 0..20 {
        let mut doc = Document::new();
        if round % 2 == 0 {
            doc.apply_changes(changes.iter().cloned()).unwrap();
        } else {
            changes.iter().for_each(|change| doc.apply_changes([change.clone()]).unwrap());
        }
        doc.check(true);
        assert_eq!((doc.get_heads(), doc.hydrate(ROOT).unwrap()), (all.get_heads(), state.clone()));
        let loaded = Document::load(&doc.save()).unwrap();
        loaded.check(true);
        assert_eq!((loaded.get_heads(), loaded.hydrate(ROOT).unwrap()), (all.get_heads(), state.clone()));
        for n in (1..changes.len()).rev() {
            changes.swap(n, rng.below(n + 1));
        }
    }
}

/// The refused changes of a batch, after checks of the counts of applied and queued ones.
fn refused(applied: &hashmill_doc::Applied) -> Vec<hashmill_doc::ChangeHash> {
    let mut hashes: Vec<_> = applied.refused.iter().map(|(hash, _)| *hash).collect();
    hashes.sort_unstable();
    hashes
}

/// A put by an actor in a change after `deps`.
fn put_after(actor: u8, seq: u8, start: u8, deps: &[&Change], key: &'static str) -> Change {
    let deps = deps.iter().map(|change| change.hash().0).collect();
    let op = Op { at: At::Key(key), ..put() };
    let draft = Draft { deps, seq: vec![seq], start: vec![start], ..Draft::new(actor, &op) };
    Change::from_bytes(&draft.bytes()).unwrap()
}

#[test]
fn invalid_change_blocks_only_its_dependents() {
    let good = [put_after(1, 1, 1, &[], "a"), put_after(2, 1, 1, &[], "b")];
    let next = put_after(1, 2, 2, &[&good[0], &good[1]], "c");
    // An increment without a predecessor.
    let bad =
        Draft { deps: vec![good[0].hash().0], start: vec![5], ..Draft::new(9, &Op { action: 5, ..put() }) };
    let bad = Change::from_bytes(&bad.bytes()).unwrap();
    let behind = put_after(9, 2, 6, &[&bad], "d");
    let further = put_after(3, 1, 7, &[&behind, &next], "e");
    let absent = put_after(4, 1, 1, &[], "f");
    let waits = put_after(5, 1, 2, &[&absent, &good[0]], "g");
    let all = [good[0].clone(), good[1].clone(), next.clone(), bad.clone(), behind.clone(), further.clone()];
    let mut expected = [bad.hash(), behind.hash(), further.hash()];
    expected.sort_unstable();
    for order in permutations(&all) {
        let mut doc = Document::new();
        let applied = doc.apply_valid(order.iter().cloned().chain([waits.clone()]));
        doc.check(true);
        assert_eq!((applied.taken.len(), refused(&applied)), (3, expected.to_vec()));
        assert_eq!(applied.waiting, [waits.hash()]);
        assert_eq!(doc.get_heads(), [next.hash()]);
        for (hash, reason) in &applied.refused {
            match reason {
                ApplyError::Fault { fault, .. } => {
                    assert_eq!(
                        (*hash, fault),
                        (bad.hash(), &Fault::Operation { counter: 5, rule: OpFault::NoPred })
                    );
                }
                ApplyError::Dependency { hash: reported, on } => {
                    assert!(reported == hash && refused(&applied).contains(on));
                }
                reason => panic!("{reason}"),
            }
        }
        // Queued changes are kept, refused ones are not.
        assert_eq!(doc.get_missing_deps(&[]), [absent.hash()]);
        let mut again = Document::load(&doc.save()).unwrap();
        let applied = again.apply_valid([absent.clone()]);
        assert_eq!(applied.taken, [absent.hash(), waits.hash()]);
        assert!(again.get_missing_deps(&[]).is_empty());
        // All or nothing.
        let mut doc = Document::new();
        assert!(doc.apply_changes(order.iter().cloned()).is_err());
        assert!(doc.is_empty() && doc.get_missing_deps(&[]).is_empty());
    }
}

#[test]
fn one_by_one_delivery_applies_the_same_changes() {
    let first = put_after(1, 1, 1, &[], "a");
    let bad =
        Draft { deps: vec![first.hash().0], start: vec![5], ..Draft::new(9, &Op { action: 5, ..put() }) };
    let bad = Change::from_bytes(&bad.bytes()).unwrap();
    let behind = put_after(8, 1, 6, &[&bad], "d");
    let good = put_after(7, 1, 6, &[&first], "e");
    for order in permutations(&[first, bad.clone(), behind, good.clone()]) {
        for whole in [true, false] {
            let mut doc = Document::new();
            for change in &order {
                if whole {
                    // The change of the call is refused, and queued dependents are dropped.
                    let result = doc.apply_changes([change.clone()]);
                    assert!(result.is_ok() || change.hash() == bad.hash());
                } else {
                    doc.apply_valid([change.clone()]);
                }
            }
            doc.check(true);
            assert_eq!(doc.get_changes(&[]).len(), 2);
            assert_eq!(doc.get_heads(), [good.hash()]);
        }
    }
}

#[test]
fn queued_change_does_not_block_others() {
    // Two changes with one sequence number: the one that is ready is applied, whichever came first.
    let absent = put_after(4, 1, 1, &[], "f");
    let (ready, never) = (put_after(5, 1, 1, &[], "r"), put_after(5, 1, 2, &[&absent], "n"));
    for order in permutations(&[ready.clone(), never.clone()]) {
        let mut doc = Document::new();
        let mut all: Vec<_> = order.iter().map(|change| doc.apply_valid([change.clone()])).collect();
        assert_eq!(doc.get_heads(), [ready.hash()]);
        let last = all.pop().unwrap();
        assert!(
            matches!(&last.refused[..], [(hash, ApplyError::DuplicateSeq { .. })] if *hash == never.hash())
        );
        assert!(doc.get_missing_deps(&[]).is_empty(), "it waits no longer");
        let mut doc = Document::new();
        let one_by_one: Vec<_> = order.iter().map(|change| doc.apply_changes([change.clone()])).collect();
        assert_eq!(one_by_one[0], Ok(()));
        assert_eq!(doc.get_heads(), [ready.hash()]);
        let mut doc = Document::new();
        assert!(matches!(doc.apply_changes(order), Err(ApplyError::DuplicateSeq { .. })));
        assert!(doc.is_empty());
    }
}

#[test]
fn failed_batch_restores_the_queue() {
    let (first, second) = (put_after(1, 1, 1, &[], "a"), put_after(2, 1, 1, &[], "b"));
    let waits = put_after(3, 1, 2, &[&first, &second], "c");
    let bad =
        Draft { deps: vec![waits.hash().0], start: vec![5], ..Draft::new(9, &Op { action: 5, ..put() }) };
    let bad = Change::from_bytes(&bad.bytes()).unwrap();
    let mut doc = Document::new();
    doc.apply_changes([waits.clone()]).unwrap();
    let before = (doc.get_missing_deps(&[]), doc.save());
    for order in permutations(&[first.clone(), second.clone(), bad]) {
        assert!(doc.apply_changes(order).is_err());
        assert_eq!((doc.get_missing_deps(&[]), doc.save()), before);
    }
    doc.apply_changes([first, second]).unwrap();
    assert_eq!(doc.get_heads(), [waits.hash()]);
}

#[test]
fn file_with_an_invalid_queued_change_is_refused() {
    let first = put_after(1, 1, 1, &[], "a");
    let bad =
        Draft { deps: vec![first.hash().0], start: vec![5], ..Draft::new(9, &Op { action: 5, ..put() }) };
    let bad = bad.bytes();
    for file in [[first.raw_bytes(), bad.clone()].concat(), [bad, first.raw_bytes()].concat()] {
        assert!(matches!(Document::load(&file), Err(LoadError::Apply(ApplyError::Fault { .. }))));
        assert!(Document::new().load_incremental(&file).is_err());
    }
}

#[test]
fn invalid_changes_cost_no_more_than_their_bytes_pay() {
    // Each of them deletes a character at the end of a long text, after a valid operation.
    let Writers { mut base, text } = writers();
    for n in 0..3000 {
        base.transact(|tx| tx.splice_text(&text, if n % 2 == 0 { 0 } else { n }, 0, "y")).unwrap();
    }
    let before = (base.get_heads(), base.save());
    let start = base.get_changes_meta(&[]).iter().map(|meta| meta.max_op).max().unwrap() as u32 + 1;
    let poison = |actor: u8| {
        let op = Op { obj: Some((1, 1)), at: At::Head, insert: true, value: (0x16, b"x".to_vec()), ..put() };
        let draft = Draft {
            deps: base.get_heads().iter().map(|hash| hash.0).collect(),
            start: number(start.into()),
            others: vec![vec![1]],
            ..Draft::new(actor, &op)
        };
        // A second operation, in a missing object.
        let draft = draft
            .with(0x01, "0201")
            .with(0x02, "7e0104")
            .with(0x13, "0200")
            .with(0x34, "0002")
            .with(0x42, "0201")
            .with(0x56, "0216")
            .with(0x57, "7878")
            .with(0x70, "0200");
        Change::from_bytes(&draft.bytes()).unwrap()
    };
    let good = after(&base, 1, start, &Op { preds: vec![(1, 5)], ..put() });
    let changes: Vec<Change> = (10..250).map(poison).chain([good.clone()]).collect();
    let applied = base.apply_valid(changes);
    assert_eq!((applied.refused.len(), applied.taken), (240, vec![good.hash()]));
    base.check(true);
    assert_ne!((base.get_heads(), base.save()), before);
}
