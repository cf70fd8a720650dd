//! The class `Automerge`: changes, heads, actors and authors.

mod changes;
mod fragments;

use hashmill_doc::{ActorId, Change, Transactable as _};
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::document::Automerge;
use crate::values::arguments::{Js, MemoryBudget, given, hash, hashes, heads, hex, text, thrown};
use crate::values::exports;
use crate::values::limits::limits;

fn all(changes: &[Change]) -> Array {
    changes.iter().map(|change| exports::bytes(&change.raw_bytes())).collect()
}

fn maybe(change: Option<Change>) -> JsValue {
    change.map_or(JsValue::NULL, |change| exports::bytes(&change.raw_bytes()))
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = console)]
    fn log(text: &str) -> Js<()>;
}

#[wasm_bindgen]
impl Automerge {
    /// The heads: changes without successors.
    #[wasm_bindgen(js_name = getHeads)]
    pub fn get_heads(&self) -> Js {
        Ok(exports::hashes(&self.whole()?.doc.get_heads()))
    }

    /// The changes since some heads.
    #[wasm_bindgen(js_name = getChanges)]
    pub fn get_changes(&self, since: &JsValue) -> Js<Array> {
        let since = hashes(since, "the change hashes")?;
        Ok(all(&self.whole()?.doc.get_changes(&since)))
    }

    /// The changes since some heads, without operations.
    #[wasm_bindgen(js_name = getChangesMeta)]
    pub fn get_changes_meta(&self, since: &JsValue) -> Js<Array> {
        let since = hashes(since, "the change hashes")?;
        self.whole()?.doc.get_changes_meta(&since).iter().map(exports::metadata).collect()
    }

    /// One change, or null.
    #[wasm_bindgen(js_name = getChangeByHash)]
    pub fn get_change_by_hash(&self, of: &JsValue) -> Js {
        let of = hash(of)?;
        Ok(maybe(self.whole()?.doc.get_change_by_hash(&of)))
    }

    /// One change without operations, or null.
    #[wasm_bindgen(js_name = getChangeMetaByHash)]
    pub fn get_change_meta_by_hash(&self, of: &JsValue) -> Js {
        let of = hash(of)?;
        let mut inner = self.whole()?;
        inner.doc.get_change_meta_by_hash(&of).map_or(Ok(JsValue::NULL), |change| exports::metadata(&change))
    }

    /// One decoded change, or null.
    #[wasm_bindgen(js_name = getDecodedChangeByHash)]
    pub fn get_decoded_change_by_hash(&self, of: &JsValue) -> Js {
        let of = hash(of)?;
        let change = self.whole()?.doc.get_change_by_hash(&of);
        change.map_or(Ok(JsValue::NULL), |change| changes::decoded(&change))
    }

    /// The changes of another document that this one lacks.
    #[wasm_bindgen(js_name = getChangesAdded)]
    pub fn get_changes_added(&self, other: &Automerge) -> Js<Array> {
        // A document compared with itself has nothing new, and cannot be borrowed twice.
        if std::ptr::eq(self, other) {
            return Ok(Array::new());
        }
        let (mut own, mut other) = (self.whole()?, other.whole()?);
        Ok(all(&own.doc.get_changes_added(&mut other.doc)))
    }

    /// The last change of this document's actor, or null.
    #[wasm_bindgen(js_name = getLastLocalChange)]
    pub fn get_last_local_change(&self) -> Js {
        Ok(maybe(self.whole()?.doc.get_last_local_change()))
    }

    /// Applies changes.
    #[wasm_bindgen(js_name = applyChanges)]
    pub fn apply_changes(&self, changes: &JsValue) -> Js<()> {
        let budget = MemoryBudget::default();
        let changes = budget.array(changes, "the changes")?;
        let changes =
            changes.iter().map(|change| budget.bytes(&change, "a change")).collect::<Js<Vec<_>>>()?;
        let changes = Change::from_each(&changes, &limits()).map_err(thrown)?;
        self.whole()?.doc.apply_changes(changes).map_err(thrown)
    }

