//! Fragments: they cover a history, and a document can be rebuilt from them.

use hashmill_doc::{
    ActorId, ChangeHash, Document, Fragment, FragmentError, Limits, LoadOptions, ROOT, Transactable as _,
};
use std::collections::HashSet;

/// Two actors who write in turn, and sometimes concurrently.
fn document(changes: i64) -> Document {
    let mut doc = Document::new().with_actor(ActorId::from([1]));
    let mut other = doc.fork().with_actor(ActorId::from([2]));
    for n in 0..changes {
        let writer = if n % 3 == 0 { &mut other } else { &mut doc };
        writer.transact(|tx| tx.put(ROOT, "n", n)).unwrap();
        if n % 50 == 0 {
            doc.merge(&other).unwrap();
            other.merge(&doc).unwrap();
        }
    }
    doc.merge(&other).unwrap();
    doc
}

/// The fragments of a document, as they are sent.
fn pieces(doc: &Document) -> Vec<(ChangeHash, Vec<u8>)> {
    let fragments = doc.fragments(..).unwrap().into_iter();
    fragments.map(|fragment| (fragment.head, doc.fragment_bytes(&fragment).unwrap())).collect()
}

fn zeros(hash: &ChangeHash) -> usize {
    hash.as_bytes().iter().take_while(|byte| **byte == 0).count()
}

#[test]
fn fragments_cover_the_history() {
    let doc = document(2000);
    let all = doc.fragments(..).unwrap();
    let members: HashSet<ChangeHash> = all.iter().flat_map(|fragment| fragment.members.clone()).collect();
    let changes: HashSet<ChangeHash> = doc.get_changes(&[]).iter().map(|change| change.hash()).collect();
    assert_eq!(members, changes);
    for fragment in &all {
        assert_eq!((fragment.level, fragment.members[0]), (zeros(&fragment.head), fragment.head));
        assert!(fragment.members.iter().all(|hash| zeros(hash) <= fragment.level));
        assert!(fragment.level == 0 || fragment.boundary.iter().all(|hash| zeros(hash) >= fragment.level));
        let checkpoints = fragment.members[1..].iter().filter(|hash| zeros(hash) > 0);
        assert!(checkpoints.eq(&fragment.checkpoints));
        assert_eq!(doc.get_fragment(&fragment.head).unwrap().as_ref(), Some(fragment));
    }
    let (single, longer) = (doc.fragments(0..1).unwrap(), doc.fragments(1..).unwrap());
    assert!(longer.len() > 2 && single.len() > 2);
    assert_eq!([longer, single].concat(), all);
    assert_eq!(doc.fragments(0..0).unwrap(), []);
    assert_eq!(doc.get_fragment(&ChangeHash([0; 32])).unwrap(), None);
    assert_eq!(Document::new().fragments(..).unwrap(), []);
}

#[test]
fn document_is_rebuilt_from_fragments() {
    let doc = document(1200);
    let mut again = Document::new();
    again.add_fragments(&pieces(&doc)).unwrap();
    assert_eq!(again.get_heads(), doc.get_heads());
    let nowhere = ChangeHash([9; 32]);
    for members in [vec![nowhere], vec![nowhere; 2]] {
        let fragment = Fragment { head: nowhere, level: 0, boundary: vec![], checkpoints: vec![], members };
        assert!(doc.fragment_bytes(&fragment).unwrap_err().to_string().contains("is not in this document"));
    }
}

#[test]
fn one_bad_fragment_refuses_all() {
    let doc = document(600);
    let all = pieces(&doc);
    let refused = |change: fn(&mut Vec<(ChangeHash, Vec<u8>)>)| {
        let mut bad = all.clone();
        change(&mut bad);
        let mut again = Document::new();
        let error = again.add_fragments(&bad).unwrap_err();
        assert_eq!(again.get_heads(), []);
        error
    };
    let flipped = refused(|all| *all[1].1.last_mut().unwrap() ^= 1);
    assert!(matches!(flipped, FragmentError::Bytes { head, .. } if head == all[1].0), "{flipped}");
    let cut = refused(|all| all[0].1.truncate(20));
    assert!(matches!(cut, FragmentError::Bytes { head, .. } if head == all[0].0), "{cut}");
    assert_eq!(refused(|all| all[1].0 = ChangeHash([9; 32])), FragmentError::Head(ChangeHash([9; 32])));
    assert_eq!(refused(|all| all[0].1.clear()), FragmentError::Head(all[0].0));
    let of_another = refused(|all| all[0].1 = all[1].1.clone());
    assert_eq!(of_another, FragmentError::Head(all[0].0));
    // A document is not a fragment, even if it ends with the head.
    let mut whole = document(2);
    let file = whole.save();
    let head = whole.get_heads()[0];
    assert_eq!(Document::new().add_fragments(&[(head, file)]), Err(FragmentError::Head(head)));
}

#[test]
fn fragments_are_bounded_by_limits() {
    let limits = Limits { steps: 100, ..Limits::default() };
    let doc = Document::load_with(&document(1500).save(), LoadOptions::new().limits(limits)).unwrap();
    let refused = doc.fragments(..).unwrap_err().to_string();
    assert_eq!(refused, "the input exceeds the limit of 100 steps not covered by its bytes");
    assert!(doc.get_fragment(&doc.get_heads()[0]).is_ok(), "a single change is at hand");
}
