//! Columns of an inventory: their names and types, and the rows of a batch.

use std::cmp::Reverse;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use hashmill_hash::blake3;

use crate::location::Location;
use crate::row::{ObjectRequest, Row};
use crate::row_result::{Failure, FailureKind};

/// Names of columns. A name that is not given defaults to those of S3 Inventory and of result files.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Columns {
    /// Whole name of an object: `url`, `uri` or `path`.
    pub url: Option<String>,
    /// Without a `url` column: `bucket`, together with `key`.
    pub bucket: Option<String>,
    /// `key`.
    pub key: Option<String>,
    /// Scheme before `bucket`: `s3` by default.
    pub scheme: Option<String>,
    /// `size`.
    pub size: Option<String>,
    /// `e_tag` or `etag`.
    pub etag: Option<String>,
    /// `version_id` or `version`.
    pub version: Option<String>,
    /// Expected digest: `blake3`.
    pub blake3: Option<String>,
}

/// Maximum bytes of a name, and of a tag or version. No store has longer ones, and a small file may repeat them any number of times.
const NAME: usize = 16 << 10;
const TAG: usize = 1 << 10;

/// A column to read.
pub(super) struct Used {
    /// Index in the schema.
    pub(super) index: usize,
    /// Maximum bytes of a value.
    pub(super) value_len: usize,
}

/// Column indexes of one schema.
struct Chosen {
    name: Name,
    size: Option<usize>,
    etag: Option<usize>,
    version: Option<usize>,
    blake3: Option<usize>,
}

enum Name {
    Url(usize),
    Key { bucket: usize, key: usize },
}

impl Columns {
    /// Whether these columns are in `schema`, and of types that say what they should.
    pub(crate) fn check(&self, schema: &Schema) -> Result<(), String> {
        self.chosen(schema).map(drop)
    }

    pub(crate) fn list_digests(&self, schema: &Schema) -> bool {
        self.chosen(schema).is_ok_and(|chosen| chosen.blake3.is_some())
    }

    /// The columns of `schema` that are read, in its order.
    pub(super) fn used(&self, schema: &Schema) -> Vec<Used> {
        let Ok(Chosen { name, size, etag, version, blake3 }) = self.chosen(schema) else { return Vec::new() };
        let (name, bucket) = match name {
            Name::Url(url) => (url, None),
            Name::Key { bucket, key } => (key, Some(bucket)),
        };
        let names = [Some(name), bucket].map(|index| (index, NAME));
        let others = [size, etag, version, blake3].map(|index| (index, TAG));
        let used = names.into_iter().chain(others);
        let mut used: Vec<Used> =
            used.filter_map(|(index, value_len)| Some(Used { index: index?, value_len })).collect();
        // A column may be given two meanings. It is read once, by the longer of both.
        used.sort_by_key(|used| (used.index, Reverse(used.value_len)));
        used.dedup_by_key(|used| used.index);
        used
    }

    fn chosen(&self, schema: &Schema) -> Result<Chosen, String> {
        let find =
            |name: &str| schema.fields().iter().position(|field| field.name().eq_ignore_ascii_case(name));
        // A column that is named must be there. One that is recognised may not be.
        let column = |given: &Option<String>, known: &[&str], fits: fn(&DataType) -> bool| {
            let index = match given {
                Some(name) => {
                    let exact = schema.fields().iter().position(|field| field.name() == name);
                    Some(exact.or_else(|| find(name)).ok_or_else(|| format!("there is no column {name}"))?)
                }
                None => known.iter().find_map(|name| find(name)),
            };
            match index.map(|index| schema.field(index)) {
                Some(field) if !fits(field.data_type()) => {
                    Err(format!("the column {} of type {} cannot be used", field.name(), field.data_type()))
                }
                _ => Ok(index),
            }
        };
        let name = match column(&self.url, &["url", "uri", "path"], is_text)? {
            Some(url) if self.key.is_none() => Name::Url(url),
            _ => {
                let bucket = column(&self.bucket, &["bucket"], is_text)?;
                let key = column(&self.key, &["key"], is_text)?;
                let (bucket, key) =
                    bucket.zip(key).ok_or("a column url, or columns bucket and key are needed")?;
                Name::Key { bucket, key }
            }
        };
        Ok(Chosen {
            name,
            size: column(&self.size, &["size"], is_number)?,
            etag: column(&self.etag, &["e_tag", "etag"], is_text)?,
            version: column(&self.version, &["version_id", "version"], is_text)?,
            blake3: column(&self.blake3, &["blake3"], is_digest)?,
        })
    }
}

