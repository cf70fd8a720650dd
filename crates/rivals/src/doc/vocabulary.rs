//! What a script says, in the words of an engine and back. Ours calls things as the official crate does, so both are told
//! by the same text; the types it names are those of the module that asks for it.

/// Defines `encoding`, `obj_type`, `kind`, `prop`, `expand_mark`, `words` and others, `hashes`, `plain` and `said` with the caller's types of these
/// names; those of a property and a scalar are given as they are written there.
macro_rules! vocabulary {
    ($prop:ty, $scalar:ty) => {
        fn said<T, E: ToString>(result: Result<T, E>) -> Said<T> {
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

        fn prop(place: PlaceRef<'_>) -> $prop {
            match place {
                PlaceRef::Key(key) => key.into(),
                PlaceRef::Index(index) => index.into(),
            }
        }

        fn words(value: &Value<'_>) -> String {
            match value {
                Value::Object(obj_type) => object_word(kind(*obj_type)).to_owned(),
                Value::Scalar(value) => scalar_words(value),
            }
        }

        fn scalar_words(value: &$scalar) -> String {
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

        fn mark_words(name: &str, value: &$scalar, start: usize, end: usize) -> String {
            format!("{start}..{end} {name} {}", scalar_words(value))
        }

        fn map_words<'k>(entries: impl Iterator<Item = (&'k String, String)>) -> String {
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

        fn hashes(hashes: &[Hash]) -> Vec<ChangeHash> {
            hashes.iter().map(|hash| ChangeHash(*hash)).collect()
        }

        fn plain(hashes: Vec<ChangeHash>) -> Vec<Hash> {
            hashes.into_iter().map(|hash| hash.0).collect()
        }
    };
}

pub(super) use vocabulary;
