//! Behaviour pinned down by the integration tests of the official crate, as tests of our own: what users of a document
//! may rely on, by area. Deliberate differences are in docs/documents.md.

mod counters;
mod encodings;
mod lists;
mod maps;
mod orphans;
mod past;
mod rich;
mod steps;

use hashmill_doc::{ActorId, AutoCommit, Literal, ObjId, ObjType, Prop, ROOT, ReadDoc, Transactable};

/// A document whose actor id is ordered by `actor`.
fn doc(actor: u8) -> AutoCommit {
    AutoCommit::new().with_actor(ActorId::from([actor]))
}

/// A copy with another actor.
fn fork(doc: &mut AutoCommit, actor: u8) -> AutoCommit {
    doc.fork().with_actor(ActorId::from([actor]))
}

/// Merges both ways, and checks that both are equal.
fn meet(a: &mut AutoCommit, b: &mut AutoCommit) {
    a.merge(b).unwrap();
    b.merge(a).unwrap();
    assert_eq!(a.get_heads(), b.get_heads());
    assert_eq!(all(a), all(b));
    let loaded = AutoCommit::load(&a.save()).unwrap();
    assert_eq!(all(&loaded), all(a));
    assert!(loaded.iter().eq(a.iter()));
}

/// All winning values.
fn all(doc: &impl ReadDoc) -> Literal {
    doc.hydrate(ROOT).unwrap()
}

/// All values at a key or index, the winner last.
fn values<'p>(doc: &impl ReadDoc, obj: impl AsRef<ObjId>, prop: impl Into<Prop<'p>>) -> Vec<String> {
    doc.get_all(obj, prop).unwrap().iter().map(|(value, _)| value.to_string()).collect()
}

/// A list at a key.
fn list(doc: &mut AutoCommit, key: &str, elements: impl IntoIterator<Item = impl Into<Literal>>) -> ObjId {
    let list = doc.put_object(ROOT, key, ObjType::List).unwrap();
    doc.splice(&list, 0, 0, elements).unwrap();
    list
}

/// A text at a key.
fn text(doc: &mut AutoCommit, key: &str, content: &str) -> ObjId {
    let text = doc.put_object(ROOT, key, ObjType::Text).unwrap();
    doc.splice_text(&text, 0, 0, content).unwrap();
    text
}
