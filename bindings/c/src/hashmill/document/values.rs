//! Contents of a document in C types: values, ids of objects, lists of both.
#![expect(unsafe_code, reason = "names that a linker finds, an array of values")]

use crate::hashmill::error::{HM_ARGUMENT, hm_error};
use crate::hashmill::pointers::{
    Arena, call, free, given, hm_bytes, hm_owner, hm_span, slice_from_caller, slot,
};
use core::mem::MaybeUninit;
use core::ptr;
use hashmill_doc::{ObjId, ObjType, Prop, ScalarValue, Value};
use std::borrow::Cow;

/// The kind of a value.
pub type hm_kind = u32;

/// Null.
pub const HM_KIND_NULL: hm_kind = 0;
/// `integer` is 0 or 1.
pub const HM_KIND_BOOLEAN: hm_kind = 1;
/// `integer`.
pub const HM_KIND_INT: hm_kind = 2;
/// `natural`.
pub const HM_KIND_UINT: hm_kind = 3;
/// `real`.
pub const HM_KIND_F64: hm_kind = 4;
/// `bytes`, in UTF-8: a string that is replaced as a whole. Texts for several people are `HM_KIND_TEXT`.
pub const HM_KIND_STR: hm_kind = 5;
/// `bytes`.
pub const HM_KIND_BYTES: hm_kind = 6;
/// `integer`: a number that adds up concurrent increments.
pub const HM_KIND_COUNTER: hm_kind = 7;
/// `integer`: milliseconds since 1970.
pub const HM_KIND_TIMESTAMP: hm_kind = 8;
/// `bytes` of a type that is newer than this library; `type_code` is its number.
pub const HM_KIND_UNKNOWN: hm_kind = 9;
/// An object: keys with values.
pub const HM_KIND_MAP: hm_kind = 16;
/// An object like a map.
pub const HM_KIND_TABLE: hm_kind = 17;
/// An object: a sequence of values.
pub const HM_KIND_LIST: hm_kind = 18;
/// An object: a sequence of characters, with marks.
pub const HM_KIND_TEXT: hm_kind = 19;

/// A value. `kind` selects the field that has it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_value {
    /// The kind.
    kind: hm_kind,
    /// The number of an unknown type.
    type_code: u32,
    /// A number.
    integer: i64,
    /// A number that is not negative.
    natural: u64,
    /// A floating-point number.
    real: f64,
    /// Bytes.
    bytes: hm_span,
}

/// Several values of the caller.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_values {
    /// The first.
    items: *const hm_value,
    /// Their number.
    len: usize,
}

impl hm_values {
    pub(super) fn values(&self, what: &str) -> Result<&[hm_value], hm_error> {
        // SAFETY: only C fills such a structure.
        unsafe { slice_from_caller(self.items, self.len, what) }
    }
}

/// The id of an object in a document; for the root it is NULL. An id in a list is freed with the list; a single id that a
/// function returned is freed by `hm_obj_id_free`. It is valid for all documents that have the object.
#[derive(Clone, Debug)]
pub struct hm_obj_id(pub(super) ObjId);

/// A value and its place.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_item {
    /// The key, in a map.
    key: hm_span,
    /// The index, in a list.
    index: usize,
    /// The value.
    value: hm_value,
    /// The id of the value: of an object itself, or of the operation that put the value there.
    id: *const hm_obj_id,
    /// Whether concurrent values were put there, and lost.
    conflict: bool,
}

/// An object on a path through a document, and the place of the next one in it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_step {
    /// The object.
    obj: *const hm_obj_id,
    /// The key there, if it is a map.
    key: hm_span,
    /// The index there, if it is a list or text.
    index: usize,
    /// Whether the index is used.
    in_list: bool,
}

/// A path through a document, from the root on.
#[repr(C)]
#[derive(Debug)]
pub struct hm_path {
    /// The first step.
    items: *const hm_step,
    /// Their number.
    len: usize,
    /// Memory of the library.
    owner: Option<Box<hm_owner>>,
}

/// Values.
#[repr(C)]
#[derive(Debug)]
pub struct hm_items {
    /// The first.
    items: *const hm_item,
    /// Their number.
    len: usize,
    /// Memory of the library.
    owner: Option<Box<hm_owner>>,
}

/// The place of a value.
pub(super) enum ValuePos<'a> {
    Key(&'a str),
    Index(usize),
}

/// A value that was found in a document.
pub(super) struct FoundValue<'a> {
    pub(super) at: ValuePos<'a>,
    pub(super) value: Value<'a>,
    pub(super) id: ObjId,
    pub(super) conflict: bool,
}

