//! Columns of a change with one keystroke.

use super::block::Block;
use super::keystroke::SingleCharOp;
use super::literals::{Literals, OneRow};
use crate::codec::ops::op_reader::{char_len, spec};
use crate::codec::raw_value::code;
use crate::codec::row::Action;
use crate::types::OpId;

impl<'a> SingleCharOp<'a> {
    /// Writes layout and data of the columns, with actor indexes of the chunk.
    #[inline]
    pub(crate) fn write(&self, out: &mut Block) {
        self.row().write(out);
    }

    /// Reads columns with exactly one keystroke in the form of [`Self::write`]; returns their length, too. All others
    /// are left to the general reader.
    pub(crate) fn read(section: &'a [u8], actors: usize) -> Option<(Self, usize)> {
        let mut row = OneRow::new(section)?;
        let obj = row.id(spec::OBJ_ACTOR, |row| row.number(spec::OBJ_CTR))?;
        let elem = match row.id(spec::KEY_ACTOR, |row| row.counter(spec::KEY_CTR))? {
            OpId::NONE => {
                row.is(spec::KEY_CTR, [0x7f, 0])?;
                OpId::NONE
            }
            elem => elem,
        };
        let text = match row.column(spec::INSERT)? {
            [0, 1] => {
                row.is(spec::ACTION, [0x7f, Action::Set as u8])?;
                let [0x7f, meta] = row.column(spec::META)? else { return None };
                let text = row.column(spec::RAW).filter(|text| is_one_char(text))?;
                row.is(spec::PRED_COUNT, [0x7f, 0])?;
                if *meta != (text.len() as u8) << 4 | code::STR {
                    return None;
                }
                Some(text)
            }
            [1] => {
                row.is(spec::ACTION, [0x7f, Action::Delete as u8])?;
                row.is(spec::META, [0x7f, 0])?;
                row.is(spec::PRED_COUNT, [0x7f, 1])?;
                let pred = row.id(spec::PRED_ACTOR, |row| row.counter(spec::PRED_CTR))?;
                if pred != elem || elem.is_none() {
                    return None;
                }
                None
            }
            _ => return None,
        };
        let known = obj.actor.index() < actors && elem.actor.index() < actors;
        let len = row.end()?;
        known.then_some((Self { obj, elem, text }, len))
    }

    #[inline]
    fn row(&self) -> Literals<64> {
        let mut row = Literals::new();
        if !self.obj.is_none() {
            row.number(spec::OBJ_ACTOR, self.obj.actor.get());
            row.number(spec::OBJ_CTR, self.obj.ctr);
        }
        if !self.elem.is_none() {
            row.number(spec::KEY_ACTOR, self.elem.actor.get());
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
                row.number(spec::PRED_ACTOR, self.elem.actor.get());
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
    use crate::codec::ops::op_reader::RowKind;
    use crate::codec::ops::op_writer::{OpWriter, write_columns};
    use crate::codec::raw_value::RawValue;
    use crate::codec::row::{RawKey, Row as OpRow};
    use crate::types::ActorIdx;

    /// The output of the general writer.
    fn general(char_op: &SingleCharOp<'_>) -> Vec<u8> {
        let row = OpRow {
            id: OpId::new(9, ActorIdx::from_u32(0)),
            obj: char_op.obj,
            key: RawKey::Elem(char_op.elem),
            insert: char_op.text.is_some(),
            action: if char_op.text.is_some() { Action::Set } else { Action::Delete },
            value: char_op.text.map_or(RawValue::NULL, |bytes| RawValue { code: code::STR, bytes }),
            expand: false,
            mark: None,
        };
        let mut writer = OpWriter::default();
        writer.row(
            &row,
            if char_op.text.is_some() { &[] } else { std::slice::from_ref(&char_op.elem) },
            RowKind::Change,
        );
        let mut out = vec![];
        write_columns(&writer.columns(RowKind::Change), &mut out);
        out
    }

    #[test]
    fn agrees_with_the_general_writer_and_reads_it_back() {
        let counters = [1, 63, 64, 127, 128, 8191, 8192, 1 << 20, u32::MAX];
        let ids =
            || counters.iter().flat_map(|ctr| (0..3).map(|actor| OpId::new(*ctr, ActorIdx::from_u32(actor))));
        let texts: [Option<&[u8]>; 5] =
            [None, Some(b"x"), Some("é".as_bytes()), Some("€".as_bytes()), Some("🦀".as_bytes())];
        let mut block = Block::default();
        for obj in ids().chain([OpId::NONE]) {
            for elem in ids().chain([OpId::NONE]) {
                for text in texts.into_iter().filter(|text| text.is_some() || !elem.is_none()) {
                    let char_op = SingleCharOp { obj, elem, text };
                    block.clear();
                    char_op.write(&mut block);
                    let bytes = general(&char_op);
                    assert_eq!(block.body(), bytes, "{char_op:?}");
                    assert_eq!(SingleCharOp::read(&bytes, 3), Some((char_op, bytes.len())));
                    let used = obj.actor.max(elem.actor).index();
                    assert_eq!(SingleCharOp::read(&bytes, used), None, "an absent actor");
                }
            }
        }
    }

    #[test]
    fn reads_nothing_else() {
        let char_op = SingleCharOp {
            obj: OpId::new(1, ActorIdx::from_u32(0)),
            elem: OpId::new(200, ActorIdx::from_u32(1)),
            text: Some(b"x"),
        };
        for char_op in [char_op, SingleCharOp { text: None, ..char_op }] {
            let bytes = general(&char_op);
            for at in 0..bytes.len() {
                assert_eq!(SingleCharOp::read(&bytes[..at], 2), None);
                for flip in 1..=255u8 {
                    let mut bad = bytes.clone();
                    bad[at] ^= flip;
                    // Another number or character is a different, equally valid keystroke.
                    if let Some((read, len)) = SingleCharOp::read(&bad, 2) {
                        assert_eq!(general(&read), bad[..len]);
                    }
                }
            }
        }
        let long = SingleCharOp { text: Some(b"xy"), ..char_op };
        assert_eq!(SingleCharOp::read(&general(&long), 2), None, "two characters");
    }
}
