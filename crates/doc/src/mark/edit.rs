//! Editor methods for marks and blocks.

use super::{ExpandMark, Mark};
use crate::edit::editor::{Editor, encode};
use crate::store::log::MarkOp;
use crate::store::log::value::StoredValue;
use crate::types::error::{EditError, Mismatch, described};
use crate::types::{ObjId, ObjIdx, ObjType, OpId, Prop, Value};

impl Editor<'_> {
    /// Puts a mark on a range of a text. A mark on an empty range marks nothing, not even text typed there: no
    /// insertion can get between its ends.
    pub(crate) fn mark(&mut self, obj: &ObjId, mark: &Mark<'_>, expand: ExpandMark) -> Result<(), EditError> {
        let number = self.rich_text(obj)?;
        let (start, end) = (mark.start, mark.end);
        let len = self.state.seq(number).map_or(0, |seq| seq.width());
        if start.max(end) > len {
            return Err(EditError::Index { index: start.max(end), len });
        }
        if start > end {
            return Err(EditError::Backwards { start, end });
        }
        if start == end && expand == ExpandMark::None {
            // It would end before it begins.
            return Ok(());
        }
        let mut scratch = Vec::new();
        let value = encode(obj, &start.into(), &mark.value, &mut scratch)?;
        self.room(2, value.bytes.len(), mark.name.len())?;

        let (gap, origin, _) = self.gap(number, start)?;
        let begin = self.reserve_ids(1);
        let val = self.state.keep_raw(value);
        let name = Some(self.state.heap.name(&mark.name));
        self.state.insert_mark(number, gap, begin, MarkOp { origin, name, val, expand: expand.before() });
        self.end_mark(number, begin, (start < end).then_some(end), expand.after())
    }

    /// Ends the mark with begin `begin`, at a position after its begin: before unit `at`, except if both ends are
    /// inside one element of several units.
    fn end_mark(
        &mut self,
        obj: ObjIdx,
        begin: OpId,
        at: Option<usize>,
        expand: bool,
    ) -> Result<(), EditError> {
        let wanted = at.map(|at| self.gap(obj, at)).transpose()?;
        let seq = self.state.seq(obj).expect("it is a text");
        let begin_pos = seq.find(begin).expect("it was just inserted");
        let (gap, origin) = match wanted {
            Some((gap, origin, _)) if seq.is_behind(gap, begin_pos) => (gap, origin),
            _ => (seq.gap_after(begin_pos), begin),
        };
        let end = self.reserve_ids(1);
        self.state.insert_mark(obj, gap, end, MarkOp { origin, name: None, val: StoredValue::NULL, expand });
        Ok(())
    }

    /// Inserts a new block before unit `index` of a text.
    pub(crate) fn split_block(&mut self, obj: &ObjId, index: usize) -> Result<ObjId, EditError> {
        self.rich_text(obj)?;
        self.insert_object(obj, index, ObjType::Map)
    }

    /// Deletes the block at unit `index` of a text.
    pub(crate) fn join_block(&mut self, obj: &ObjId, index: usize) -> Result<(), EditError> {
        let (_, start) = self.block(obj, index)?;
        self.delete(obj, &Prop::Seq(start))
    }

    /// Replaces the block at unit `index` of a text by a new one.
    pub(crate) fn replace_block(&mut self, obj: &ObjId, index: usize) -> Result<ObjId, EditError> {
        let (_, start) = self.block(obj, index)?;
        self.room(2, 0, 0)?;
        self.delete(obj, &Prop::Seq(start))?;
        self.insert_object(obj, start, ObjType::Map)
    }

    /// Number of an object that must be a text.
    fn rich_text(&self, obj: &ObjId) -> Result<ObjIdx, EditError> {
        let (number, found) = self.object(obj)?;
        if found == ObjType::Text { Ok(number) } else { Err(Mismatch::of_kind(obj, "a text", found)) }
    }

    /// The block at unit `index` of a text, and its first unit.
    pub(super) fn block(&self, obj: &ObjId, index: usize) -> Result<(ObjId, usize), EditError> {
        let number = self.rich_text(obj)?;
        let seq = self.state.seq(number).expect("a text is a sequence");
        let found = u32::try_from(index).ok().and_then(|index| seq.locate(index, &self.state.ctx()));
        let Some((at, start)) = found else { return Err(EditError::Index { index, len: seq.width() }) };
        let values = self.state.element_values(seq, seq.span(at), at.off);
        match values.last().map(|winner| self.state.export(winner)) {
            Some((Value::Object(ObjType::Map), block)) => Ok((block, start as usize)),
            other => {
                let found = other.map_or("nothing".to_owned(), |(value, _)| described(&value));
                let mismatch = Mismatch::new(obj, Some(&index.into()), "a block", found);
                Err(EditError::WrongValue(mismatch))
            }
        }
    }
}
