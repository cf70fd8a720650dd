//! Integration tests of the public protocol API.

mod cbor_values;
mod client;
mod conversation;
mod golden_frames;
mod messages;
mod presence;
mod sync_simulation;

use hashmill_doc::{ActorId, Document, ROOT, Transactable as _};

/// An id of a document, made by another program.
const ID: &str = "4NMNnkMhL8jXrdJ9jamS58PAVdXu";

/// A document of an actor with some changes to one key.
fn document(actor: u8, key: &str, changes: i64) -> Document {
    let mut doc = Document::new().with_actor(ActorId::from([actor]));
    (0..changes).for_each(|value| put(&mut doc, key, value));
    doc
}

fn put(doc: &mut Document, key: &str, value: i64) {
    doc.transact(|tx| tx.put(ROOT, key, value)).expect("there is room");
}
