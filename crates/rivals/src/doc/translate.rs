//! Translation between scripts and engines, as macros. Hashmill has the names of the official crate, so both use the same text with
//! the types of the calling module.

/// Defines the methods of a [`Peer`](crate::doc::peer::Peer) that have the same source for both engines, for types with a document
/// `doc` and a method `object`. The argument is the text of a mark.
macro_rules! shared_methods {
    ($mark:ident => $mark_text:expr) => {
        type SyncState = State;

        fn put(&mut self, object: &str, prop_ref: PropRef<'_>, value: &Scalar) -> CallResult<()> {
            call_result(self.doc.put(self.object(object)?, prop(prop_ref), scalar(value)))
        }

        fn put_object(&mut self, object: &str, prop_ref: PropRef<'_>, kind: Kind) -> CallResult<String> {
            let id = self.doc.put_object(self.object(object)?, prop(prop_ref), obj_type(kind));
            call_result(id).map(|id| id.to_string())
        }

        fn insert(&mut self, object: &str, index: usize, value: &Scalar) -> CallResult<()> {
            call_result(self.doc.insert(self.object(object)?, index, scalar(value)))
        }

        fn insert_object(&mut self, object: &str, index: usize, kind: Kind) -> CallResult<String> {
            let id = self.doc.insert_object(self.object(object)?, index, obj_type(kind));
            call_result(id).map(|id| id.to_string())
        }

        fn delete(&mut self, object: &str, prop_ref: PropRef<'_>) -> CallResult<()> {
            call_result(self.doc.delete(self.object(object)?, prop(prop_ref)))
        }

        fn increment(&mut self, object: &str, prop_ref: PropRef<'_>, by: i64) -> CallResult<()> {
            call_result(self.doc.increment(self.object(object)?, prop(prop_ref), by))
        }

        fn splice_text(&mut self, object: &str, index: usize, delete: isize, text: &str) -> CallResult<()> {
            call_result(self.doc.splice_text(self.object(object)?, index, delete, text))
        }

        fn split_block(&mut self, object: &str, index: usize) -> CallResult<String> {
            call_result(self.doc.split_block(self.object(object)?, index)).map(|id| id.to_string())
        }

        fn join_block(&mut self, object: &str, index: usize) -> CallResult<()> {
            call_result(self.doc.join_block(self.object(object)?, index))
        }

        fn replace_block(&mut self, object: &str, index: usize) -> CallResult<String> {
            call_result(self.doc.replace_block(self.object(object)?, index)).map(|id| id.to_string())
        }

        fn rollback(&mut self) -> usize {
            self.doc.rollback()
        }

        fn integrate(&mut self) {
            self.doc.integrate();
        }

        fn heads(&mut self) -> Vec<Hash> {
            plain_hashes(self.doc.get_heads())
        }

        fn next_message(&mut self, state: &mut State) -> Option<Vec<u8>> {
            self.doc.sync().generate_sync_message(state).map(|message| message.encode())
        }

        fn encode_state(state: &State) -> Vec<u8> {
            state.encode()
        }

        fn decode_state(bytes: &[u8]) -> CallResult<State> {
            call_result(State::decode(bytes))
        }

        fn read_only(state: &mut State, read_only: bool) {
            state.set_read_only(read_only);
        }

        fn kind(&self, object: &str) -> Option<Kind> {
            self.doc.object_type(self.object(object).ok()?).ok().map(kind)
        }

        fn text(&self, object: &str, at: Option<&[Hash]>) -> CallResult<String> {
            let object = self.object(object)?;
            call_result(match at {
                None => self.doc.text(object),
                Some(at) => self.doc.text_at(object, &hashes(at)),
            })
        }

        fn get(
            &self,
            object: &str,
            prop_ref: PropRef<'_>,
            at: Option<&[Hash]>,
        ) -> CallResult<Option<(String, String)>> {
            let object = self.object(object)?;
            let value_and_id = call_result(match at {
                None => self.doc.get(object, prop(prop_ref)),
                Some(at) => self.doc.get_at(object, prop(prop_ref), &hashes(at)),
            })?;
            Ok(value_and_id.map(|(value, id)| (value_text(&value), id.to_string())))
        }

        fn get_all(&self, object: &str, prop_ref: PropRef<'_>, at: Option<&[Hash]>) -> CallResult<Values> {
            let object = self.object(object)?;
            let values = call_result(match at {
                None => self.doc.get_all(object, prop(prop_ref)),
                Some(at) => self.doc.get_all_at(object, prop(prop_ref), &hashes(at)),
            })?;
            Ok(values.iter().map(|(value, id)| (value_text(value), id.to_string())).collect())
        }

        fn marks(&self, object: &str, at: Option<&[Hash]>) -> CallResult<Vec<String>> {
            let object = self.object(object)?;
            let marks = call_result(match at {
                None => self.doc.marks(object),
                Some(at) => self.doc.marks_at(object, &hashes(at)),
            })?;
            Ok(marks.iter().map(|$mark| $mark_text).collect())
        }

        fn spans(&self, object: &str, at: Option<&[Hash]>) -> CallResult<Vec<String>> {
            let object = self.object(object)?;
            let spans = call_result(match at {
                None => self.doc.spans(object),
                Some(at) => self.doc.spans_at(object, &hashes(at)),
            })?;
            Ok(spans.map(span_text).collect())
        }
    };
}

