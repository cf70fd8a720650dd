//! Columns of a single row, as in a change with one operation.

use super::block::Block;
use crate::codec::bytes::leb::{get_i64, get_u64};
use crate::types::{ActorIdx, OpId};

/// Columns with one row each: the count of the only literal, then its bytes.
pub(in crate::codec) struct Literals<const N: usize> {
    layout: [u8; 24],
    columns: usize,
    data: [u8; N],
    len: usize,
}

impl<const N: usize> Literals<N> {
    #[inline(always)]
    pub(in crate::codec) fn new() -> Self {
        Self { layout: [0; 24], columns: 0, data: [0; N], len: 0 }
    }

    #[inline]
    pub(in crate::codec) fn write(&self, out: &mut Block) {
        out.byte(self.columns as u8);
        out.part(&self.layout, 2 * self.columns);
        out.part(&self.data, self.len);
    }

    #[inline(always)]
    fn push(&mut self, byte: u8) {
        self.data[self.len] = byte;
        self.len += 1;
    }

    #[inline(always)]
    fn close(&mut self, spec: u32, from: usize) {
        self.layout[2 * self.columns] = spec as u8;
        self.layout[2 * self.columns + 1] = (self.len - from) as u8;
        self.columns += 1;
    }

    #[inline(always)]
    pub(in crate::codec) fn bytes(&mut self, spec: u32, bytes: &[u8]) {
        let from = self.len;
        bytes.iter().for_each(|byte| self.push(*byte));
        self.close(spec, from);
    }

    #[inline(always)]
    pub(in crate::codec) fn text(&mut self, spec: u32, text: &str) {
        let from = self.len;
        self.push(0x7f);
        self.push(text.len() as u8);
        text.bytes().for_each(|byte| self.push(byte));
        self.close(spec, from);
    }

    #[inline(always)]
    pub(in crate::codec) fn number(&mut self, spec: u32, value: u32) {
        self.literal(spec, value, 0x80);
    }

    #[inline(always)]
    pub(in crate::codec) fn counter(&mut self, spec: u32, value: u32) {
        // The highest of the last byte's seven bits is the sign: a number that would set it takes one more byte.
        self.literal(spec, value, 0x40);
    }

    #[inline(always)]
    fn literal(&mut self, spec: u32, mut value: u32, end: u32) {
        let from = self.len;
        self.push(0x7f);
        while value >= end {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
        self.close(spec, from);
    }
}

/// Reader of columns with one row each, in the order and form in which [`Literals`] writes them: a number is a literal
/// run of one.
pub(in crate::codec) struct OneRow<'a> {
    layout: &'a [[u8; 2]],
    data: &'a [u8],
    len: usize,
}

impl<'a> OneRow<'a> {
    #[inline(always)]
    pub(in crate::codec) fn new(section: &'a [u8]) -> Option<Self> {
        let (columns, section) = section.split_first()?;
        let (layout, data) = section.split_at_checked(2 * usize::from(*columns))?;
        Some(Self { layout: layout.as_chunks().0, data, len: 1 + layout.len() })
    }

    /// The next column, if it has this specification.
    #[inline(always)]
    pub(in crate::codec) fn column(&mut self, spec: u32) -> Option<&'a [u8]> {
        let ([found, len], layout) = self.layout.split_first()?;
        // A length of more than seven bits takes more than one byte.
        if u32::from(*found) != spec || *len >= 0x80 {
            return None;
        }
        let (column, data) = self.data.split_at_checked((*len).into())?;
        (self.layout, self.data, self.len) = (layout, data, self.len + column.len());
        Some(column)
    }

    /// Consumes the next column, which must have these bytes.
    #[inline(always)]
    pub(in crate::codec) fn is<const N: usize>(&mut self, spec: u32, bytes: [u8; N]) -> Option<()> {
        (self.column(spec)? == bytes).then_some(())
    }

    /// Reads the number in the next column.
    #[inline(always)]
    pub(in crate::codec) fn number(&mut self, spec: u32) -> Option<u32> {
        let (0x7f, number) = self.column(spec)?.split_first()? else { return None };
        let (value, len) = get_u64(number).ok()?;
        if len == number.len() { u32::try_from(value).ok() } else { None }
    }

    /// Reads the actor in the next column.
    #[inline(always)]
    pub(in crate::codec) fn actor(&mut self, spec: u32) -> Option<ActorIdx> {
        self.number(spec).map(ActorIdx::from_u32)
    }

    /// Reads the counter in the next column.
    #[inline(always)]
    pub(in crate::codec) fn counter(&mut self, spec: u32) -> Option<u32> {
        let (0x7f, number) = self.column(spec)?.split_first()? else { return None };
        let (value, len) = get_i64(number).ok()?;
        if len == number.len() { u32::try_from(value).ok() } else { None }
    }

    /// Reads the id whose actor is in the next column; `NONE` if that is another column.
    #[inline(always)]
    pub(in crate::codec) fn id(
        &mut self,
        actor: u32,
        ctr: impl FnOnce(&mut Self) -> Option<u32>,
    ) -> Option<OpId> {
        if self.layout.first().is_none_or(|[spec, _]| u32::from(*spec) != actor) {
            return Some(OpId::NONE);
        }
        let actor = self.actor(actor)?;
        let id = OpId::new(ctr(self)?, actor);
        (!id.is_none()).then_some(id)
    }

    /// Total length, if no column is left.
    #[inline(always)]
    pub(in crate::codec) fn end(self) -> Option<usize> {
        self.layout.is_empty().then_some(self.len)
    }
}
