//! Original columns of a loaded document. While the document is unchanged, they equal a new encoding byte for byte,
//! unless their writer used another valid form.
//!
//! Readers refuse every longer form of numbers, runs and orders. Accepted forms that this writer does not produce are
//! detected at the save, and the document is encoded anew. The same happens if a column cannot be read a second time.

use std::sync::Arc;

use super::Shortcuts;
use crate::codec::chunks::document::{
    COLUMNS, Column, DocumentView, deflated, effort, frame_sections, spec, stored,
};
use crate::codec::columns::boolean::BoolCursor;
use crate::codec::columns::rle::RleCursor;
use crate::codec::columns::section::effort_of;
use crate::codec::ops::op_reader::spec as ops;
use crate::codec::shortcuts::original_rows::{Columns, OriginalRows, all, get, has_texts};
use crate::types::{ActorIdx, ChangeHash};

/// Shorter documents are encoded anew: that takes no noticeable time.
const FROM: usize = 1 << 12;

/// All columns. Those of keys and values are without their bytes, which the heap of the state contains anyway.
#[derive(Debug)]
pub(crate) struct OriginalColumns {
    changes: Vec<(u32, Arc<Vec<u8>>)>,
    ops: Vec<(u32, Arc<Vec<u8>>)>,
    /// Number of actors in the chunk.
    pub(crate) actors: usize,
    /// Number of operations.
    rows: u64,
}

impl OriginalColumns {
    /// Is keeping the columns of a chunk likely to pay off?
    pub(crate) fn may_keep(view: &DocumentView<'_>, shortcuts: Shortcuts) -> bool {
        shortcuts.pay(view.len(), FROM)
    }

    /// Keeps the columns of a chunk with `rows` operations. `None` if they take more than `room` bytes, or some are of
    /// later versions.
    pub(crate) fn from_view(view: &DocumentView<'_>, rows: u64, room: usize) -> Option<Self> {
        let elsewhere = view.ops.get(ops::KEY_STR).len() + view.ops.get(ops::RAW).len();
        let [known, known_ops] = COLUMNS;
        let unknown = view.changes.unknown(known).or(view.ops.unknown(known_ops));
        if unknown.is_some() || view.len() - elsewhere > room {
            return None;
        }
        let changes = view.changes.all_but(&[]).collect();
        let ops = view.ops.all_but(&[ops::KEY_STR, ops::RAW]).collect();
        Some(Self { changes, ops, actors: view.actors.len(), rows })
    }

    /// Encodes the chunk with these keys and values. `None` if a new encoding would differ.
    pub(crate) fn write(
        &self,
        actors: &[&[u8]],
        heads: &[(ChangeHash, u64)],
        elsewhere: [&[u8]; 2],
        compress: bool,
    ) -> Option<Vec<u8>> {
        let changes: Vec<_> = self.changes.iter().map(|(spec, bytes)| (*spec, &bytes[..])).collect();
        let ops = self.operations(elsewhere);
        if !are_changes_as_written(&changes) || !are_ops_as_written(&ops) {
            return None;
        }
        let texts = effort(has_texts(RleCursor::new(get(&ops, ops::META))));
        let changes = changes.iter().map(|&(spec, bytes)| (spec, bytes.into(), effort_of(spec)));
        let ops = ops.iter().map(|&(spec, bytes)| {
            let effort = if spec == ops::RAW { texts } else { effort_of(spec) };
            (spec, bytes.into(), effort)
        });
        let columns: Vec<Column<'_>> = changes.chain(ops).collect();
        let deflated = deflated(&columns, compress);
        Some(frame_sections(actors, heads, stored(columns.split_at(self.changes.len()).into(), &deflated)))
    }

    /// The rows of operations with these keys and values, if the columns equal a new encoding. `actors` maps the
    /// chunk's actor indexes to those of the file to be written.
    pub(crate) fn rows<'a>(
        &'a self,
        elsewhere: [&'a [u8]; 2],
        actors: Vec<ActorIdx>,
    ) -> Option<OriginalRows<'a>> {
        let ops = self.operations(elsewhere);
        are_ops_as_written(&ops).then(|| OriginalRows::new(&ops, actors, self.rows))
    }

    /// The columns of operations, in order.
    fn operations<'a>(&'a self, [keys, values]: [&'a [u8]; 2]) -> Vec<(u32, &'a [u8])> {
        let mut ops: Vec<_> = self.ops.iter().map(|(spec, bytes)| (*spec, &bytes[..])).collect();
        ops.extend([(ops::KEY_STR, keys), (ops::RAW, values)]);
        ops.sort_unstable_by_key(|(spec, _)| *spec);
        ops
    }
}

