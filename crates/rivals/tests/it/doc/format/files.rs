//! Files of real documents: as short as those of the official crate, and unchanged when saved again.

use hashmill_doc::{Document, LoadOptions, OpenCheck, ROOT, ReadDoc as _, Transactable as _, Verify};
use hashmill_testkit::skip;

/// The available real documents.
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
fn deflated_files_are_as_short_as_official_ones() {
    for (name, bytes) in documents() {
        let mut doc = Document::load(&bytes).expect("a valid document");
        // Without a change, the save would reuse the loaded columns.
        doc.transact(|tx| tx.put(ROOT, "one more", 1)).expect("the root takes keys");
        let (deflated, plain) = (doc.save(), doc.save_nocompress());
        let official = automerge::Automerge::load(&plain).expect("a file of Hashmill").save();
        assert!(
            deflated.len() * 100 <= official.len() * 101,
            "{name}: {} {}",
            deflated.len(),
            official.len()
        );
    }
}

#[test]
fn unchanged_documents_are_saved_equally() {
    for (name, bytes) in documents() {
        let mut doc = Document::load(&bytes).expect("a valid document");
        let heads = doc.get_heads();
        let (first, plain) = (doc.save(), doc.save_nocompress());
        for file in [first, plain] {
            let reloaded = Document::load(&file).expect("a file of Hashmill");
            assert!(reloaded.get_heads() == heads && reloaded.hydrate(ROOT) == doc.hydrate(ROOT), "{name}");
        }
    }
}

#[test]
fn lazily_opened_documents_equal_loaded_ones() {
    let (documents, mut files_with_heads) = (documents(), 0);
    for (name, bytes) in &documents {
        let loaded = Document::load(bytes).expect("a valid document");
        for open_check in [OpenCheck::Checksums, OpenCheck::Frames] {
            let options = LoadOptions::new().open_check(open_check);
            let mut opened = Document::open_with(bytes, options).expect("a valid document");
            assert!(opened.save()[..] == bytes[..] && !opened.is_read(), "{name}");
            // A file of several chunks has no heads.
            if let Some(heads) = opened.named_heads() {
                assert_eq!(heads, loaded.get_heads(), "{name}");
                files_with_heads += 1;
            }
            let doc = opened.document().expect("a valid document");
            assert!(
                doc.get_heads() == loaded.get_heads() && doc.hydrate(ROOT) == loaded.hydrate(ROOT),
                "{name}"
            );
        }
        let deferred = LoadOptions::new().verify(Verify::Later);
        let deferred = Document::load_with(bytes, deferred).expect("a valid document");
        assert_eq!((deferred.verify(), deferred.get_heads()), (Ok(()), loaded.get_heads()), "{name}");
    }
    assert!(documents.is_empty() || files_with_heads > 0, "no file is one document alone");
}