/// Defines `encoding`, `obj_type`, `kind`, `prop`, `scalar`, `expand_mark`, `value_text` and other texts, `patch_text`, `hashes`,
/// `plain_hashes` and `call_result` with the types of these names in the calling module. The arguments are its types of a property and of
/// a scalar, and the texts of a mark and of inserted characters.
macro_rules! shared_functions {
    ($prop:ty, $scalar:ty, $mark:ident => $mark_text:expr, $text:ident => $string:expr) => {
        fn call_result<T, E: ToString>(result: Result<T, E>) -> CallResult<T> {
            result.map_err(|error| error.to_string())
        }

        fn encoding(encoding: Encoding) -> TextEncoding {
            match encoding {
                Encoding::Scalars => TextEncoding::UnicodeCodePoint,
                Encoding::Utf8 => TextEncoding::Utf8CodeUnit,
                Encoding::Utf16 => TextEncoding::Utf16CodeUnit,
                Encoding::Graphemes => TextEncoding::GraphemeCluster,
            }
        }

        fn obj_type(kind: Kind) -> ObjType {
            match kind {
                Kind::Map => ObjType::Map,
                Kind::List => ObjType::List,
                Kind::Text => ObjType::Text,
                Kind::Table => ObjType::Table,
            }
        }

        fn kind(obj_type: ObjType) -> Kind {
            match obj_type {
                ObjType::Map => Kind::Map,
                ObjType::List => Kind::List,
                ObjType::Text => Kind::Text,
                ObjType::Table => Kind::Table,
            }
        }

        fn prop(prop_ref: PropRef<'_>) -> $prop {
            match prop_ref {
                PropRef::Key(key) => key.into(),
                PropRef::Index(index) => index.into(),
            }
        }

        fn value_text(value: &Value<'_>) -> String {
            match value {
                Value::Object(obj_type) => object_text(kind(*obj_type)).to_owned(),
                Value::Scalar(value) => scalar_text(value),
            }
        }

        fn scalar(value: &Scalar) -> $scalar {
            match value {
                Scalar::Null => ScalarValue::Null,
                Scalar::Boolean(value) => ScalarValue::Boolean(*value),
                Scalar::Uint(value) => ScalarValue::Uint(*value),
                Scalar::Int(value) => ScalarValue::Int(*value),
                Scalar::F64(value) => ScalarValue::F64(*value),
                Scalar::Str(value) => value.as_str().into(),
                Scalar::Bytes(value) => value.clone().into(),
                Scalar::Counter(value) => ScalarValue::counter(*value),
                Scalar::Timestamp(value) => ScalarValue::Timestamp(*value),
            }
        }

        fn scalar_text(value: &$scalar) -> String {
            match value {
                ScalarValue::Null => "null".to_owned(),
                ScalarValue::Boolean(value) => value.to_string(),
                ScalarValue::Uint(value) => format!("uint {value}"),
                ScalarValue::Int(value) => format!("int {value}"),
                ScalarValue::F64(value) => format!("f64 {:016x}", value.to_bits()),
                ScalarValue::Str(value) => format!("str {value:?}"),
                ScalarValue::Bytes(value) => format!("bytes {value:02x?}"),
                ScalarValue::Counter(value) => format!("counter {value}"),
                ScalarValue::Timestamp(value) => format!("timestamp {value}"),
                ScalarValue::Unknown { type_code, bytes } => format!("type {type_code} {bytes:02x?}"),
            }
        }

        fn mark_text(name: &str, value: &$scalar, start: usize, end: usize) -> String {
            format!("{start}..{end} {name} {}", scalar_text(value))
        }

        fn map_text<'k>(entries: impl Iterator<Item = (&'k String, String)>) -> String {
            let entries: Vec<String> = entries.map(|(key, value)| format!("{key:?}: {value}")).collect();
            format!("{{{}}}", entries.join(", "))
        }

        fn expand_mark(expand: Expand) -> ExpandMark {
            match expand {
                Expand::Before => ExpandMark::Before,
                Expand::After => ExpandMark::After,
                Expand::Both => ExpandMark::Both,
                Expand::None => ExpandMark::None,
            }
        }

        fn patch_text(patch: &Patch) -> PatchText {
            let path: Vec<String> =
                patch.path.iter().map(|(object, prop)| format!("{object}/{prop}")).collect();
            let target = format!("{} {path:?}", patch.obj);
            let put = |(value, id): &(Value<'static>, ObjId), conflict: bool| {
                format!("{} by {id}{}", value_text(value), if conflict { " of several" } else { "" })
            };
            let action = match &patch.action {
                PatchAction::PutMap { key, value, conflict } => {
                    format!("put {key:?} {}", put(value, *conflict))
                }
                PatchAction::PutSeq { index, value, conflict } => {
                    format!("put {index} {}", put(value, *conflict))
                }
                PatchAction::Insert { index, values } => {
                    let values = values
                        .iter()
                        .map(|(value, id, conflict)| put(&(value.clone(), id.clone()), *conflict));
                    format!("insert {index} {:?}", values.collect::<Vec<_>>())
                }
                PatchAction::SpliceText { index, value: $text, .. } => {
                    return PatchText::Splice { target, index: *index, text: $string };
                }
                PatchAction::Increment { prop, value } => format!("increment {prop} {value}"),
                PatchAction::Conflict { prop } => format!("conflict {prop}"),
                PatchAction::DeleteMap { key } => format!("delete {key:?}"),
                PatchAction::DeleteSeq { index, length } => format!("delete {index} {length}"),
                PatchAction::Mark { marks } => {
                    let marks = marks.iter().map(|$mark| $mark_text);
                    return PatchText::Marks(marks.collect());
                }
            };
            PatchText::Other(format!("{target} {action}"))
        }

        fn hashes(hashes: &[Hash]) -> Vec<ChangeHash> {
            hashes.iter().map(|hash| ChangeHash(*hash)).collect()
        }

        fn plain_hashes(hashes: Vec<ChangeHash>) -> Vec<Hash> {
            hashes.into_iter().map(|hash| hash.0).collect()
        }
    };
}

pub(super) use {shared_functions, shared_methods};
