//! Lazily loaded files: their results equal those of an immediate load.

use std::path::Path;

use hashmill_doc::{
    ActorId, ChangeHash, Document, EditError, LazyDocument, Limits, LoadError, LoadOptions, ObjType,
    OnPartialLoad, OpenCheck, ROOT, ReadDoc, Rule, StringMigration, Transactable, Verify,
};

use crate::Rng;
use crate::support::forge::chunk;

const EXEMPLAR: &[u8] = include_bytes!("../../data/automerge/exemplar");

/// Results of all reads of a document, in a comparable form.
fn reads(doc: &Document) -> (Vec<ChangeHash>, Vec<ChangeHash>, Vec<u8>, String) {
    let mut copy = doc.clone();
    doc.check(true);
    let changes = doc.get_changes(&[]).iter().map(|change| change.hash()).collect();
    (
        doc.get_heads(),
        changes,
        copy.save(),
        format!("{:?} {:?}", doc.hydrate(ROOT), doc.get_missing_deps(&[])),
    )
}

fn is_checksum(error: &LoadError) -> bool {
    matches!(error, LoadError::Format(error) if error.rule == Rule::Checksum)
}

/// Compares both ways of loading a file, with every method; returns whether opening was refused.
fn same(bytes: &[u8], options: &LoadOptions) -> bool {
    let loaded = Document::load_with(bytes, options.clone());
    let open = || Document::open_with(bytes, options.clone());
    let mut opened = match open() {
        Ok(opened) => opened,
        Err(error) => {
            assert_eq!(loaded.err(), Some(error), "an error that loading does not give");
            return true;
        }
    };
    let is_file = opened.file().is_some();
    if is_file {
        assert!(!opened.is_read());
        assert_eq!(*opened.save(), *bytes);
        assert!(!opened.is_read(), "saving reads nothing");
    }
    match loaded {
        Ok(loaded) => {
            let loaded = reads(&loaded);
            // If only a part is loaded, the heads differ from those named.
            if let Some(named) = opened.named_heads().filter(|_| Document::load(bytes).is_ok()) {
                assert_eq!(named, loaded.0);
            }
            assert_eq!(reads(opened.document().unwrap()), loaded);
            assert!(opened.is_read());
            if is_file {
                assert_eq!(*opened.save(), *bytes, "reading changes nothing");
            }
            assert_eq!(reads(&open().unwrap().into_document().unwrap()), loaded);
            assert_eq!(reads(open().unwrap().document_mut().unwrap()), loaded);
            let doc = opened.document_mut().unwrap();
            assert_eq!(reads(doc), loaded);
            doc.set_actor(ActorId::from([77; 16])).transact(|tx| tx.put(ROOT, "more", 1)).unwrap();
            let heads = doc.get_heads();
            assert_eq!((opened.file(), opened.named_heads()), (None, None));
            assert_eq!(Document::load(&opened.save()).unwrap().get_heads(), heads);
        }
        Err(error) => {
            for _ in 0..2 {
                assert_eq!(opened.document().err().as_ref(), Some(&error));
                assert_eq!(opened.document_mut().err().as_ref(), Some(&error));
            }
            assert_eq!(opened.file(), Some(bytes), "nothing is lost");
            assert_eq!(*opened.save(), *bytes);
            assert_eq!(open().unwrap().document_mut().err().as_ref(), Some(&error));
            assert_eq!(open().unwrap().into_document().err(), Some(error));
        }
    }
    false
}

/// As [`same`], with both checks at open; returns whether the checksums were refused.
fn same_both_ways(bytes: &[u8]) -> bool {
    let checked = same(bytes, &LoadOptions::new());
    let framed = same(bytes, &LoadOptions::new().open_check(OpenCheck::Frames));
    assert!(checked || !framed, "what ends in the middle has no checksum either");
    same(bytes, &LoadOptions::new().on_partial_load(OnPartialLoad::Ignore));
    checked
}

fn files_below(folder: &Path, out: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, out);
        } else {
            out.push(std::fs::read(path).unwrap());
        }
    }
}

#[test]
fn lazy_open_of_samples_equals_load() {
    let mut files = vec![Vec::new()];
    files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/automerge"), &mut files);
    assert!(files.len() > 15, "the samples are there");
    for bytes in &files {
        same_both_ways(bytes);
        same_both_ways(&[EXEMPLAR, bytes].concat());
        same_both_ways(&[bytes, EXEMPLAR].concat());
    }
}

