//! Snapshots are read while the document is written.

use hashmill_doc::{AutoCommit, ObjType, ROOT, ReadDoc, Transactable};

#[test]
fn readers_see_the_document_as_it_was() {
    let mut doc = AutoCommit::new();
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    let mut rng = crate::Rng::new(3);
    std::thread::scope(|scope| {
        for i in 0..60 {
            for _ in 0..20 {
                let len = doc.length(&text);
                doc.splice_text(&text, rng.below(len + 1), rng.below(3) as isize, "word ").unwrap();
            }
            doc.put(ROOT, format!("key {i}"), i).unwrap();
            doc.commit();
            let (snapshot, text) = (doc.document().snapshot(), text.clone());
            let (expected, heads) = (doc.text(&text).unwrap(), doc.document().get_heads());
            scope.spawn(move || {
                for _ in 0..5 {
                    assert_eq!(snapshot.text(&text).unwrap(), expected);
                    assert_eq!(snapshot.length(ROOT), i as usize + 2);
                    assert_eq!(snapshot.get_heads(), heads);
                    std::thread::yield_now();
                }
            });
        }
    });
    doc.document().check(true);
}
