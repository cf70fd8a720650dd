//! Iterators over objects and over whole documents.

use hashmill_doc::{
    ActorId, AutoCommit, DocItem, Document, EditError, ObjId, ObjType, ROOT, ReadDoc, Span, Transactable,
    Value,
};

/// Place, value, and conflict flag of each item.
fn lines(doc: &impl ReadDoc, obj: &ObjId) -> Vec<String> {
    let items = doc.view().iter_from(obj).unwrap();
    let text = |item: &DocItem<'_>| match item {
        DocItem::Map(item) => format!("{}={}{}", item.key, item.value, if item.conflict { "!" } else { "" }),
        DocItem::List(item) => {
            format!("[{}]={}{}", item.index, item.value, if item.conflict { "!" } else { "" })
        }
        DocItem::Text(span) => span.as_str().to_owned(),
    };
    items.map(|item| text(&item.item)).collect()
}

#[test]
fn iteration_is_in_order_of_creation() {
    let mut doc = AutoCommit::new();
    let late = doc.put_object(ROOT, "z", ObjType::List).unwrap();
    let early = doc.put_object(ROOT, "a", ObjType::Map).unwrap();
    doc.put(&early, "x", 1).unwrap();
    let inner = doc.insert_object(&late, 0, ObjType::Map).unwrap();
    doc.insert(&late, 1, "e").unwrap();
    doc.put(&inner, "deep", true).unwrap();
    let text = doc.put_object(&early, "text", ObjType::Text).unwrap();
    doc.splice_text(&text, 0, 0, "one two").unwrap();
    let block = doc.split_block(&text, 3).unwrap();
    doc.put(&block, "type", "p").unwrap();
    doc.put_object(ROOT, "gone", ObjType::Map).unwrap();
    doc.delete(ROOT, "gone").unwrap();
    let all = [
        "a=map",
        "z=list",
        "[0]=map",
        "[1]=\"e\"",
        "text=text",
        "x=1",
        "deep=true",
        "one",
        "\u{fffc}",
        " two",
    ];
    let all: Vec<String> = all.map(str::to_owned).into_iter().chain(["type=\"p\"".to_owned()]).collect();
    assert_eq!(lines(&doc, &ROOT), all);
    assert_eq!(lines(&doc, &early), all[4..6].iter().chain(&all[7..]).cloned().collect::<Vec<_>>());
    assert_eq!(doc.iter().map(|item| item.obj).filter(|obj| *obj == text).count(), 3);
    let there = doc.iter().find(|item| item.key() == Some("text")).unwrap();
    assert_eq!((there.value(), there.id()), (Some(&Value::Object(ObjType::Text)), Some(&text)));
    let block = doc.iter().find_map(|item| match item.item {
        DocItem::Text(Span::Block(entries)) => Some(entries),
        _ => None,
    });
    assert_eq!(block.unwrap().len(), 1);
    // Lazy: unread objects are not visited.
    assert_eq!(doc.iter().next().unwrap().key(), Some("a"));
    let foreign = AutoCommit::new().put_object(ROOT, "m", ObjType::Map).unwrap();
    assert!(matches!(doc.view().iter_from(&foreign), Err(EditError::UnknownObject(_))));
}

#[test]
fn conflict_flags_are_set_now_and_at_heads() {
    let mut doc = Document::new().with_actor(ActorId::from([1]));
    let list = doc
        .transact(|tx| {
            let list = tx.put_object(ROOT, "list", ObjType::List)?;
            tx.splice(&list, 0, 0, [1, 2, 3])?;
            Ok::<_, EditError>(list)
        })
        .unwrap();
    let mut other = doc.fork().with_actor(ActorId::from([2]));
    for (doc, value) in [(&mut doc, 10), (&mut other, 20)] {
        doc.transact(|tx| tx.put(&list, 1, value).and_then(|()| tx.put(ROOT, "k", value))).unwrap();
    }
    doc.merge(&other).unwrap();
    let heads = doc.get_heads();
    assert_eq!(lines(&doc, &ROOT), ["k=20!", "list=list", "[0]=1", "[1]=20!", "[2]=3"]);
    doc.transact(|tx| tx.put(&list, 1, 30).and_then(|()| tx.put(ROOT, "k", 30))).unwrap();
    assert_eq!(lines(&doc, &ROOT), ["k=30", "list=list", "[0]=1", "[1]=30", "[2]=3"]);
    let then = doc.at(&heads).unwrap();
    assert!(then.iter().eq(doc.iter_at(ROOT, &heads).unwrap()));
    let conflicts: Vec<(usize, bool)> =
        then.list_range(&list, 1..).map(|item| (item.index, item.conflict)).collect();
    assert_eq!(conflicts, [(1, true), (2, false)]);
    assert!(then.map_range(ROOT, ..).all(|item| item.conflict == (item.key == "k")));
    assert_eq!(doc.iter_at(ROOT, &[]).unwrap().count(), 0);
}
