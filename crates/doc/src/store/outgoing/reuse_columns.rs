//! Encoding of a loaded and edited document from its original columns: rows of untouched keys and sequences are copied,
//! the others are encoded anew between them.

use std::cmp::Ordering;

use crate::codec::chunks::document::DocumentOut;
use crate::codec::shortcuts::original_rows::OriginalRows;
use crate::store::log::RunAction;
use crate::store::log::key_op::Key;
use crate::store::memory::byte_arena::Bytes;
use crate::store::outgoing::document::{DocWriter, SaveResult};
use crate::store::state::{DocumentState, Loaded};
use crate::types::error::Rule;
use crate::types::{ActorIdx, Number as _, ObjIdx};

/// A touched key of a map, or a touched sequence, which is encoded anew as a whole.
type TouchedKey = (ObjIdx, Option<Bytes>);

/// The original columns are dropped when a touched sequence may be 1/`MOST` of all runs and operations, or when the
/// document has grown `MOST`-fold.
const MOST: usize = 2;

/// Estimated number of spans per leaf.
const LEAF: usize = 32;

impl DocumentState {
    /// Drops the original columns when copying what is still valid no longer pays for their memory. Called before a
    /// change is added to the history; its operations end the log.
    #[inline]
    pub(in crate::store) fn drop_costly_columns(&mut self) {
        if let Some(loaded) = &self.original
            && !self.is_worth_copying(loaded)
        {
            self.original = None;
        }
    }

    fn is_worth_copying(&self, loaded: &Loaded) -> bool {
        let pieces = self.log.runs.len() + self.log.keyed.len();
        let before = loaded.log.runs as usize + loaded.log.keyed.index();
        let worth = |size, least| self.limits.shortcuts.pay(size, least);
        let is_short = |obj| self.seq(obj).is_none_or(|seq| worth(pieces, MOST * LEAF * seq.size()));
        // The last run of the previous change may have been extended.
        let from = (self.history.log_len as usize).saturating_sub(1);
        worth(MOST * before, pieces) && self.log.runs.iter_from(from).all(|run| is_short(run.obj))
    }

    /// Encodes the document chunk, if some of the original columns are still valid.
    pub(super) fn write_spliced(&self, compress: bool) -> Option<Vec<u8>> {
        let loaded = self.original.as_ref()?;
        let (order, index) = self.writers_in_order();
        // The actors of the file come first, in its order.
        let actors = index.get(..loaded.of.actors)?;
        if actors.contains(&ActorIdx::NOBODY) {
            return None;
        }
        let mut rows = loaded.of.rows(loaded.columns.map(|bytes| self.heap.get(bytes)), actors.to_vec())?;
        let touched = self.touched(loaded);
        let histories = self.save_cache.histories();
        let ops = || {
            let mut writer = DocWriter::new(self, &histories, &index, true);
            self.splice(&touched, &mut rows, &mut writer, compress).ok().map(|()| writer.finish())
        };
        let (ops, changes) = self.beside_changes(ops, &index);
        let SaveResult { ops, new } = ops?;
        let actors = order.iter().map(|actor| self.actors.bytes(*actor)).collect();
        let chunk =
            DocumentOut { actors, heads: self.named_heads(), changes, ops }.pack(compress).frame(None);
        drop(histories);
        self.save_cache.add(new);
        Some(chunk)
    }

    /// Keys and sequences touched since the load, in the order of the file.
    fn touched(&self, loaded: &Loaded) -> Vec<TouchedKey> {
        let mut touched = Vec::new();
        let from = (loaded.log.runs as usize).saturating_sub(1);
        for (number, run) in (from..).zip(self.log.runs.iter_from(from)) {
            let before = loaded.log.of_run(number);
            if before >= run.len {
                continue;
            }
            let RunAction::KeyOp(first) = run.what else {
                touched.push((run.obj, None));
                continue;
            };
            let ops = self.log.keyed.iter_from(first.plus(before)).take((run.len - before) as usize);
            touched.extend(ops.map(|op| match op.key() {
                Key::Map(key) => (run.obj, Some(key)),
                Key::Elem(_) => (run.obj, None),
            }));
        }
        touched.sort_unstable_by(|a, b| self.file_order(a, b));
        touched.dedup_by(|a, b| self.file_order(a, b).is_eq());
        touched
    }

    fn file_order(&self, (a, a_key): &TouchedKey, (b, b_key): &TouchedKey) -> Ordering {
        let bytes = |key: &Option<Bytes>| key.map(|key| self.heap.get(key));
        let objects = self.actors.cmp(self.objects[*a].id, self.objects[*b].id);
        objects.then_with(|| bytes(a_key).cmp(&bytes(b_key)))
    }

    /// Writes all rows, encoding the touched ones anew.
    fn splice<'a>(
        &'a self,
        touched: &[TouchedKey],
        rows: &mut OriginalRows<'a>,
        out: &mut DocWriter<'a, '_>,
        compress: bool,
    ) -> Result<(), Rule> {
        let mut chains = Default::default();
        for of_one in touched.chunk_by(|(a, _), (b, _)| a == b) {
            let object = &self.objects[of_one[0].0];
            let original_rows = rows.object(|id| self.actors.cmp(id, object.id))?;
            for (obj, key) in of_one {
                let Some(key) = key else {
                    rows.copy_to(original_rows.start, &mut out.ops)?;
                    out.object(&(object, Vec::new()), &mut chains);
                    rows.pass_to(original_rows.end)?;
                    continue;
                };
                let original_rows = rows.key(self.heap.get(*key), &original_rows)?;
                rows.copy_to(original_rows.start, &mut out.ops)?;
                let entry = self.map(*obj).and_then(|map| map.get(self.heap.text(*key), &self.heap));
                out.object(&(object, vec![entry.ok_or(Rule::Missing)?]), &mut chains);
                rows.pass_to(original_rows.end)?;
            }
        }
        rows.copy_rest(&mut out.ops, compress)
    }
}
