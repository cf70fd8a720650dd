//! Documents in a child of a process that works on long documents with several threads: they must work, and not wait
//! for threads of the parent.
//!
//! A test binary of its own, with one test at a time: a child must not inherit locks that other tests hold.
#![forbid(unsafe_code)]

use hashmill_doc::{Change, Document, Limits, LoadOptions, ObjType, ROOT, ReadDoc, Transactable};
use hashmill_testkit::fork::{Child, alone, beside, in_child, in_fresh_process};
use hashmill_testkit::size;

/// Subject in skip messages.
const WHAT: &str = "documents in forked children";

/// Starts rayon's global pool, with several threads even on one processor.
fn warm_global_pool() {
    let _ = rayon::ThreadPoolBuilder::new().num_threads(4).build_global();
    rayon::broadcast(|_| ());
}

fn side_by_side() -> LoadOptions {
    LoadOptions::new().limits(Limits { parallel_from: 0, ..Limits::default() })
}

/// A document whose operations all use several threads: thousands of bytes of values and texts, in many changes.
fn written() -> Document {
    let mut doc = Document::load_with(&[], side_by_side()).expect("an empty one");
    let text = doc.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text)).expect("a text");
    for i in 0..600_usize {
        let edit = |tx: &mut hashmill_doc::Transaction<'_>| {
            let len = tx.length(&text);
            tx.splice_text(&text, i * 7919 % (len + 1), 0, &format!("{i} words that are no others, "))?;
            tx.put(ROOT, format!("key {}", i % 90), format!("{i:x} and a value of {} bytes", i * i).repeat(9))
        };
        doc.transact(edit).expect("an edit");
    }
    doc
}

/// Do all multi-threaded operations of a document return the earlier results?
fn works(doc: &mut Document, file: &[u8]) -> bool {
    let changes: Vec<Vec<u8>> =
        doc.get_changes(&[]).iter().map(|change| change.raw_bytes().to_vec()).collect();
    let limits = Limits { parallel_from: 0, ..Limits::default() };
    let read = Change::from_each(&changes, &limits).expect("changes of our own");
    let mut applied = Document::load_with(&[], side_by_side()).expect("an empty one");
    applied.apply_changes(read).expect("changes of our own");
    let mut loaded = Document::load_with(file, side_by_side()).expect("a file of our own");
    let same =
        |other: &Document| other.hydrate(ROOT) == doc.hydrate(ROOT) && other.get_heads() == doc.get_heads();
    let (same, nothing_new) = (same(&applied) && same(&loaded), loaded.load_incremental(file) == Ok(0));
    same && nothing_new && loaded.save() == file && doc.save() == file
}

#[test]
fn documents_work_in_a_forked_child() {
    let Some(_alone) = alone(WHAT) else { return };
    warm_global_pool();
    let mut doc = written();
    let file = doc.save();
    assert!(works(&mut doc, &file), "warm");
    assert_eq!(in_child(|| works(&mut doc, &file)), Child::Agreed);
    let grandchild = || in_child(|| works(&mut doc, &file)) == Child::Agreed && works(&mut doc, &file);
    assert_eq!(in_child(grandchild), Child::Agreed);
    let in_own_pool = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
        pool.install(|| works(&mut doc, &file))
    };
    assert_eq!(in_child(in_own_pool), Child::Agreed, "in a pool of the child's");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
    let on_a_thread_of_a_pool = pool.install(|| {
        let fresh = in_child(|| works(&mut doc, &file));
        (fresh, works(&mut doc, &file), in_child(|| works(&mut doc, &file)))
    });
    assert_eq!(on_a_thread_of_a_pool, (Child::Agreed, true, Child::Agreed));
}

/// No document was processed by several threads before the fork, so the library could not notice that other code uses
/// the global pool.
#[test]
fn warm_global_pool_of_the_parent_does_not_block_a_child() {
    let Some(_alone) = alone(WHAT) else { return };
    in_fresh_process("warm_global_pool_of_the_parent_does_not_block_a_child", others_warmed_it);
}

fn others_warmed_it() {
    warm_global_pool();
    let child = || {
        in_child(|| {
            let mut doc = written();
            let file = doc.save();
            works(&mut doc, &file)
        })
    };
    assert_eq!(child(), Child::Agreed, "the pool of all");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
    assert_eq!(pool.install(child), Child::Agreed, "on a thread of another pool");
}

/// Other threads are processing documents of their own when the process forks.
#[test]
fn children_of_a_busy_parent_do_not_block() {
    let Some(_alone) = alone(WHAT) else { return };
    warm_global_pool();
    let mut doc = written();
    let file = doc.save();
    let work = || {
        let mut own = Document::load_with(&file, side_by_side()).expect("a file of our own");
        let file = &file;
        move || assert!(works(&mut own, file))
    };
    let times = size::of(10, 30);
    let forks =
        || (0..times).map(|_| in_child(|| works(&mut doc, &file))).find(|child| *child != Child::Agreed);
    let other_end = beside(work, forks);
    assert_eq!(other_end, None, "all agree");
}
