//! A document that was loaded and edited, out of the columns it came in: rows of keys and sequences that nobody touched are
//! copied, the others are written anew between them.

use std::cmp::Ordering;

use crate::codec::document::DocumentOut;
use crate::codec::shortcuts::kept_rows::KeptRows;
use crate::error::Rule;
use crate::store::log::What;
use crate::store::log::key_op::Key;
use crate::store::memory::byte_arena::Bytes;
use crate::store::outgoing::document::{DocWriter, Written};
use crate::store::state::{Loaded, State};
use crate::types::{ActorIdx, Number as _, ObjIdx};

/// What was touched: a key of a map, or a sequence, which is written anew as a whole.
type Touched = (ObjIdx, Option<Bytes>);

/// A sequence that may be such a part of all runs and operations is too long for the rest to be worth copying; so is a document
/// that has grown to so many times what it was.
const MOST: usize = 2;

/// A leaf of a sequence may have so many spans.
const LEAF: usize = 32;

impl State {
    /// Called before a change comes to the history whose operations end the log: gives the columns of the load up where
    /// copying what is left of them would no longer be worth their memory.
    #[inline]
    pub(in crate::store) fn weigh_kept(&mut self) {
        if let Some(kept) = &self.kept
            && !self.is_worth_copying(kept)
        {
            self.kept = None;
        }
    }

    fn is_worth_copying(&self, kept: &Loaded) -> bool {
        let pieces = self.log.runs.len() + self.log.keyed.len();
        let before = kept.log.runs as usize + kept.log.keyed.place();
        let worth = |size, least| self.limits.shortcuts.pay(size, least);
        let is_short = |obj| self.seq(obj).is_none_or(|seq| worth(pieces, MOST * LEAF * seq.size()));
        // The last run of the change before may have gone on.
        let from = (self.history.log_len as usize).saturating_sub(1);
        worth(MOST * before, pieces) && self.log.runs.iter_from(from).all(|run| is_short(run.obj))
    }

    /// The document chunk, if there are columns of a load that say some of it.
    pub(super) fn write_spliced(&self, compress: bool) -> Option<Vec<u8>> {
        let kept = self.kept.as_ref()?;
        let (order, index) = self.writers_in_order();
        // The actors of the file came first, in its order.
        let actors = index.get(..kept.of.actors)?;
        if actors.contains(&ActorIdx::NOBODY) {
            return None;
        }
        let mut rows = kept.of.rows(kept.columns.map(|bytes| self.heap.get(bytes)), actors.to_vec())?;
        let touched = self.touched(kept);
        let histories = self.save_cache.histories();
        let ops = || {
            let mut writer = DocWriter::new(self, &histories, &index, true);
            self.splice(&touched, &mut rows, &mut writer, compress).ok().map(|()| writer.finish())
        };
        let (ops, changes) = self.beside_changes(ops, &index);
        let Written { ops, new } = ops?;
        let actors = order.iter().map(|actor| self.actors.bytes(*actor)).collect();
        let chunk =
            DocumentOut { actors, heads: self.named_heads(), changes, ops }.pack(compress).frame(None);
        drop(histories);
        self.save_cache.add(new);
        Some(chunk)
    }

    /// What operations touched that came since a load, in the order of the file.
    fn touched(&self, kept: &Loaded) -> Vec<Touched> {
        let mut touched = Vec::new();
        let from = (kept.log.runs as usize).saturating_sub(1);
        for (number, run) in (from..).zip(self.log.runs.iter_from(from)) {
            let before = kept.log.of_run(number);
            if before >= run.len {
                continue;
            }
            let What::KeyOp(first) = run.what else {
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

    fn file_order(&self, (a, a_key): &Touched, (b, b_key): &Touched) -> Ordering {
        let bytes = |key: &Option<Bytes>| key.map(|key| self.heap.get(key));
        let objects = self.actors.cmp(self.objects[*a].id, self.objects[*b].id);
        objects.then_with(|| bytes(a_key).cmp(&bytes(b_key)))
    }

    /// Writes all rows, those of what was touched anew.
    fn splice<'a>(
        &'a self,
        touched: &[Touched],
        rows: &mut KeptRows<'a>,
        out: &mut DocWriter<'a, '_>,
        compress: bool,
    ) -> Result<(), Rule> {
        let mut chains = Default::default();
        for of_one in touched.chunk_by(|(a, _), (b, _)| a == b) {
            let object = &self.objects[of_one[0].0];
            let theirs = rows.object(|id| self.actors.cmp(id, object.id))?;
            for (obj, key) in of_one {
                let Some(key) = key else {
                    rows.copy_to(theirs.start, &mut out.ops)?;
                    out.object(&(object, Vec::new()), &mut chains);
                    rows.pass_to(theirs.end)?;
                    continue;
                };
                let theirs = rows.key(self.heap.get(*key), &theirs)?;
                rows.copy_to(theirs.start, &mut out.ops)?;
                let entry = self.map(*obj).and_then(|map| map.get(self.heap.text(*key), &self.heap));
                out.object(&(object, vec![entry.ok_or(Rule::Missing)?]), &mut chains);
                rows.pass_to(theirs.end)?;
            }
        }
        rows.copy_rest(&mut out.ops, compress)
    }
}