/// A document by several actors, with texts, lists, keys and conflicts.
fn random(seed: u64) -> Document {
    let mut rng = Rng::new(seed);
    let mut doc = Document::new().with_actor(ActorId::from([1; 16]));
    let (text, list) = doc
        .transact(|tx| {
            let text = tx.put_object(ROOT, "text", ObjType::Text)?;
            Ok::<_, EditError>((text, tx.put_object(ROOT, "list", ObjType::List)?))
        })
        .unwrap();
    let mut forks: Vec<Document> =
        (2..4).map(|who| doc.fork().with_actor(ActorId::from([who; 16]))).collect();
    for round in 0..rng.below(60) {
        let who = rng.below(2);
        forks[who]
            .transact(|tx| match rng.below(4) {
                0 => tx.insert(&list, rng.below(tx.length(&list) + 1), round as i64),
                1 => tx.put(ROOT, format!("key {}", rng.below(7)), "a value"),
                _ => {
                    let length = tx.length(&text);
                    let at = rng.below(length + 1);
                    tx.splice_text(&text, at, rng.below(3).min(length - at) as isize, "some words")
                }
            })
            .unwrap();
        if rng.below(9) == 0 {
            let other = forks[1 - who].fork();
            forks[who].merge(&other).unwrap();
        }
    }
    forks.iter().for_each(|fork| drop(doc.merge(fork).unwrap()));
    doc
}

#[test]
fn lazy_open_of_random_and_damaged_files_equals_load() {
    let (mut refused, mut later) = (0, 0);
    for seed in 1..60 {
        let (mut doc, mut rng) = (random(seed), Rng::new(seed + 1000));
        let heads = doc.get_heads();
        let mut bytes = if seed % 2 == 0 { doc.save() } else { doc.save_nocompress() };
        for more in 0..rng.below(4) {
            doc.transact(|tx| {
                tx.put(ROOT, format!("later {more}"), "a value that is long enough ".repeat(20))
            })
            .unwrap();
        }
        // Changes after a document: plain, deflated, in a bundle.
        for change in doc.get_changes(&heads) {
            match rng.below(3) {
                0 => bytes.extend(change.raw_bytes()),
                1 => bytes.extend(change.bytes()),
                _ => bytes.extend(doc.bundle([change.hash()]).unwrap().bytes()),
            }
        }
        assert!(!same_both_ways(&bytes));
        for _ in 0..12 {
            let mut bad = bytes.clone();
            match rng.below(3) {
                0 => bad.truncate(rng.below(bad.len())),
                1 => bad.extend([&[0x85, 0x6f, 0x4a][..], &[7; 20][..rng.below(20)]].concat()),
                _ => {
                    let at = rng.below(bad.len());
                    bad[at] ^= 1 << rng.below(8);
                }
            }
            refused += usize::from(same_both_ways(&bad));
            // With checksums that fit the changed contents.
            let (body, at) = (rng.below(bytes.len() - 10) + 10, rng.below(3));
            let mut bad = bytes[10..body].to_vec();
            if let Some(byte) = bad.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
            later += usize::from(!same_both_ways(&chunk(rng.below(4) as u8, &bad)));
        }
    }
    assert!(refused > 300 && later > 300, "{refused} {later}");
}

#[test]
fn flipped_bit_is_refused_at_open_or_first_access() {
    for at in 0..EXEMPLAR.len() {
        let mut bad = EXEMPLAR.to_vec();
        bad[at] ^= 4;
        let error = Document::load(&bad).unwrap_err();
        assert_eq!(Document::open(&bad).unwrap_err(), error, "byte {at}");
        let framed = Document::open_with(&bad, LoadOptions::new().open_check(OpenCheck::Frames));
        match framed {
            Ok(opened) => assert_eq!(opened.document().unwrap_err(), error, "byte {at}"),
            Err(refused) => assert!(refused == error && !(12..).contains(&at), "byte {at}: {refused}"),
        }
    }
}

#[test]
fn lazy_open_defers_only_decoding() {
    // A chunk with a valid checksum whose columns break a rule: it opens, and is refused on first access.
    let bad = include_bytes!("../../data/automerge/crashers/missing_actor.automerge");
    let opened = Document::open(&bad[..]).unwrap();
    let error = opened.document().unwrap_err();
    assert!(!is_checksum(&error), "{error}");
    assert_eq!(Document::load(bad).unwrap_err(), error);
    // Limits are reported on first access, too.
    let limits = LoadOptions::new().limits(Limits { total: 3, ..Limits::default() });
    let opened = Document::open_with(EXEMPLAR, limits.clone()).unwrap();
    assert_eq!(opened.document().unwrap_err(), Document::load_with(EXEMPLAR, limits).unwrap_err());
    // A migration writes, so the file is decoded at once.
    let migrating = LoadOptions::new().migrate_strings(StringMigration::ConvertToText);
    let opened = Document::open_with(EXEMPLAR, migrating).unwrap();
    assert!(opened.is_read() && opened.file().is_none());
    // A truncated file with permission for losses: a save contains what was read.
    let cut = [EXEMPLAR, &EXEMPLAR[..20]].concat();
    let ignoring = LoadOptions::new().on_partial_load(OnPartialLoad::Ignore);
    let mut opened = Document::open_with(cut, ignoring).unwrap();
    assert_eq!(*opened.save(), *EXEMPLAR);
}

