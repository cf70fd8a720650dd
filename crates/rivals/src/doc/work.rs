//! The workloads on recordings of real typing, and of what other replicas told; those with a name and a number alone are
//! `hashmill_workloads`'.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use hashmill_workloads::doc::{Answer, Case, Patch, Shared, Texts, prepared, repeat};

use super::fixtures::{Fixtures, flat, play, transactions};
use super::row::Row;

/// A case, none where the engine has no such thing, or why there is no input.
pub type Made = Result<Option<Case>, String>;

/// Workloads on one text.
pub fn texts<E: Texts>(row: &Row, fixtures: &mut Fixtures) -> Made {
    match row.clone() {
        Row::Replay { trace, commits, settled } => {
            let trace = fixtures.trace(&trace)?;
            let transactions = transactions(&trace, commits);
            Ok(Some(repeat(move || {
                let mut doc: E = play(&transactions);
                if settled {
                    doc.settle();
                }
                doc.text()
            })))
        }
        Row::Load { trace, commits, deferred } => {
            let saved = fixtures.saved::<E>(&trace, commits)?;
            let load = if deferred { E::load_deferred } else { E::load };
            Ok(Some(repeat(move || load(&saved).text())))
        }
        Row::FirstEdit { trace, commits } => {
            let saved = fixtures.saved::<E>(&trace, commits)?;
            let edit = Patch { at: 0, delete: 0, insert: "x".to_owned() };
            let edited = move |doc: &mut E| {
                doc.edit(std::slice::from_ref(&edit));
                1_i64
            };
            Ok(Some(prepared(move || E::load(&saved), edited)))
        }
        Row::Save { trace, commits } => {
            let mut doc = E::load(&fixtures.saved::<E>(&trace, commits)?);
            // Sizes differ by engine and are a row of their own.
            Ok(Some(repeat(move || usize::from(!black_box(doc.save()).is_empty()))))
        }
        _ => Ok(None),
    }
}

/// Workloads between replicas.
pub fn shared<E: Shared>(row: &Row, fixtures: &mut Fixtures) -> Made {
    match row.clone() {
        Row::ApplyOne(edits) => apply_one::<E>(edits, fixtures),
        Row::Merge { trace, at_once } => {
            let session = fixtures.session::<E>(&trace)?;
            Ok(Some(repeat(move || {
                let (base, updates) = &*session;
                let mut doc = E::load(base);
                match at_once {
                    true => doc.hear(updates),
                    false => updates.iter().for_each(|update| doc.hear(std::slice::from_ref(update))),
                }
                // Which of two concurrent insertions comes first differs by engine, their number does not.
                doc.text().chars().count()
            })))
        }
        _ => Ok(None),
    }
}

/// How many changes a receiver hears before it starts again from where it was.
const HEARD: usize = 64;

fn apply_one<E: Shared>(edits: usize, fixtures: &mut Fixtures) -> Made {
    let trace = fixtures.trace("automerge-paper")?;
    let patches = flat(&trace);
    let mut sender = E::blank(1);
    let edits = edits.min(patches.len());
    patches[..edits].iter().for_each(|patch| sender.edit(std::slice::from_ref(patch)));
    let saved = sender.save();
    let length = sender.text().chars().count();
    // Scattered, as other people's edits are.
    let mut updates = Vec::new();
    for update in 0..HEARD {
        let patch = Patch { at: update * 7919 % length, delete: 0, insert: "x".to_owned() };
        updates.push([sender.edit_and_tell(std::slice::from_ref(&patch))]);
    }
    let receiver = Rc::new(RefCell::new((E::load(&saved), 0)));
    let again = receiver.clone();
    let before = move || {
        let (doc, heard) = &mut *again.borrow_mut();
        if *heard == HEARD {
            (*doc, *heard) = (E::load(&saved), 0);
        }
    };
    let calls = move |calls| {
        let (doc, heard) = &mut *receiver.borrow_mut();
        for _ in 0..calls {
            doc.hear(&updates[*heard % HEARD]);
            *heard += 1;
        }
        Answer::from(edits)
    };
    Ok(Some(Case { calls: Box::new(calls), prepare: Some(Box::new(before)) }))
}
