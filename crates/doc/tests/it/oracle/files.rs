//! Files that others wrote, read by both.

use hashmill_doc::{Change, Document};
use hashmill_testkit::doc::{Change as Made, History, MOST, chunks};
use hashmill_testkit::mutate::chunk::{Chunk, split};
use hashmill_testkit::{data, skip};

use super::compare::{agree, agree_now};
use super::first::first;

/// Whether both read a file, and read the same.
fn judge(file: &[u8], name: &str) -> bool {
    let (doc, history) = (Document::load(file), History::load(file, MOST));
    match (doc, history) {
        (Ok(mut doc), Ok(history)) => {
            agree(&mut doc, &history, name);
            true
        }
        (Err(_), Err(_)) => false,
        (Ok(_), Err(why)) => panic!("{name}: only the oracle refuses it: {why}"),
        (Err(why), Ok(_)) => panic!("{name}: only the engine refuses it: {why}"),
    }
}

#[test]
fn samples_are_read_or_refused_by_both() {
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

fn is_read_alike(name: &str) {
    match data::read(&format!("automerge/{name}.amrg")) {
        Ok(file) => {
            let history = History::load(&file, 1 << 20).unwrap_or_else(|why| panic!("{name}: {why}"));
            let doc = Document::load(&file).unwrap_or_else(|why| panic!("{name}: {why}"));
            agree_now(&doc, &history, name);
        }
        Err(why) => skip(name, &why),
    }
}

#[test]
fn a_real_text_is_read_alike() {
    is_read_alike("essay");
}

#[test]
fn a_real_tree_is_read_alike() {
    is_read_alike("godot-modeled");
}

/// Of nine million operations in one change, the oracle would have each several times over, with all its names: ten gigabytes,
/// and more than a minute. So the first of them are judged.
#[test]
fn a_real_document_is_read_alike_as_far_as_the_oracle_goes() {
    const OPERATIONS: u64 = 150_000;
    let file = match data::read("automerge/godot-thread.amrg") {
        Ok(file) => file,
        Err(why) => return skip("the first operations of godot-thread", &why),
    };
    let whole = Document::load(&file).expect("a sound document");
    let (mut doc, mut history) = (Document::new(), History::new());
    for change in whole.get_changes(&[]) {
        let Some(Chunk::Change(change)) = split(&change.raw_bytes()).pop() else { panic!("a change") };
        let change = first(&change, OPERATIONS).expect("sound columns");
        let bytes = change.bytes();
        doc.apply_changes([Change::from_bytes(&bytes).expect("a change")]).expect("the first operations");
        history.deliver(Made::read(&chunks(&bytes).expect("a chunk")[0].body, 1 << 20).expect("a change"));
    }
    assert!(doc.stats().operations >= OPERATIONS);
    agree_now(&doc, &history, "the first operations of godot-thread");
}
