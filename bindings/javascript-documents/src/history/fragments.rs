//! The class `Automerge`: export and import of the history in fragments.

use std::ops::Bound;

use hashmill_doc::{Change, Fragment};
use js_sys::{Array, Object};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::document::Automerge;
use crate::values::arguments::{Js, MemoryBudget, given, hash, property, thrown};
use crate::values::exports;
use crate::values::exports::object;
use crate::values::limits::limits;

#[wasm_bindgen]
impl Automerge {
    /// The fragments of a level, of the levels from `start` to before `end`, or all.
    #[wasm_bindgen(js_name = getFragmentMetadata)]
    pub fn get_fragment_metadata(&self, levels: &JsValue) -> Js<Array> {
        let levels = range(levels)?;
        let fragments = self.whole()?.doc.fragments(levels).map_err(thrown)?;
        fragments.iter().map(exported).map(|fragment| fragment.map(JsValue::from)).collect()
    }

    /// The fragment that ends with a change, or null.
    #[wasm_bindgen(js_name = getFragmentMeta)]
    pub fn get_fragment_meta(&self, head: &JsValue) -> Js {
        let head = hash(head)?;
        let fragment = self.whole()?.doc.get_fragment(&head).map_err(thrown)?;
        fragment.map_or(Ok(JsValue::NULL), |fragment| exported(&fragment).map(JsValue::from))
    }

    /// The bytes of fragments: changes and bundles.
    #[wasm_bindgen(js_name = bundleFragmentMetadata)]
    pub fn bundle_fragment_metadata(&self, fragments: &JsValue) -> Js<Array> {
        let budget = MemoryBudget::default();
        let fragments = budget.array(fragments, "the fragments")?;
        let fragments = fragments.iter().map(|value| fragment(&value, &budget)).collect::<Js<Vec<_>>>()?;
        let mut inner = self.whole()?;
        let all = fragments.iter().map(|fragment| inner.doc.fragment_bytes(fragment).map_err(thrown));
        all.map(|bytes| bytes.map(|bytes| exports::bytes(&bytes))).collect()
    }

    /// Applies changes, which must match their metadata.
    #[wasm_bindgen(js_name = addCommits)]
    pub fn add_commits(&self, commits: &JsValue) -> Js<()> {
        let budget = MemoryBudget::default();
        let commits = budget.array(commits, "the commits")?;
        let (mut metadata, mut each) = (vec![], vec![]);
        for commit in commits {
            metadata.push((
                hash(&property(&commit, "head")?)?,
                budget.hashes(&property(&commit, "parents")?, "parents")?,
            ));
            each.push(budget.bytes(&property(&commit, "bytes")?, "bytes")?);
        }
        let changes = Change::from_each(&each, &limits()).map_err(thrown)?;
        for (change, (head, parents)) in changes.iter().zip(&metadata) {
            if change.hash() != *head || change.deps() != *parents {
                let is = change.hash();
                return Err(thrown(format_args!(
                    "the bytes of commit {head} are change {is}, or its parents differ"
                )));
            }
        }
        self.whole()?.doc.apply_changes(changes).map_err(thrown)
    }

    /// Applies the bytes of fragments, or none of them if one is invalid.
    #[wasm_bindgen(js_name = addFragments)]
    pub fn add_fragments(&self, fragments: &JsValue) -> Js<()> {
        let budget = MemoryBudget::default();
        let all = budget.array(fragments, "the fragments")?.into_iter().map(|value| {
            let bytes = budget.bytes(&property(&value, "bytes")?, "bytes")?;
            Ok((fragment(&value, &budget)?.head, bytes))
        });
        let all = all.collect::<Js<Vec<_>>>()?;
        self.whole()?.doc.add_fragments(&all).map_err(thrown)
    }
}

fn exported(fragment: &Fragment) -> Js<Object> {
    object([
        ("head", exports::hash(&fragment.head)),
        ("level", JsValue::from_f64(fragment.level as f64)),
        ("boundary", exports::hashes(&fragment.boundary)),
        ("checkpoints", exports::hashes(&fragment.checkpoints)),
        ("members", exports::hashes(&fragment.members)),
    ])
}

fn fragment(value: &JsValue, budget: &MemoryBudget) -> Js<Fragment> {
    let list = |name: &str| budget.hashes(&property(value, name)?, name);
    Ok(Fragment {
        head: hash(&property(value, "head")?)?,
        level: level(&property(value, "level")?)?,
        boundary: list("boundary")?,
        checkpoints: list("checkpoints")?,
        members: list("members")?,
    })
}

fn level(value: &JsValue) -> Js<usize> {
    let whole = value.as_f64().filter(|level| *level >= 0.0 && level.fract() == 0.0);
    whole.map(|level| level as usize).ok_or_else(|| thrown("a level must be a whole number"))
}

fn range(levels: &JsValue) -> Js<(Bound<usize>, Bound<usize>)> {
    if levels.as_f64().is_some() {
        let level = level(levels)?;
        return Ok((Bound::Included(level), Bound::Included(level)));
    }
    let bound = |name: &str, bound: fn(usize) -> Bound<usize>| {
        given(property(levels, name)?).map_or(Ok(Bound::Unbounded), |value| level(&value).map(bound))
    };
    Ok((bound("start", Bound::Included)?, bound("end", Bound::Excluded)?))
}