pub(super) fn kind_of(kind: ObjType) -> hm_kind {
    match kind {
        ObjType::Map => HM_KIND_MAP,
        ObjType::Table => HM_KIND_TABLE,
        ObjType::List => HM_KIND_LIST,
        ObjType::Text => HM_KIND_TEXT,
    }
}

pub(super) fn object_kind(kind: hm_kind) -> Result<ObjType, hm_error> {
    match kind {
        HM_KIND_MAP => Ok(ObjType::Map),
        HM_KIND_TABLE => Ok(ObjType::Table),
        HM_KIND_LIST => Ok(ObjType::List),
        HM_KIND_TEXT => Ok(ObjType::Text),
        _ => Err(hm_error::new(HM_ARGUMENT, format!("kind {kind} is not the kind of an object"))),
    }
}

impl hm_value {
    const NULL: hm_value = hm_value {
        kind: HM_KIND_NULL,
        type_code: 0,
        integer: 0,
        natural: 0,
        real: 0.0,
        bytes: hm_span::EMPTY,
    };

    /// The value for a list whose bytes are in `arena`.
    pub(super) fn from_value(value: &Value<'_>, arena: &mut Arena) -> hm_value {
        match value {
            Value::Object(kind) => hm_value { kind: kind_of(*kind), ..hm_value::NULL },
            Value::Scalar(value) => hm_value::from_scalar(value, arena),
        }
    }

    pub(super) fn from_scalar(value: &ScalarValue<'_>, arena: &mut Arena) -> hm_value {
        let of = |kind| hm_value { kind, ..hm_value::NULL };
        let integer = |kind, integer| hm_value { integer, ..of(kind) };
        match value {
            ScalarValue::Null => hm_value::NULL,
            ScalarValue::Boolean(value) => integer(HM_KIND_BOOLEAN, i64::from(*value)),
            ScalarValue::Int(value) => integer(HM_KIND_INT, *value),
            ScalarValue::Uint(natural) => hm_value { natural: *natural, ..of(HM_KIND_UINT) },
            ScalarValue::F64(real) => hm_value { real: *real, ..of(HM_KIND_F64) },
            ScalarValue::Str(text) => hm_value { bytes: arena.store(&**text), ..of(HM_KIND_STR) },
            ScalarValue::Bytes(bytes) => hm_value { bytes: arena.store(&**bytes), ..of(HM_KIND_BYTES) },
            ScalarValue::Counter(value) => integer(HM_KIND_COUNTER, *value),
            ScalarValue::Timestamp(value) => integer(HM_KIND_TIMESTAMP, *value),
            ScalarValue::Unknown { type_code, bytes } => hm_value {
                type_code: (*type_code).into(),
                bytes: arena.store(&**bytes),
                ..of(HM_KIND_UNKNOWN)
            },
        }
    }

    pub(super) fn scalar(&self) -> Result<ScalarValue<'_>, hm_error> {
        let wrong = |text| Err(hm_error::new(HM_ARGUMENT, text));
        Ok(match self.kind {
            HM_KIND_NULL => ScalarValue::Null,
            HM_KIND_BOOLEAN => ScalarValue::Boolean(self.integer != 0),
            HM_KIND_INT => ScalarValue::Int(self.integer),
            HM_KIND_UINT => ScalarValue::Uint(self.natural),
            HM_KIND_F64 => ScalarValue::F64(self.real),
            HM_KIND_STR => ScalarValue::Str(Cow::Borrowed(self.bytes.text("value")?)),
            HM_KIND_BYTES => ScalarValue::Bytes(Cow::Borrowed(self.bytes.bytes("value")?)),
            HM_KIND_COUNTER => ScalarValue::Counter(self.integer),
            HM_KIND_TIMESTAMP => ScalarValue::Timestamp(self.integer),
            HM_KIND_UNKNOWN => match u8::try_from(self.type_code) {
                Ok(type_code) => {
                    ScalarValue::Unknown { type_code, bytes: Cow::Borrowed(self.bytes.bytes("value")?) }
                }
                Err(_) => return wrong(format!("type {} of a value does not exist", self.type_code)),
            },
            kind => return wrong(format!("kind {kind} is not the kind of a scalar value")),
        })
    }
}

/// Values and the memory that they point to, which does not move.
#[derive(Debug, Default)]
pub(super) struct ValueList {
    pub(super) arena: Arena,
    // Freed with the list, not before: only raw pointers refer to it.
    ids: Vec<Vec<hm_obj_id>>,
}

