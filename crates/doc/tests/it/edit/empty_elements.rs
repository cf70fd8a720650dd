//! Elements of a text without visible contents.

use hashmill_doc::{ActorId, Change, Document, ObjType, ROOT, ReadDoc, Transactable};

use crate::support::forge::{At, Draft, Op, put};

/// Empty strings, each inserted after the one before by the same actor; one of them splits what could be taken for one
/// span.
#[test]
fn empty_strings_in_a_text_are_separate_spans() {
    let mut doc = Document::new().with_actor(ActorId::from([1]));
    let text = doc.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text)).unwrap();
    let heads = |doc: &Document| doc.get_heads().iter().map(|hash| hash.0).collect();
    let insert = |doc: &mut Document, actor: u8, (ctr, seq): (u8, u8), behind: At, others: Vec<Vec<u8>>| {
        let obj = if actor == 1 { (0, 1) } else { (1, 1) };
        let value = if actor == 1 { (6, vec![]) } else { (0x26, "é".into()) };
        let op = Op { obj: Some(obj), at: behind, insert: true, value, ..put() };
        let draft =
            Draft { deps: heads(doc), seq: vec![seq], start: vec![ctr], others, ..Draft::new(actor, &op) };
        doc.apply_changes([Change::from_bytes(&draft.bytes()).unwrap()]).unwrap();
        doc.check(true);
    };
    insert(&mut doc, 1, (2, 2), At::Head, vec![]);
    (3..7).for_each(|ctr| insert(&mut doc, 1, (ctr, ctr), At::After((0, u32::from(ctr) - 1)), vec![]));
    insert(&mut doc, 2, (9, 1), At::After((1, 4)), vec![vec![1]]);
    for doc in [Document::load(&doc.save()).unwrap(), doc] {
        doc.check(true);
        assert_eq!((doc.text(&text), doc.length(&text)), (Ok("é".to_owned()), 1));
        assert_eq!(doc.list_range(&text, ..).count(), 6);
    }
}
