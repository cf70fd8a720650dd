//! Readers on snapshots beside a writer: each sees one consistent state, also during loads and merges.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use hashmill_doc::{Document, ObjType, ROOT, ReadDoc as _, Snapshot, Transactable as _};
use hashmill_testkit::Trace;

/// A snapshot with its number of edits and its text.
type TakenSnapshot = (Snapshot, usize, String);

#[test]
fn snapshots_do_not_change_while_the_writer_writes() {
    let trace = Trace::typed(5, 3_000);
    let mut doc = Document::new();
    let mut tx = doc.transaction();
    let text = tx.put_object(ROOT, "text", ObjType::Text).expect("a new key");
    tx.commit();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (senders, readers): (Vec<_>, Vec<_>) = (0..3).map(|_| mpsc::channel::<TakenSnapshot>()).unzip();
        let readers: Vec<_> = readers
            .into_iter()
            .map(|snapshots| {
                let (text, done) = (&text, &done);
                scope.spawn(move || {
                    let mut snapshots_taken: Vec<TakenSnapshot> = Vec::new();
                    let mut reads = 0;
                    loop {
                        let is_done = done.load(Ordering::Acquire);
                        snapshots_taken.extend(snapshots.try_iter());
                        for (snapshot, edits, expected) in &snapshots_taken {
                            assert_eq!(
                                snapshot.text(text).expect("a text"),
                                *expected,
                                "after {edits} edits"
                            );
                            let count = snapshot
                                .get(ROOT, "edits")
                                .expect("the root")
                                .and_then(|(value, _)| value.as_i64());
                            assert_eq!(count, Some(*edits as i64));
                            reads += 1;
                        }
                        if is_done {
                            return reads;
                        }
                    }
                })
            })
            .collect();
        let mut plain: Vec<char> = Vec::new();
        for (index, patch) in trace.patches().enumerate() {
            let mut tx = doc.transaction();
            tx.splice_text(&text, patch.at, patch.delete as isize, &patch.insert).expect("a position");
            tx.put(ROOT, "edits", index as i64).expect("the root");
            tx.commit();
            hashmill_testkit::trace::apply(&mut plain, patch);
            if index % 100 == 0 {
                let taken = (doc.snapshot(), index, plain.iter().collect());
                senders[index / 100 % senders.len()].send(taken).expect("a running reader");
            }
            if index % 500 == 0 {
                // Hashes, saves and forks share pages with the snapshots of readers.
                let mut fork = doc.fork();
                assert_eq!(Document::load(&fork.save()).expect("its own file").get_heads(), doc.get_heads());
            }
        }
        done.store(true, Ordering::Release);
        let reads: Vec<usize> = readers.into_iter().map(|reader| reader.join().expect("a reader")).collect();
        assert!(reads.iter().all(|&reads| reads >= 10), "{reads:?}");
        assert_eq!(doc.text(&text).expect("a text"), trace.end);
    });
}

/// Hashes are computed on first use: several threads may request them concurrently, on documents that share them.
#[test]
fn threads_may_request_the_same_hashes_concurrently() {
    let trace = Trace::typed(6, 500);
    let mut doc = Document::new();
    let mut tx = doc.transaction();
    let text = tx.put_object(ROOT, "text", ObjType::Text).expect("a new key");
    tx.commit();
    for patch in trace.patches() {
        let mut tx = doc.transaction();
        tx.splice_text(&text, patch.at, patch.delete as isize, &patch.insert).expect("a position");
        tx.commit();
    }
    let heads: Vec<_> = thread::scope(|scope| {
        let start_thread = |_| {
            let fork = doc.fork();
            scope.spawn(move || (fork.get_heads(), fork.get_changes(&[]).len()))
        };
        let threads: Vec<_> = (0..4).map(start_thread).collect();
        threads.into_iter().map(|thread| thread.join().expect("heads and changes")).collect()
    });
    assert!(heads.iter().all(|result| *result == heads[0]));
    assert_eq!(heads[0].0, doc.get_heads());
}
