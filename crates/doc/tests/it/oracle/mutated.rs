//! Damaged changes and documents with valid checksums and heads.

use std::cell::Cell;

use hashmill_doc::{Change, Document, LoadError};
use hashmill_testkit::doc::forge::Forge;
use hashmill_testkit::doc::{
    Action, Change as OracleChange, Document as Table, History, Id, Key, MOST, chunk, chunks,
};
use hashmill_testkit::{Rng, size};

use super::compare::{agree, agree_now, each, give, saves};

fn body(bytes: &[u8]) -> Vec<u8> {
    chunks(bytes).expect("a chunk").swap_remove(0).body
}

/// Damages a few bytes.
fn damage(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..1 + rng.below(2) {
        let at = rng.below(bytes.len());
        match rng.below(6) {
            0 => bytes[at] = rng.next_u64() as u8,
            1 => bytes[at] = bytes[at].wrapping_add(1),
            2 => bytes[at] = bytes[at].wrapping_sub(1),
            3 if bytes.len() > 1 => drop(bytes.remove(at)),
            4 => bytes.insert(at, [0, 1, 2, 0x7f, 0x7e, 0x80][rng.below(6)]),
            _ => bytes[at] ^= 1 << rng.below(8),
        }
    }
}

#[test]
fn damaged_changes_are_judged_equally() {
    let taken = Cell::new(0);
    each(0..size::of(20, 60), |seed| {
        let (mut forge, mut rng) = (Forge::new(seed, History::new()), Rng::new(seed));
        let changes: Vec<OracleChange> = (0..12).map(|_| forge.change(3, 0)).collect();
        for round in 0..60 {
            let when = format!("round {round}");
            let last = rng.below(changes.len());
            let (mut doc, mut history) = (Document::new(), History::new());
            for change in &changes[..last] {
                history.deliver(change.clone());
                give(&mut doc, change);
            }
            let mut damaged = body(&changes[last].bytes());
            damage(&mut damaged, &mut rng);
            let bytes = chunk(1, &damaged);
            let actual = Change::from_bytes(&bytes);
            match (&actual, OracleChange::read(&damaged, MOST)) {
                (Err(_), Err(_)) => continue,
                (_, Err(reason)) if reason.is_too_large() => continue,
                (Ok(actual), Ok(expected)) => {
                    assert_eq!(actual.hash().0, expected.hash, "{when}");
                    give(&mut doc, &expected);
                    history.deliver(expected);
                }
                (Ok(_), Err(reason)) => panic!("{when}: only the oracle refuses it: {reason}"),
                (Err(reason), Ok(expected)) => {
                    panic!("{when}: only the engine refuses it: {reason}: {expected:?}")
                }
            }
            agree_now(&doc, &history, &when);
            saves(&mut doc, &history, &when);
            taken.set(taken.get() + usize::from(history.refused().is_empty()));
        }
    });
    assert!(taken.get() > 100, "{} of the damaged changes are right", taken.get());
}

/// Do both read a file, with equal contents?
fn judge(file: &[u8], when: &str) -> bool {
    match (Document::load(file), History::load(file, MOST)) {
        (Ok(mut doc), Ok(history)) => {
            agree(&mut doc, &history, when);
            true
        }
        (Err(LoadError::Limit(_)), _) | (Err(_), Err(_)) => false,
        (Ok(_), Err(reason)) if reason.is_too_large() => false,
        (Ok(_), Err(reason)) => panic!("{when}: only the oracle refuses it: {reason}"),
        (Err(reason), Ok(_)) => panic!("{when}: only the engine refuses it: {reason}"),
    }
}

/// Changes a table of a document at one place, within the form of its rows.
fn spoil(table: &mut Table, rng: &mut Rng) {
    let ids: Vec<Id> = table.ops.iter().flat_map(|(op, over)| over.iter().chain([&op.id])).cloned().collect();
    if table.ops.is_empty() {
        return;
    }
    let any = |rng: &mut Rng| ids[rng.below(ids.len())].clone();
    let (at, to) = (rng.below(table.ops.len()), rng.below(table.ops.len()));
    let row = rng.below(table.changes.len());
    match rng.below(18) {
        0 => table.ops.swap(at, to),
        1 if at > 0 => table.ops.swap(at, at - 1),
        2 => drop(table.ops.remove(at)),
        3 => table.ops[at].1.push(any(rng)),
        4 => drop(table.ops[at].1.pop()),
        5 => table.ops[at].1.reverse(),
        6 => table.ops[at].0.obj = Some(any(rng)),
        7 => table.ops[at].0.key = Key::Element(any(rng)),
        8 => table.ops[at].0.key = table.ops[to].0.key.clone(),
        9 => table.ops[at].0.id = any(rng),
        10 => table.ops[at].0.action = Action::ALL[rng.below(8)],
        11 => table.ops[at].0.expand ^= true,
        12 => table.ops[at].0.mark = Some("bold".to_owned()),
        13 => table.changes[row].max_op += rng.below(3) as u64,
        14 => table.changes[row].max_op = table.changes[row].max_op.saturating_sub(1),
        15 => table.changes[row].deps = (0..row as u64).filter(|_| rng.below(2) == 0).collect(),
        16 => table.changes[row].extra = vec![1, 1, 2],
        _ => {
            let ids = [table.ops[at].0.id.clone(), table.ops[to].0.id.clone()];
            table.ops[at].0.id = ids[1].clone();
            table.ops[to].0.id = ids[0].clone();
        }
    }
}

/// Computes the heads of the changes of a table.
fn repair(table: &mut Table) {
    if let Ok(changes) = table.changes() {
        table.heads = Table::from_changes(&changes).heads;
        table.head_rows.clear();
    }
}

#[test]
fn damaged_documents_are_judged_equally() {
    let taken = Cell::new(0);
    each(0..size::of(20, 60), |seed| {
        let (mut forge, mut rng) = (Forge::new(seed, History::new()), Rng::new(seed));
        (0..6).for_each(|_| drop(forge.change(3, 0)));
        let table = Table::from_changes(forge.history.changes());
        assert!(judge(&table.bytes(), "as it was"));
        for round in 0..60 {
            let when = format!("round {round}");
            let mut damaged = table.clone();
            if rng.below(3) > 0 {
                (0..1 + rng.below(2)).for_each(|_| spoil(&mut damaged, &mut rng));
            } else {
                let mut bytes = body(&table.bytes());
                damage(&mut bytes, &mut rng);
                match Table::read(&bytes, MOST) {
                    Ok(read) => damaged = read,
                    Err(_) => drop(judge(&chunk(0, &bytes), &when)),
                }
            }
            repair(&mut damaged);
            taken.set(taken.get() + usize::from(judge(&damaged.bytes(), &when)));
        }
    });
    assert!(taken.get() > 100, "{} of the damaged documents are right", taken.get());
}