impl ValueList {
    pub(super) fn items<'a>(&mut self, found: impl IntoIterator<Item = FoundValue<'a>>) -> Vec<hm_item> {
        let mut ids = Vec::new();
        let mut show = |found: FoundValue<'a>| {
            let value = hm_value::from_value(&found.value, &mut self.arena);
            ids.push(hm_obj_id(found.id));
            let (key, index) = match found.at {
                ValuePos::Key(key) => (self.arena.store(key), 0),
                ValuePos::Index(index) => (hm_span::EMPTY, index),
            };
            hm_item { key, index, value, id: ptr::null(), conflict: found.conflict }
        };
        let mut items: Vec<hm_item> = found.into_iter().map(&mut show).collect();
        let ids = self.ids(ids);
        for (position, item) in items.iter_mut().enumerate() {
            item.id = ids.wrapping_add(position);
        }
        items
    }

    /// The steps of a path.
    fn steps<'a>(&mut self, path: impl Iterator<Item = (&'a ObjId, &'a Prop<'static>)>) -> Vec<hm_step> {
        let mut ids = Vec::new();
        let mut step = |(obj, prop): (&ObjId, &Prop<'static>)| {
            ids.push(hm_obj_id(obj.clone()));
            let (key, index, in_list) = match prop {
                Prop::Map(key) => (self.arena.store(&**key), 0, false),
                Prop::Seq(index) => (hm_span::EMPTY, *index, true),
            };
            hm_step { obj: ptr::null(), key, index, in_list }
        };
        let mut steps: Vec<hm_step> = path.map(&mut step).collect();
        let ids = self.ids(ids);
        for (position, step) in steps.iter_mut().enumerate() {
            step.obj = ids.wrapping_add(position);
        }
        steps
    }

    /// Stores ids and returns the first.
    pub(super) fn ids(&mut self, ids: Vec<hm_obj_id>) -> *const hm_obj_id {
        let first = ids.as_ptr();
        self.ids.push(ids);
        first
    }
}

impl hm_items {
    pub(super) fn new<'a>(found: impl IntoIterator<Item = FoundValue<'a>>) -> Box<hm_items> {
        let mut list = ValueList::default();
        let items = list.items(found);
        Box::new(hm_items { items: items.as_ptr(), len: items.len(), owner: hm_owner::new((items, list)) })
    }
}

impl hm_path {
    pub(super) fn new<'a>(path: impl Iterator<Item = (&'a ObjId, &'a Prop<'static>)>) -> Box<hm_path> {
        let mut list = ValueList::default();
        let steps = list.steps(path);
        Box::new(hm_path { items: steps.as_ptr(), len: steps.len(), owner: hm_owner::new((steps, list)) })
    }
}

/// Frees a path, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_path_free(path: Option<Box<hm_path>>) {
    free(path);
}

/// Frees a list with its ids, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_items_free(items: Option<Box<hm_items>>) {
    free(items);
}

/// Reads an id as `hm_obj_id_text` writes it: `_root` or `<counter>@<actor in hex>`.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_obj_id_parse(
    text: hm_span,
    id: Option<&mut MaybeUninit<Option<Box<hm_obj_id>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, text) = (slot(id, None, "id")?, text.text("text")?);
        let wrong = || {
            hm_error::new(crate::hashmill::error::HM_MALFORMED, format!("{text} is not the id of an object"))
        };
        *out = Some(Box::new(hm_obj_id(ObjId::parse(text).ok_or_else(wrong)?)));
        Ok(())
    })
}

/// An id as a text.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_obj_id_text(
    id: Option<&hm_obj_id>,
    text: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(text, None, "text")?;
        *out = Some(hm_bytes::new(object(id).to_string()));
        Ok(())
    })
}

/// A copy of an id, for instance of one in a list.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_obj_id_clone(
    id: Option<&hm_obj_id>,
    copy: Option<&mut MaybeUninit<Option<Box<hm_obj_id>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(copy, None, "copy")?;
        *out = Some(Box::new(given(id, "id")?.clone()));
        Ok(())
    })
}

/// Whether both are the same object; NULL is the root.
#[unsafe(no_mangle)]
pub extern "C" fn hm_obj_id_equal(one: Option<&hm_obj_id>, other: Option<&hm_obj_id>) -> bool {
    object(one) == object(other)
}

/// Frees an id, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_obj_id_free(id: Option<Box<hm_obj_id>>) {
    free(id);
}

/// The object; NULL is the root.
pub(super) fn object(id: Option<&hm_obj_id>) -> &ObjId {
    static ROOT: ObjId = ObjId::Root;
    id.map_or(&ROOT, |id| &id.0)
}
