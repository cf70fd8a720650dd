//! Columns of a change with one operation on a key, as written by programs that commit each value separately.

use super::block::Block;
use super::literals::{Literals, OneRow};
use crate::codec::ops::op_reader::spec;
use crate::codec::raw_value::RawValue;
use crate::codec::row::{Action, RawKey, Row};
use crate::codec::rules;
use crate::types::OpId;

/// Maximum total length of key and value; longer ones are left to the general path.
const SHORT: usize = 64;

/// One operation on a map key with at most one predecessor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Put<'a> {
    pub(crate) obj: OpId,
    pub(crate) key: &'a str,
    pub(crate) action: Action,
    pub(crate) value: RawValue<'a>,
    /// The predecessor.
    pub(crate) pred: OpId,
}

impl<'a> Put<'a> {
    /// Is it within the length limit?
    pub(crate) fn is_short(&self) -> bool {
        self.key.len() + self.value.bytes.len() <= SHORT
    }

    /// Writes layout and data of the columns, with actor indexes of the chunk. The operation must be short.
    #[inline]
    pub(crate) fn write(&self, out: &mut Block) {
        self.literals().write(out);
    }

    /// Reads columns with exactly this operation in the form of [`Self::write`]; returns their length, too. All others
    /// are left to the general reader.
    pub(crate) fn read(section: &'a [u8], actors: usize) -> Option<(Self, usize)> {
        let mut row = OneRow::new(section)?;
        let obj = row.id(spec::OBJ_ACTOR, |row| row.number(spec::OBJ_CTR))?;
        let [0x7f, len, key @ ..] = row.column(spec::KEY_STR)? else { return None };
        let key = std::str::from_utf8(key).ok().filter(|key| key.len() == usize::from(*len))?;
        row.is(spec::INSERT, [1])?;
        let action = Action::from_code(row.number(spec::ACTION)?.into()).ok()?;
        let meta = row.number(spec::META)?;
        let bytes = if meta < 16 { &[] } else { row.column(spec::RAW)? };
        let value = RawValue { code: (meta & 0xf) as u8, bytes };
        let pred = match row.number(spec::PRED_COUNT)? {
            0 => OpId::NONE,
            1 => {
                row.id(spec::PRED_ACTOR, |row| row.counter(spec::PRED_CTR)).filter(|pred| !pred.is_none())?
            }
            _ => return None,
        };
        let put = Self { obj, key, action, value, pred };
        let known = obj.actor.index() < actors && pred.actor.index() < actors;
        let sound = known
            && u64::from(meta) == value.meta()
            && value.check().is_ok()
            && rules::alone(&put.row(OpId::NONE)).is_ok();
        let len = row.end()?;
        (sound && put.is_short()).then_some((put, len))
    }

    /// The row of columns with id `id`.
    pub(crate) fn row(&self, id: OpId) -> Row<'a> {
        let Self { obj, key, action, value, .. } = *self;
        Row { id, obj, key: RawKey::Map(key), insert: false, action, value, expand: false, mark: None }
    }

    #[inline]
    fn literals(&self) -> Literals<104> {
        let mut row = Literals::new();
        if !self.obj.is_none() {
            row.number(spec::OBJ_ACTOR, self.obj.actor.get());
            row.number(spec::OBJ_CTR, self.obj.ctr);
        }
        row.text(spec::KEY_STR, self.key);
        row.bytes(spec::INSERT, &[1]);
        row.number(spec::ACTION, self.action as u32);
        row.number(spec::META, self.value.meta() as u32);
        if !self.value.bytes.is_empty() {
            row.bytes(spec::RAW, self.value.bytes);
        }
        row.number(spec::PRED_COUNT, u32::from(!self.pred.is_none()));
        if !self.pred.is_none() {
            row.number(spec::PRED_ACTOR, self.pred.actor.get());
            row.counter(spec::PRED_CTR, self.pred.ctr);
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::ops::op_reader::RowKind;
    use crate::codec::ops::op_writer::{OpWriter, write_columns};
    use crate::codec::raw_value::code;
    use crate::types::ActorIdx;

    /// The output of the general writer.
    fn general(put: &Put<'_>) -> Vec<u8> {
        let mut writer = OpWriter::default();
        let preds = if put.pred.is_none() { &[][..] } else { std::slice::from_ref(&put.pred) };
        writer.row(&put.row(OpId::new(9, ActorIdx::from_u32(0))), preds, RowKind::Change);
        let mut out = vec![];
        write_columns(&writer.columns(RowKind::Change), &mut out);
        out
    }

    #[test]
    fn agrees_with_the_general_writer_and_reads_it_back() {
        let counters = [1, 64, 128, 8192, u32::MAX];
        let ids =
            || counters.iter().flat_map(|ctr| (0..3).map(|actor| OpId::new(*ctr, ActorIdx::from_u32(actor))));
        let long = "x".repeat(SHORT);
        let value = |code, bytes| (Action::Set, RawValue { code, bytes });
        let values = [
            value(code::TRUE, &[][..]),
            value(code::INT, &[5]),
            value(code::STR, "é".as_bytes()),
            value(code::BYTES, &long.as_bytes()[..60]),
            (Action::Increment, RawValue { code: code::INT, bytes: &[0x7f] }),
            (Action::Delete, RawValue::NULL),
            (Action::MakeText, RawValue::NULL),
        ];
        let mut block = Block::default();
        for obj in ids().chain([OpId::NONE]) {
            for pred in ids().chain([OpId::NONE]) {
                for (key, (action, value)) in
                    ["", "key", &long].iter().flat_map(|key| values.iter().map(move |value| (*key, *value)))
                {
                    let put = Put { obj, key, action, value, pred };
                    let bytes = general(&put);
                    if !put.is_short() {
                        assert_eq!(Put::read(&bytes, 3), None);
                        continue;
                    }
                    block.clear();
                    put.write(&mut block);
                    assert_eq!(block.body(), bytes, "{put:?}");
                    assert_eq!(Put::read(&bytes, 3), Some((put, bytes.len())));
                    let used = obj.actor.max(pred.actor).index();
                    assert_eq!(Put::read(&bytes, used), None, "an absent actor");
                }
            }
        }
    }

    #[test]
    fn reads_nothing_else() {
        let value = RawValue { code: code::STR, bytes: b"value" };
        let put = Put {
            obj: OpId::new(1, ActorIdx::from_u32(0)),
            key: "k",
            action: Action::Set,
            value,
            pred: OpId::new(200, ActorIdx::from_u32(1)),
        };
        for put in [put, Put { obj: OpId::NONE, pred: OpId::NONE, ..put }] {
            let bytes = general(&put);
            for at in 0..bytes.len() {
                assert_eq!(Put::read(&bytes[..at], 2), None);
                for flip in 1..=255u8 {
                    let mut bad = bytes.clone();
                    bad[at] ^= flip;
                    // Another key or value is a different, equally valid operation.
                    if let Some((read, len)) = Put::read(&bad, 2) {
                        assert_eq!(general(&read), bad[..len]);
                        assert_eq!(
                            (read.value.check(), rules::alone(&read.row(OpId::NONE))),
                            (Ok(()), Ok(()))
                        );
                    }
                }
            }
        }
    }
}
