//! Files that others wrote, read by both.

use hashmill_doc::Document;
use hashmill_testkit::doc::{History, MOST};
use hashmill_testkit::{data, skip};

use super::compare::{agree, agree_now};

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

/// One of nine million operations is left out: what takes the engine a second takes the oracle minutes.
#[test]
fn real_documents_are_read_alike() {
    for name in ["essay", "godot-modeled"] {
        match data::read(&format!("automerge/{name}.amrg")) {
            Ok(file) => {
                let history = History::load(&file, 1 << 20).unwrap_or_else(|why| panic!("{name}: {why}"));
                let doc = Document::load(&file).unwrap_or_else(|why| panic!("{name}: {why}"));
                agree_now(&doc, &history, name);
            }
            Err(why) => skip(name, &why),
        }
    }
}
