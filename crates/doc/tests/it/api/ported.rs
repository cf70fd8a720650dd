//! Example programs of the official crate, ported as documented in docs/documents.md.

use hashmill_doc::{
    AutoCommit, CommitOptions, Document, EditError, ObjId, ObjType, ROOT, ReadDoc, ScalarValue, Transactable,
    Value,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Its quick start: a list of cards on two devices, with messages.
#[test]
fn port_of_the_card_example() -> Outcome {
    let mut doc1 = Document::new();
    let message = |text: &str| CommitOptions::default().with_message(text);
    let ((cards, card1), _) = doc1.transact_with(&message("Add card"), |tx| {
        let cards = tx.put_object(ROOT, "cards", ObjType::List)?;
        let card1 = tx.insert_object(&cards, 0, ObjType::Map)?;
        tx.put(&card1, "title", "Rewrite everything in Clojure")?;
        tx.put(&card1, "done", false)?;
        let card2 = tx.insert_object(&cards, 0, ObjType::Map)?;
        tx.put(&card2, "title", "Rewrite everything in Haskell")?;
        tx.put(&card2, "done", false)?;
        Ok::<_, EditError>((cards, card1))
    })?;
    let mut doc2 = Document::new();
    doc2.merge(&doc1)?;
    let mut doc2 = Document::load(&doc2.save())?;
    doc1.transact_with(&message("Mark card as done"), |tx| tx.put(&card1, "done", true))?;
    doc2.transact_with(&message("Delete card"), |tx| tx.delete(&cards, 0))?;
    doc1.merge(&doc2)?;
    let mut commits = vec![];
    for change in doc1.get_changes(&[]) {
        let length = doc1.length_at(&cards, &[change.hash()])?;
        commits.push((change.message().unwrap_or_default().to_owned(), length));
    }
    let expected = [("Add card", 2), ("Mark card as done", 2), ("Delete card", 1)];
    assert_eq!(commits, expected.map(|(message, length)| (message.to_owned(), length)));
    Ok(())
}

fn object(doc: &AutoCommit, obj: &ObjId, prop: impl Into<hashmill_doc::Prop<'static>>) -> ObjId {
    match doc.get(obj, prop) {
        Ok(Some((Value::Object(_), id))) => id,
        other => panic!("{other:?}"),
    }
}

/// Its address book: two devices change a saved document, and merge.
#[test]
fn port_of_the_address_book() -> Outcome {
    let mut doc = AutoCommit::new();
    let contacts = doc.put_object(ROOT, "contacts", ObjType::List)?;
    for (n, (name, email)) in [("Alice", "alice@example.com"), ("Bob", "bob@example.com")].iter().enumerate()
    {
        let contact = doc.insert_object(&contacts, n, ObjType::Map)?;
        doc.put(&contact, "name", *name)?;
        doc.put(&contact, "email", *email)?;
    }
    let saved = doc.save();
    let mut doc1 = AutoCommit::load(&saved)?;
    let alice = object(&doc1, &object(&doc1, &ROOT, "contacts"), 0);
    doc1.put(&alice, "email", "alicesnewemail@example.com")?;
    let mut doc2 = AutoCommit::load(&saved)?;
    let bob = object(&doc2, &object(&doc2, &ROOT, "contacts"), 1);
    doc2.put(&bob, "name", "Robert")?;
    doc1.merge(&mut doc2)?;
    let name = doc1.get(&bob, "name")?.map(|(value, _)| value);
    assert_eq!(name, Some(Value::from("Robert")));
    assert_eq!(doc1.get_as(&alice, "email")?, Some("alicesnewemail@example.com".to_owned()));
    Ok(())
}

/// Counters add up, other values conflict.
#[test]
fn port_of_counters_and_conflicts() -> Outcome {
    let mut doc = AutoCommit::new();
    doc.put(ROOT, "votes", ScalarValue::counter(10))?;
    let mut other = doc.fork();
    doc.increment(ROOT, "votes", 5)?;
    other.increment(ROOT, "votes", -2)?;
    doc.put(ROOT, "name", "here")?;
    other.put(ROOT, "name", "there")?;
    doc.merge(&mut other)?;
    assert_eq!(doc.get(ROOT, "votes")?.map(|(value, _)| value), Some(ScalarValue::Counter(13).into()));
    let mut names: Vec<String> =
        doc.get_all(ROOT, "name")?.iter().map(|(value, _)| value.to_string()).collect();
    names.sort();
    assert_eq!(names, ["\"here\"", "\"there\""]);
    let shown = [ScalarValue::Null, true.into(), 7.into(), ScalarValue::counter(1), vec![1_u8, 2].into()];
    let shown = shown.map(|value| Value::from(value).to_string());
    assert_eq!(shown, ["null", "true", "7", "counter 1", "[1, 2]"]);
    assert_eq!(Value::Object(ObjType::Map).to_string(), "map");
    Ok(())
}

/// A file followed by incremental saves.
#[test]
fn port_of_incremental_saves() -> Outcome {
    let mut doc = AutoCommit::new();
    let text = doc.put_object(ROOT, "note", ObjType::Text)?;
    let mut file = doc.save();
    for word in ["one ", "two ", "three"] {
        let end = doc.length(&text);
        doc.splice_text(&text, end, 0, word)?;
        doc.commit();
        file.extend(doc.document().save_incremental());
    }
    let mut read = Document::new();
    read.load_incremental(&file)?;
    assert_eq!(read.text(&text)?, "one two three");
    // A truncated change is not applied yet.
    let mut read = Document::new();
    read.load_incremental(&file[..file.len() - 1])?;
    assert_eq!(read.text(&text)?, "one two ");
    Ok(())
}

/// The first example of the page.
#[test]
fn port_of_the_first_example() -> Outcome {
    let mut doc = Document::new();
    let mut tx = doc.transaction();
    let text = tx.put_object(ROOT, "text", ObjType::Text)?;
    tx.splice_text(&text, 0, 0, "Hello")?;
    tx.commit();
    let mut other = doc.fork();
    other.transact(|tx| tx.splice_text(&text, 5, 0, " you"))?;
    doc.merge(&other)?;
    assert_eq!(doc.text(&text)?, "Hello you");
    Ok(())
}