    /// Missing changes among the ancestors of heads.
    #[wasm_bindgen(js_name = getMissingDeps)]
    pub fn get_missing_deps(&self, before: JsValue) -> Js {
        let before = heads(before)?.unwrap_or_default();
        Ok(exports::hashes(&self.whole()?.doc.get_missing_deps(&before)))
    }

    /// The hashes of all changes, each after its dependencies.
    #[wasm_bindgen(js_name = topoHistoryTraversal)]
    pub fn topo_history_traversal(&self) -> Js<Array> {
        let mut inner = self.whole()?;
        Ok(inner.doc.get_changes_meta(&[]).iter().map(|change| exports::hash(&change.hash)).collect())
    }

    /// Some changes in one chunk.
    #[wasm_bindgen(js_name = saveBundle)]
    pub fn save_bundle(&self, of: &JsValue) -> Js {
        let of = hashes(of, "the change hashes")?;
        Ok(exports::bytes(self.whole()?.doc.bundle(of).map_err(thrown)?.bytes()))
    }

    /// The actor that writes.
    #[wasm_bindgen(js_name = getActorId)]
    pub fn get_actor_id(&self) -> Js<String> {
        Ok(self.read()?.doc.get_actor().to_hex())
    }

    /// Sets the author of later changes, with a new actor, because only an actor's first change records it. Without an argument
    /// there is no author.
    #[wasm_bindgen(js_name = setAuthor)]
    pub fn set_author(&self, author: JsValue) -> Js<()> {
        let author = given(author).map(|author| hex(&text(&author, "the author")?)).transpose()?;
        let mut inner = self.whole()?;
        if author.is_some() && author != inner.author {
            inner.doc.set_actor(ActorId::random());
        }
        inner.author = author;
        Ok(())
    }

    /// The author that writes, if set.
    #[wasm_bindgen(js_name = getAuthor)]
    pub fn get_author(&self) -> Js {
        let inner = self.read()?;
        Ok(inner.author.as_deref().map_or(JsValue::UNDEFINED, |author| exports::hex(Some(author))))
    }

    /// All recorded authors.
    #[wasm_bindgen(js_name = getAuthors)]
    pub fn get_authors(&self) -> Js<Array> {
        let inner = self.read()?;
        Ok(inner.doc.get_authors().into_iter().map(|author| exports::hex(Some(author))).collect())
    }

    /// The author of an actor, or null.
    #[wasm_bindgen(js_name = getAuthorForActor)]
    pub fn get_author_for_actor(&self, actor: &JsValue) -> Js {
        let actor = ActorId::from(hex(&text(actor, "the actor")?)?);
        Ok(exports::hex(self.read()?.doc.get_author_for_actor(&actor)))
    }

    /// The actors of an author.
    #[wasm_bindgen(js_name = getActorsForAuthor)]
    pub fn get_actors_for_author(&self, author: &JsValue) -> Js<Array> {
        let author = hex(&text(author, "the author")?)?;
        let actors = self.read()?.doc.get_actors_for_author(&author);
        Ok(actors.iter().map(|actor| JsValue::from_str(&actor.to_hex())).collect())
    }

    /// Prints statistics of the document on the console.
    pub fn dump(&self) -> Js<()> {
        let inner = self.read()?;
        let (stats, open) = (inner.doc.stats(), inner.doc.pending_ops());
        let actor = inner.doc.get_actor().to_hex();
        log(&format!(
            "{} changes, {} operations, {} actors; {actor} writes, {open} operations are not committed",
            stats.changes, stats.operations, stats.actors
        ))
    }

    /// Statistics of the document.
    pub fn stats(&self) -> Js {
        let stats = self.read()?.doc.stats();
        let number = |number: u64| JsValue::from_f64(number as f64);
        Ok(exports::object([
            ("numChanges", number(stats.changes)),
            ("numOps", number(stats.operations)),
            ("numActors", number(stats.actors)),
        ])?
        .into())
    }
}
