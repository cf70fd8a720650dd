//! Files of other implementations, read by engine and oracle.

use hashmill_doc::{Change, Document};
use hashmill_testkit::doc::{Change as OracleChange, History, MOST, chunks};
use hashmill_testkit::mutate::chunk::{Chunk, split};
use hashmill_testkit::{data, size, skip};

use super::compare::{agree, agree_now};
use super::first::first;

/// Do both read a file, with equal contents?
fn judge(file: &[u8], name: &str) -> bool {
    let (doc, history) = (Document::load(file), History::load(file, MOST));
    match (doc, history) {
        (Ok(mut doc), Ok(history)) => {
            agree(&mut doc, &history, name);
            true
        }
        (Err(_), Err(_)) => false,
        (Ok(_), Err(reason)) => panic!("{name}: only the oracle refuses it: {reason}"),
        (Err(reason), Ok(_)) => panic!("{name}: only the engine refuses it: {reason}"),
    }
}

#[test]
fn samples_are_judged_equally() {
    let samples = data::automerge_samples();
    let good: Vec<&str> =
        samples.iter().filter(|(name, file)| judge(file, name)).map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        good,
        [
            "exemplar",
            "counter_value_is_ok",
            "two_change_chunks",
            "two_change_chunks_compressed",
            "two_change_chunks_out_of_order",
        ]
    );
}

/// Rows of the longest test history, beyond the oracle's limit for hostile files.
const ROWS: usize = 1 << 20;

fn is_read_alike(name: &str) {
    match data::read(&format!("automerge/{name}.amrg")) {
        Ok(file) => {
            let history = History::load(&file, ROWS).unwrap_or_else(|reason| panic!("{name}: {reason}"));
            let doc = Document::load(&file).unwrap_or_else(|reason| panic!("{name}: {reason}"));
            agree_now(&doc, &history, name);
        }
        Err(reason) => skip(name, &reason),
    }
}

/// The oracle takes ten seconds for all of it, so by default only the first changes are compared.
#[test]
fn real_text_is_read_equally() {
    const NAME: &str = "essay";
    if size::is_full() {
        return is_read_alike(NAME);
    }
    let file = match data::read(&format!("automerge/{NAME}.amrg")) {
        Ok(file) => file,
        Err(reason) => return skip(NAME, &reason),
    };
    let whole = Document::load(&file).expect("a sound document");
    let (mut doc, mut history) = (Document::new(), History::new());
    for change in whole.get_changes(&[]).into_iter().take(2000) {
        let chunks = chunks(&change.raw_bytes()).expect("a chunk");
        history.deliver(OracleChange::read(&chunks[0].body, ROWS).expect("a change"));
        doc.apply_changes([change]).expect("the first changes");
    }
    agree_now(&doc, &history, "the first changes of the essay");
}

#[test]
fn real_tree_is_read_equally() {
    is_read_alike("godot-modeled");
}

/// For nine million operations in one change, the oracle would store each several times, with all its names: ten
/// gigabytes, and more than a minute. So only the first ones are compared.
#[test]
fn real_document_is_read_equally_within_the_oracle_limits() {
    const OPERATIONS: u64 = 150_000;
    let file = match data::read("automerge/godot-thread.amrg") {
        Ok(file) => file,
        Err(reason) => return skip("the first operations of godot-thread", &reason),
    };
    let whole = Document::load(&file).expect("a sound document");
    let (mut doc, mut history) = (Document::new(), History::new());
    for change in whole.get_changes(&[]) {
        let Some(Chunk::Change(change)) = split(&change.raw_bytes()).pop() else { panic!("a change") };
        let change = first(&change, OPERATIONS).expect("sound columns");
        let bytes = change.bytes();
        doc.apply_changes([Change::from_bytes(&bytes).expect("a change")]).expect("the first operations");
        history.deliver(
            OracleChange::read(&chunks(&bytes).expect("a chunk")[0].body, 1 << 20).expect("a change"),
        );
    }
    assert!(doc.stats().operations >= OPERATIONS);
    agree_now(&doc, &history, "the first operations of godot-thread");
}