/// Does every change have an entry for extra bytes, and is no message empty?
fn are_changes_as_written(columns: &Columns<'_>) -> bool {
    let (extra, messages) = (get(columns, spec::EXTRA_META), get(columns, spec::MESSAGE));
    extra.is_empty() == get(columns, spec::ACTOR).is_empty()
        && all(RleCursor::new(extra), |meta: Option<u64>| meta.is_some())
        && is_omitted_or_has_values(messages)
        && all(RleCursor::new(messages), |message: Option<&str>| message != Some(""))
}

/// Are the insertion flags present, and the all-null columns omitted?
fn are_ops_as_written(columns: &Columns<'_>) -> bool {
    let some = [ops::OBJ_ACTOR, ops::OBJ_CTR, ops::KEY_ACTOR, ops::KEY_CTR, ops::KEY_STR, ops::MARK];
    get(columns, ops::INSERT).is_empty() == get(columns, ops::ACTION).is_empty()
        && some.into_iter().all(|spec| is_omitted_or_has_values(get(columns, spec)))
        && is_ever_true(get(columns, ops::EXPAND))
}

/// Is a column omitted or not all null?
fn is_omitted_or_has_values(bytes: &[u8]) -> bool {
    let mut cursor = RleCursor::<u64>::new(bytes);
    match cursor.peek() {
        Ok(Some((None, rows))) => {
            cursor.skip(rows);
            cursor.offset() < bytes.len()
        }
        Ok(_) => true,
        Err(_) => false,
    }
}

