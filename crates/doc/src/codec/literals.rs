//! The columns of one row: what a change with one operation has.

use super::block::Block;

/// Columns that hold one row each: the count of the only literal, then its bytes.
pub(super) struct Literals<const N: usize> {
    layout: [u8; 24],
    columns: usize,
    data: [u8; N],
    len: usize,
}

impl<const N: usize> Literals<N> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { layout: [0; 24], columns: 0, data: [0; N], len: 0 }
    }

    #[inline]
    pub(super) fn write(&self, out: &mut Block) {
        out.byte(self.columns as u8);
        out.part(&self.layout, 2 * self.columns);
        out.part(&self.data, self.len);
    }

    /// How long this is, written, when `section` begins with it.
    #[inline]
    pub(super) fn begins(&self, section: &[u8]) -> Option<usize> {
        let data = 1 + 2 * self.columns;
        let same = usize::from(*section.first()?) == self.columns
            && section.get(1..data)? == self.layout.get(..2 * self.columns)?
            && section.get(data..data + self.len)? == self.data.get(..self.len)?;
        same.then_some(data + self.len)
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
    pub(super) fn bytes(&mut self, spec: u32, bytes: &[u8]) {
        let from = self.len;
        bytes.iter().for_each(|byte| self.push(*byte));
        self.close(spec, from);
    }

    #[inline(always)]
    pub(super) fn text(&mut self, spec: u32, text: &str) {
        let from = self.len;
        self.push(0x7f);
        self.push(text.len() as u8);
        text.bytes().for_each(|byte| self.push(byte));
        self.close(spec, from);
    }

    #[inline(always)]
    pub(super) fn number(&mut self, spec: u32, value: u32) {
        self.literal(spec, value, 0x80);
    }

    #[inline(always)]
    pub(super) fn counter(&mut self, spec: u32, value: u32) {
        // The highest bit of the last byte's seven is the sign: a number takes a byte more where it would be set.
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