fn is_text(of: &DataType) -> bool {
    match of {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

fn is_number(of: &DataType) -> bool {
    use DataType::{Int32, Int64, Null, UInt32, UInt64};
    matches!(of, Int32 | Int64 | UInt32 | UInt64 | Null)
}

fn is_digest(of: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary};
    is_text(of) || matches!(of, Binary | BinaryView | LargeBinary | FixedSizeBinary(32))
}

/// The rows of a batch: as many, in their order.
///
/// # Errors
/// An error in its columns.
pub fn rows(batch: &RecordBatch, columns: &Columns) -> Result<Vec<Row>, String> {
    let schema = batch.schema();
    let chosen = columns.chosen(&schema)?;
    let column = |index: usize| batch.column(index).as_ref();
    let texts = |index: Option<usize>| index.map(|index| bytes(column(index)));
    let url: Values<'_, String> = match chosen.name {
        Name::Url(url) => {
            let url = bytes(column(url));
            Box::new(move |row| Some(text(cut(url(row)?))))
        }
        Name::Key { bucket, key } => {
            let (bucket, key) = (bytes(column(bucket)), bytes(column(key)));
            let scheme = columns.scheme.as_deref().unwrap_or("s3");
            Box::new(move |row| {
                Some(format!("{scheme}://{}/{}", text(cut(bucket(row)?)), text(cut(key(row)?))))
            })
        }
    };
    let (etag, version, blake3) = (texts(chosen.etag), texts(chosen.version), texts(chosen.blake3));
    let size = chosen.size.map(|index| numbers(column(index)));
    let is_hex = chosen.blake3.is_some_and(|index| is_text(column(index).data_type()));
    let row = |row: usize| {
        let url = url(row);
        let of = |values: &Option<Values<'_, &[u8]>>| {
            // Inventories that were text write an empty value for a missing one.
            let value = values.as_ref().and_then(|values| values(row)).filter(|text| !text.is_empty());
            match value {
                Some(value) if value.len() > TAG => {
                    Err(Failure::new(FailureKind::Row, "a tag or a version that is longer than any"))
                }
                value => Ok(value.map(text)),
            }
        };
        let digest = |bytes: &[u8]| if is_hex { hex(bytes) } else { bytes.try_into().ok() };
        let request = (|| {
            let refused = |words: &str| Failure::new(FailureKind::Row, words);
            if url.as_ref().is_some_and(|url| url.len() > NAME) {
                return Err(refused("a name that is longer than any"));
            }
            let location = Location::from_url(url.as_deref().ok_or_else(|| refused("nothing is named"))?)?;
            let size = size.as_ref().and_then(|size| size(row)).map(u64::try_from).transpose();
            let listed = blake3.as_ref().and_then(|values| values(row));
            let blake3 = listed
                .map(|bytes| digest(bytes).ok_or_else(|| refused("what is expected is no digest of BLAKE3")));
            Ok(ObjectRequest {
                location,
                size: size.map_err(|_| refused("the listed size is no size"))?,
                etag: of(&etag)?,
                version: of(&version)?,
                blake3: blake3.transpose()?,
            })
        })();
        Row { url, request }
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

/// The value of each row, `None` for a null.
type Values<'a, T> = Box<dyn Fn(usize) -> Option<T> + 'a>;

/// Truncates a name to one byte more than the maximum, which shows that it is too long.
fn cut(name: &[u8]) -> &[u8] {
    &name[..name.len().min(NAME + 1)]
}

fn text(bytes: &[u8]) -> String {
    // Only columns of text come here, which are UTF-8 by their type.
    String::from_utf8_lossy(bytes).into_owned()
}

fn bytes(column: &dyn Array) -> Values<'_, &[u8]> {
    macro_rules! values {
        ($array:expr) => {{
            let array = $array;
            Box::new(move |row| array.is_valid(row).then(|| array.value(row).as_ref()))
        }};
    }
    match column.data_type() {
        DataType::Utf8 => values!(column.as_string::<i32>()),
        DataType::LargeUtf8 => values!(column.as_string::<i64>()),
        DataType::Utf8View => values!(column.as_string_view()),
        DataType::Binary => values!(column.as_binary::<i32>()),
        DataType::LargeBinary => values!(column.as_binary::<i64>()),
        DataType::BinaryView => values!(column.as_binary_view()),
        DataType::FixedSizeBinary(_) => values!(column.as_fixed_size_binary()),
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary();
            let (keys, values) = (dictionary.normalized_keys(), bytes(dictionary.values().as_ref()));
            Box::new(move |row| if column.is_valid(row) { values(keys[row]) } else { None })
        }
        // All others were refused.
        _ => Box::new(|_| None),
    }
}

fn numbers(column: &dyn Array) -> Values<'_, i128> {
    macro_rules! values {
        ($type:ty) => {{
            let array = column.as_primitive::<$type>();
            Box::new(move |row| array.is_valid(row).then(|| i128::from(array.value(row))))
        }};
    }
    match column.data_type() {
        DataType::Int32 => values!(Int32Type),
        DataType::Int64 => values!(Int64Type),
        DataType::UInt32 => values!(UInt32Type),
        DataType::UInt64 => values!(UInt64Type),
        _ => Box::new(|_| None),
    }
}

fn hex(text: &[u8]) -> Option<[u8; 32]> {
    blake3::Hash::from_hex(text).ok().map(|hash| *hash.as_bytes())
}