/// Is a column omitted or not all false?
fn is_ever_true(bytes: &[u8]) -> bool {
    let mut cursor = BoolCursor::new(bytes);
    match cursor.peek() {
        Ok(Some((false, rows))) => {
            cursor.skip(rows);
            cursor.offset() < bytes.len()
        }
        Ok(_) => true,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::bytes::reader::Reader;
    use crate::codec::chunks::container::Chunk;
    use crate::codec::columns::section::Stored;
    use crate::codec::limits::Limits;
    use crate::types::{ActorId, ScalarValue};
    use crate::{Document, LoadError, LoadOptions, ObjType, ROOT, Transactable as _};

    /// The parts of a document chunk.
    struct Parts {
        actors: Vec<ActorId>,
        columns: [Vec<(u32, Vec<u8>)>; 2],
    }

    impl Parts {
        fn put(&mut self, section: usize, spec: u32, bytes: &[u8]) {
            let columns = &mut self.columns[section];
            columns.retain(|(found, _)| *found != spec);
            columns.push((spec, bytes.to_vec()));
            columns.sort_unstable();
        }
    }

    /// The document after a change of its parts.
    fn changed(file: &[u8], change: impl Fn(&mut Parts)) -> Vec<u8> {
        let chunk = Chunk::read(&mut Reader::new(file), &Limits::default()).unwrap();
        let view = DocumentView::parse(&chunk.body, &Limits::default()).unwrap();
        let columns = [&view.changes, &view.ops]
            .map(|section| section.all_but(&[]).map(|(spec, bytes)| (spec, bytes.to_vec())).collect());
        let mut parts = Parts { actors: view.actors, columns };
        change(&mut parts);
        let actors: Vec<&[u8]> = parts.actors.iter().map(ActorId::as_bytes).collect();
        let heads: Vec<_> = view.heads.into_iter().zip(view.head_rows.unwrap()).collect();
        let sections = parts.columns.each_ref().map(|section| {
            section
                .iter()
                .map(|(spec, bytes)| Stored { spec: *spec, deflated: false, bytes: bytes[..].into() })
                .collect()
        });
        frame_sections(&actors, &heads, sections)
    }

    /// Loads a document that keeps columns of any size.
    fn load(file: &[u8]) -> Result<Document, LoadError> {
        let limits = Limits { shortcuts: Shortcuts::Always, ..Limits::default() };
        Document::load_with(file, LoadOptions::new().limits(limits))
    }

    fn has_original_columns(doc: &Document) -> bool {
        doc.state.write_original_columns(false).is_some()
    }

    /// A document of two actors with an operation of every kind.
    fn everything() -> Document {
        let mut doc = Document::new().with_actor(ActorId::from(&[1][..]));
        let created = doc.transact(|tx| {
            let text = tx.put_object(ROOT, "text", ObjType::Text)?;
            tx.splice_text(&text, 0, 0, "some words, déjà vu")?;
            tx.put(ROOT, "counter", ScalarValue::counter(1))?;
            let list = tx.put_object(ROOT, "list", ObjType::List)?;
            (0..9).try_for_each(|n| tx.insert(&list, n, n as i64))?;
            Ok::<_, crate::EditError>((text, list))
        });
        let (text, list) = created.unwrap();
        let mut fork = doc.fork().with_actor(ActorId::from(&[2][..]));
        let edit = fork.transact(|tx| {
            tx.increment(ROOT, "counter", 3)?;
            tx.splice_text(&text, 4, 2, "!")?;
            tx.delete(&list, 3)?;
            tx.put(&list, 1, "one")
        });
        edit.unwrap();
        doc.transact(|tx| tx.put(&list, 1, 7.5)).unwrap();
        doc.merge(&fork).unwrap();
        doc
    }

    #[test]
    fn own_files_are_saved_from_their_columns() {
        let mut doc = everything();
        for file in [doc.save(), doc.save_nocompress()] {
            let mut again = load(&file).unwrap();
            assert!(has_original_columns(&again));
            again.check(true);
            assert!(again.save() == doc.save() && again.save_nocompress() == doc.save_nocompress());
            assert!(has_original_columns(&again.fork()), "a copy has them, too");
            again.transact(|tx| tx.put(ROOT, "more", 1)).unwrap();
            assert!(!has_original_columns(&again));
            again.check(true);
        }
        assert!(!has_original_columns(&doc), "it was never loaded");
    }

    #[test]
    fn other_valid_forms_are_encoded_anew() {
        let mut doc = Document::new().with_actor(ActorId::from(&[1][..]));
        doc.transact(|tx| tx.put(ROOT, "k", 1)).unwrap();
        let file = doc.save_nocompress();
        assert_eq!(changed(&file, |_| ()), file);
        let nulls = [0, 1];
        let others: [&dyn Fn(&mut Parts); 15] = [
            &|parts| {
                parts.actors.insert(0, ActorId::from(&[0][..]));
                parts.put(0, spec::ACTOR, &[0x7f, 1]);
                parts.put(1, ops::ID_ACTOR, &[0x7f, 1]);
            },
            &|parts| parts.actors.push(ActorId::from(&[2][..])),
            &|parts| parts.put(0, spec::MESSAGE, &nulls),
            &|parts| parts.put(0, spec::MESSAGE, &[0x7f, 0]),
            &|parts| parts.put(0, spec::EXTRA_META, &[]),
            &|parts| parts.put(0, spec::EXTRA_META, &nulls),
            &|parts| parts.put(0, 0x71, &[0x7f, 0]),
            &|parts| [ops::OBJ_ACTOR, ops::OBJ_CTR].iter().for_each(|spec| parts.put(1, *spec, &nulls)),
            &|parts| parts.put(1, ops::KEY_ACTOR, &nulls),
            &|parts| parts.put(1, ops::KEY_CTR, &nulls),
            &|parts| parts.put(1, ops::INSERT, &[]),
            &|parts| parts.put(1, ops::EXPAND, &[1]),
            &|parts| parts.put(1, ops::MARK, &nulls),
            &|parts| parts.put(1, ops::PRED_COUNT, &nulls),
            &|parts| parts.put(1, 0xb1, &nulls),
        ];
        for (n, other) in others.iter().enumerate() {
            let foreign = changed(&file, other);
            assert_ne!(foreign, file, "{n}");
            let mut again = load(&foreign).unwrap_or_else(|error| panic!("{n}: {error}"));
            assert!(!has_original_columns(&again), "{n}");
            assert_eq!(again.save_nocompress(), file, "{n}");
        }
    }
}
