//! Bundles: encoded, decoded, loaded, compared with the oracle, and refused.

use hashmill_doc::{
    ActorId, AutoCommit, Bundle, BundleError, Change, ChangeHash, CommitOptions, DecodeError, Document,
    ExpandMark, Limits, LoadError, LoadOptions, Mark, ObjType, ROOT, ReadDoc, Rule, ScalarValue,
    Transactable,
};
use hashmill_testkit::doc::{History, MOST};

/// Two actors, a conflict in a map, a list of all types, and a text with marks and a block.
fn document() -> Document {
    let mut doc = Document::new().with_actor(ActorId::from([7]));
    let options = CommitOptions::default().with_message("first").with_time(-5).with_author([1, 2]);
    let ((list, text), _) = doc
        .transact_with(&options, |tx| {
            let list = tx.put_object(ROOT, "list", ObjType::List)?;
            let text = tx.put_object(ROOT, "text", ObjType::Text)?;
            tx.splice(&list, 0, 0, [1, 2, 3])?;
            tx.splice_text(&text, 0, 0, "häßlich")?;
            tx.put(ROOT, "counter", ScalarValue::counter(3))?;
            Ok::<_, hashmill_doc::EditError>((list, text))
        })
        .unwrap();
    let mut other = doc.fork().with_actor(ActorId::from([3, 3]));
    for doc in [&mut doc, &mut other] {
        doc.transact(|tx| {
            tx.put(ROOT, "who", tx.base_heads().len() as i64 + i64::from(tx.length(&text) > 3))?;
            tx.increment(ROOT, "counter", 2)?;
            tx.put(&list, 1, "x")?;
            tx.delete(&list, 0)?;
            tx.splice_text(&text, 1, 2, "aus")?;
            tx.mark(&text, Mark::new("bold", true, 1, 4), ExpandMark::Both)?;
            tx.split_block(&text, 2).and_then(|block| tx.put(&block, "type", "p"))
        })
        .unwrap();
    }
    doc.merge(&other).unwrap();
    doc.empty_commit(&CommitOptions::default().with_message("seen"));
    doc.transact(|tx| tx.delete(ROOT, "who")).unwrap();
    doc
}

fn hashes(changes: &[Change]) -> Vec<ChangeHash> {
    changes.iter().map(Change::hash).collect()
}

#[test]
fn any_changes_of_a_history_form_a_bundle() {
    let doc = document();
    let all = doc.get_changes(&[]);
    for part in 0..1u32 << all.len() {
        let chosen: Vec<Change> =
            all.iter().enumerate().filter(|(n, _)| part >> n & 1 == 1).map(|(_, c)| c.clone()).collect();
        let bundle = doc.bundle(hashes(&chosen)).unwrap();
        assert_eq!(hashes(bundle.changes()), hashes(&chosen));
        assert_eq!(hashes(&bundle.to_changes()), hashes(&chosen));
        let again = Bundle::try_from(bundle.bytes()).unwrap();
        assert_eq!((again.deps(), again.actors()), (bundle.deps(), bundle.actors()));
        assert!(bundle.deps().iter().all(|dep| chosen.iter().any(|c| c.deps().contains(dep))));
        // The other changes are ancestors and complete.
        let mut rest = Document::new();
        rest.apply_changes(all.iter().filter(|c| !hashes(&chosen).contains(&c.hash())).cloned()).unwrap();
        rest.load_incremental(bundle.bytes()).unwrap();
        assert_eq!(rest.get_heads(), doc.get_heads());
        rest.check(true);
        // The oracle rebuilds the same changes.
        let judged = History::load(bundle.bytes(), MOST);
        match Document::load(bundle.bytes()) {
            Ok(loaded) => {
                let heads: Vec<ChangeHash> =
                    judged.unwrap().state().heads.into_iter().map(ChangeHash).collect();
                assert_eq!(heads, loaded.get_heads());
            }
            Err(LoadError::MissingDeps { missing }) => {
                assert!(!missing.is_empty());
                assert_eq!(judged.err().map(|refused| refused.rule), Some("missing dependencies"));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn bundle_is_independent_of_the_order_of_hashes() {
    let doc = document();
    let mut named = hashes(&doc.get_changes(&[]));
    let bundle = doc.bundle(named.clone()).unwrap();
    named.reverse();
    named.push(named[0]);
    assert_eq!(doc.bundle(named).unwrap().bytes(), bundle.bytes());
    let mut doc = AutoCommit::from(doc);
    doc.put(ROOT, "open", 1).unwrap();
    let heads = hashes(&doc.get_changes(&[]));
    let bundle = doc.bundle(heads).unwrap();
    assert_eq!(Document::load(bundle.bytes()).unwrap().get_heads(), doc.get_heads(), "with what was open");
    assert_eq!(doc.bundle([]).unwrap().changes().len(), 0);
}

/// An empty change may start after the last possible counter.
#[test]
fn bundle_with_an_empty_change_after_the_last_counter() {
    let mut doc = Document::new();
    doc.empty_commit(&CommitOptions::default());
    let mut last = doc.get_changes(&[])[0].decode();
    last.start_op = u32::MAX.into();
    let last = Change::try_from(&last).unwrap();
    let mut doc = Document::new();
    doc.apply_changes([last.clone()]).unwrap();
    let bundle = doc.bundle([last.hash()]).unwrap();
    assert_eq!(bundle.changes(), [last]);
    assert_eq!(Document::load(bundle.bytes()).unwrap().get_heads(), doc.get_heads());
    assert!(History::load(bundle.bytes(), MOST).is_ok());
}

#[test]
fn malformed_bundles_are_refused() {
    let mut doc = document();
    let foreign = ChangeHash([9; 32]);
    assert_eq!(doc.bundle([foreign]).unwrap_err(), BundleError::UnknownHash(foreign));
    let all = hashes(&doc.get_changes(&[]));
    let bytes = doc.bundle(all.iter().copied()).unwrap().bytes().to_vec();
    let rule = |bytes: &[u8]| match Bundle::try_from(bytes) {
        Err(DecodeError::Format(error)) => error.rule,
        other => panic!("{other:?}"),
    };
    assert_eq!(rule(&doc.save()), Rule::ChunkType(0));
    assert_eq!(rule(&[bytes.clone(), vec![0]].concat()), Rule::Leftover(1));
    assert_eq!(rule(&bytes[..bytes.len() - 1]), Rule::Truncated);
    let mut damaged = bytes.clone();
    damaged[40] ^= 1;
    assert_eq!(rule(&damaged), Rule::Checksum);
    let few = Limits { total: 3, ..Limits::default() };
    assert!(matches!(Bundle::read(&bytes, &few), Err(DecodeError::Limit(_))));
}

/// A document may cost less to load as a document, where equal rows are one run, than as a bundle: then making the
/// bundle is an error.
#[test]
fn bundle_beyond_the_limits_is_an_error() {
    let mut doc = Document::new();
    doc.transact(|tx| {
        let list = tx.put_object(ROOT, "list", ObjType::List)?;
        tx.splice(&list, 0, 0, (0..3000).map(|_| ()))
    })
    .unwrap();
    let limits = Limits { steps: 1000, ..Limits::default() };
    let doc = Document::load_with(&doc.save(), LoadOptions::new().limits(limits)).unwrap();
    let all = hashes(&doc.get_changes(&[]));
    assert!(matches!(doc.bundle(all), Err(BundleError::Decode(DecodeError::Limit(_)))));
}
