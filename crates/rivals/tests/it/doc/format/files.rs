//! Files of real documents: as short as those of the official crate, and unchanged when saved again.

use hashmill_doc::{Document, LoadOptions, OpenCheck, ROOT, ReadDoc as _, Transactable as _, Verify};
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

#[test]
fn what_is_opened_and_read_later_is_what_is_loaded_at_once() {
    let (documents, mut named) = (documents(), 0);
    for (name, bytes) in &documents {
        let loaded = Document::load(bytes).expect("a sound document");
        for opening in [OpenCheck::Checksums, OpenCheck::Frames] {
            let options = LoadOptions::new().open_check(opening);
            let mut opened = Document::open_with(bytes, options).expect("a sound document");
            assert!(opened.save()[..] == bytes[..] && !opened.is_read(), "{name}");
            // A file of several chunks names none.
            if let Some(heads) = opened.named_heads() {
                assert_eq!(heads, loaded.get_heads(), "{name}");
                named += 1;
            }
            let doc = opened.document().expect("a sound document");
            assert!(
                doc.get_heads() == loaded.get_heads() && doc.hydrate(ROOT) == loaded.hydrate(ROOT),
                "{name}"
            );
        }
        let put_off = LoadOptions::new().verify(Verify::Later);
        let put_off = Document::load_with(bytes, put_off).expect("a sound document");
        assert_eq!((put_off.verify(), put_off.get_heads()), (Ok(()), loaded.get_heads()), "{name}");
    }
    assert!(documents.is_empty() || named > 0, "no file is one document alone");
}
