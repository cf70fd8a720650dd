//! Real documents as files: as short as the official crate's, and saved equal.

use hashmill_doc::{Document, ROOT, ReadDoc as _, Transactable as _};
use hashmill_testkit::skip;

/// The real documents that are there.
fn documents() -> Vec<(&'static str, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/automerge");
    // Nine million operations take minutes without optimisation.
    let long = (!cfg!(debug_assertions)).then_some("godot-thread.amrg");
    let names = ["exemplar", "essay.amrg", "godot-modeled.amrg"].into_iter().chain(long);
    let read = |name| match std::fs::read(format!("{folder}/{name}")) {
        Ok(bytes) => Some((name, bytes)),
        Err(error) => {
            skip(&format!("writing {name}"), &error.to_string());
            None
        }
    };
    names.filter_map(read).collect()
}

#[test]
fn deflated_files_are_as_short_as_theirs() {
    for (name, bytes) in documents() {
        let mut ours = Document::load(&bytes).expect("a sound document");
        // What was loaded and not changed since is put together from the columns it came in.
        ours.transact(|tx| tx.put(ROOT, "one more", 1)).expect("the root takes keys");
        let (deflated, plain) = (ours.save(), ours.save_nocompress());
        let theirs = automerge::Automerge::load(&plain).expect("our own file").save();
        assert!(deflated.len() * 100 <= theirs.len() * 101, "{name}: {} {}", deflated.len(), theirs.len());
    }
}

#[test]
fn what_did_not_change_is_saved_equal() {
    for (name, bytes) in documents() {
        let mut ours = Document::load(&bytes).expect("a sound document");
        let heads = ours.get_heads();
        let (first, plain) = (ours.save(), ours.save_nocompress());
        for file in [first, plain] {
            let again = Document::load(&file).expect("our own file");
            assert!(again.get_heads() == heads && again.hydrate(ROOT) == ours.hydrate(ROOT), "{name}");
        }
    }
}