#[test]
fn threads_may_race_for_the_first_access() {
    let opened = Document::open(random(5).save()).unwrap();
    let expected = opened.named_heads().unwrap();
    let docs: Vec<usize> = std::thread::scope(|scope| {
        let ask = || {
            let doc = opened.document().unwrap();
            assert_eq!(doc.get_heads(), expected);
            std::ptr::from_ref(doc).addr()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(docs.windows(2).all(|pair| pair[0] == pair[1]));
}

/// A file with wrong heads and a valid checksum.
fn with_other_heads(doc: &mut Document) -> Vec<u8> {
    let (head, mut bytes) = (doc.get_heads()[0], doc.save());
    let at = bytes.windows(32).position(|window| window == head.0).unwrap();
    bytes[at + 31] ^= 1;
    // The length in the header takes two bytes.
    assert!((128..1 << 14).contains(&bytes.len()));
    chunk(0, &bytes[11..])
}

fn later() -> LoadOptions {
    LoadOptions::new().verify(Verify::Later)
}

#[test]
fn deferred_verification_runs_on_request() {
    for seed in 1..20 {
        let mut doc = random(seed);
        doc.transact(|tx| tx.put(ROOT, "end", 1)).unwrap();
        let bad = with_other_heads(&mut doc);
        let error = Document::load(&bad).unwrap_err();
        assert!(matches!(error, LoadError::Heads { .. }));
        let mut put_off = Document::load_with(&bad, later()).unwrap();
        let fork = put_off.fork();
        for _ in 0..2 {
            assert_eq!(put_off.verify(), Err(error.clone()));
            assert_eq!(put_off.snapshot().verify(), Err(error.clone()));
        }
        // Later changes are not part of the named heads.
        put_off.transact(|tx| tx.put(ROOT, "since", 1)).unwrap();
        assert_eq!(put_off.verify(), Err(error.clone()));
        assert_eq!(fork.verify(), Err(error.clone()));
        let opened = Document::open_with(&bad, later()).unwrap();
        assert_eq!(opened.document().unwrap().verify(), Err(error.clone()));
        // After other chunks its changes are identified by hash, so they are compared at once.
        assert!(Document::load_with(&[&doc.save(), &bad[..]].concat(), later()).is_err());

        let good = doc.save();
        let mut put_off = Document::load_with(&good, later()).unwrap();
        let beside = put_off.fork();
        std::thread::scope(|scope| {
            let verified = scope.spawn(|| beside.verify());
            put_off.transact(|tx| tx.put(ROOT, "since", 1)).unwrap();
            assert_eq!(verified.join().unwrap(), Ok(()));
        });
        let loaded = Document::load(&good).unwrap();
        assert_eq!((beside.verify(), loaded.verify(), Document::new().verify()), (Ok(()), Ok(()), Ok(())));
        assert_eq!(reads(&beside), reads(&loaded));
        assert_eq!(put_off.verify(), Ok(()));
        put_off.check(true);
        // Earlier heads are not those named in the file.
        let first = loaded.get_changes(&[])[0].hash();
        let unverified = Document::load_with(&bad, later()).unwrap();
        assert_eq!(unverified.fork_at(&[first]).unwrap().verify(), Ok(()));
    }
}

#[test]
fn open_accepts_any_byte_container() {
    fn heads<B: AsRef<[u8]>>(bytes: B) -> Vec<ChangeHash> {
        let opened: LazyDocument<B> = Document::open(bytes).unwrap();
        let shown = format!("{opened:?}");
        assert!(shown.len() < 100 && shown.contains(&EXEMPLAR.len().to_string()), "{shown}");
        opened.named_heads().unwrap()
    }
    assert_eq!(heads(EXEMPLAR), heads(Vec::from(EXEMPLAR)));
    assert_eq!(heads(std::sync::Arc::<[u8]>::from(EXEMPLAR)), Document::load(EXEMPLAR).unwrap().get_heads());
}
