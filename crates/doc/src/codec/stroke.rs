//! The columns of a change with one keystroke in it.

use super::block::Block;
use super::leb::{get_i64, get_u64};
use super::literals::Literals;
use super::ops::{Action, char_len, spec};
use super::reader::Reader;
use super::value::code;
use crate::types::OpId;

/// One keystroke: a typed character, or the deletion of an element that nobody changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stroke<'a> {
    pub(crate) obj: OpId,
    /// What is typed after, or deleted.
    pub(crate) elem: OpId,
    /// The character; none for a deletion.
    pub(crate) text: Option<&'a [u8]>,
}

impl<'a> Stroke<'a> {
    /// Writes the layout and data of the columns. Actors are those of the chunk.
    #[inline]
    pub(crate) fn write(&self, out: &mut Block) {
        self.row().write(out);
    }

    /// Reads columns that hold nothing but a keystroke, exactly as [`Self::write`] writes it; gives their length, too.
    /// Everything else is for the general reader.
    pub(crate) fn read(section: &'a [u8], actors: usize) -> Option<(Self, usize)> {
        let columns = usize::from(*section.first().filter(|columns| **columns <= 12)?);
        let (layout, _) = section.get(1..1 + 2 * columns)?.as_chunks::<2>();
        let mut data = Reader::new(&section[1 + 2 * columns..]);
        let (mut obj, mut elem) = (OpId::NONE, OpId::NONE);
        let (mut action, mut text) = (0, None);
        for [spec, len] in layout {
            let column = data.take((*len).into()).ok()?;
            // The one literal, when the column holds numbers.
            let number = || get_u64(column.get(1..)?).ok().and_then(|(value, _)| u32::try_from(value).ok());
            match u32::from(*spec) {
                spec::OBJ_ACTOR => obj.actor = number()?,
                spec::OBJ_CTR => obj.ctr = number()?,
                spec::KEY_ACTOR => elem.actor = number()?,
                spec::KEY_CTR => elem.ctr = u32::try_from(get_i64(column.get(1..)?).ok()?.0).ok()?,
                spec::ACTION => action = number()?,
                spec::RAW => text = Some(column),
                // What they must hold follows from the others.
                _ => {}
            }
        }
        let known = (obj.actor as usize) < actors && (elem.actor as usize) < actors;
        let stroke = Self { obj, elem, text };
        let sound = match text {
            Some(text) => action == Action::Set as u32 && is_one_char(text),
            None => action == Action::Delete as u32 && !elem.is_none(),
        };
        let row = if known && sound { stroke.row() } else { return None };
        row.begins(section).map(|len| (stroke, len))
    }

    #[inline]
    fn row(&self) -> Literals<64> {
        let mut row = Literals::new();
        if !self.obj.is_none() {
            row.number(spec::OBJ_ACTOR, self.obj.actor);
            row.number(spec::OBJ_CTR, self.obj.ctr);
        }
        if !self.elem.is_none() {
            row.number(spec::KEY_ACTOR, self.elem.actor);
        }
        row.counter(spec::KEY_CTR, self.elem.ctr);
        match self.text {
            Some(text) => {
                row.bytes(spec::INSERT, &[0, 1]);
                row.number(spec::ACTION, Action::Set as u32);
                row.number(spec::META, (text.len() as u32) << 4 | u32::from(code::STR));
                row.bytes(spec::RAW, text);
                row.number(spec::PRED_COUNT, 0);
            }
            None => {
                row.bytes(spec::INSERT, &[1]);
                row.number(spec::ACTION, Action::Delete as u32);
                row.number(spec::META, 0);
                row.number(spec::PRED_COUNT, 1);
                row.number(spec::PRED_ACTOR, self.elem.actor);
                row.counter(spec::PRED_CTR, self.elem.ctr);
            }
        }
        row
    }
}

fn is_one_char(text: &[u8]) -> bool {
    text.first().is_some_and(|first| char_len(*first) == text.len()) && std::str::from_utf8(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::column::ColumnsOut;
    use crate::codec::op_writer::{OpWriter, collect};
    use crate::codec::ops::{RawKey, Row as OpRow, RowKind};
    use crate::codec::value::RawValue;

    /// What the general writer makes of a keystroke.
    fn general(stroke: &Stroke<'_>) -> Vec<u8> {
        let row = OpRow {
            id: OpId::new(9, 0),
            obj: stroke.obj,
            key: RawKey::Elem(stroke.elem),
            insert: stroke.text.is_some(),
            action: if stroke.text.is_some() { Action::Set } else { Action::Delete },
            value: stroke.text.map_or(RawValue::NULL, |bytes| RawValue { code: code::STR, bytes }),
            expand: false,
            mark: None,
        };
        let mut writer = OpWriter::default();
        writer.row(
            &row,
            if stroke.text.is_some() { &[] } else { std::slice::from_ref(&stroke.elem) },
            RowKind::Change,
        );
        let mut columns = ColumnsOut::default();
        collect(&mut writer, RowKind::Change, &mut columns);
        let mut out = vec![];
        columns.write_layout(&mut out);
        columns.write_data(&mut out);
        out
    }

    #[test]
    fn agrees_with_the_general_writer_and_reads_it_back() {
        let counters = [1, 63, 64, 127, 128, 8191, 8192, 1 << 20, u32::MAX];
        let ids = || counters.iter().flat_map(|ctr| (0..3).map(|actor| OpId::new(*ctr, actor)));
        let texts: [Option<&[u8]>; 5] =
            [None, Some(b"x"), Some("é".as_bytes()), Some("€".as_bytes()), Some("🦀".as_bytes())];
        let mut block = Block::default();
        for obj in ids().chain([OpId::NONE]) {
            for elem in ids().chain([OpId::NONE]) {
                for text in texts.into_iter().filter(|text| text.is_some() || !elem.is_none()) {
                    let stroke = Stroke { obj, elem, text };
                    block.clear();
                    stroke.write(&mut block);
                    let bytes = general(&stroke);
                    assert_eq!(block.body(), bytes, "{stroke:?}");
                    assert_eq!(Stroke::read(&bytes, 3), Some((stroke, bytes.len())));
                    let used = obj.actor.max(elem.actor) as usize;
                    assert_eq!(Stroke::read(&bytes, used), None, "an actor that is not there");
                }
            }
        }
    }

    #[test]
    fn reads_nothing_else() {
        let stroke = Stroke { obj: OpId::new(1, 0), elem: OpId::new(200, 1), text: Some(b"x") };
        for stroke in [stroke, Stroke { text: None, ..stroke }] {
            let bytes = general(&stroke);
            for at in 0..bytes.len() {
                assert_eq!(Stroke::read(&bytes[..at], 2), None);
                for flip in 1..=255u8 {
                    let mut bad = bytes.clone();
                    bad[at] ^= flip;
                    // Another number or character is another keystroke; then it is written just so.
                    if let Some((read, len)) = Stroke::read(&bad, 2) {
                        assert_eq!(general(&read), bad[..len]);
                    }
                }
            }
        }
        let long = Stroke { text: Some(b"xy"), ..stroke };
        assert_eq!(Stroke::read(&general(&long), 2), None, "two characters");
    }
}
