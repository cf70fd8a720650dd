//! What a document holds, as C sees it: values, the ids of objects, lists of both.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::error::{HM_ARGUMENT, hm_error};
use super::pointers::{Arena, call, free, given, hm_bytes, hm_owner, hm_span, slot};
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
/// `bytes`, which are UTF-8: a string that is replaced as a whole. Texts that several people edit are `HM_KIND_TEXT`.
pub const HM_KIND_STR: hm_kind = 5;
/// `bytes`.
pub const HM_KIND_BYTES: hm_kind = 6;
/// `integer`: a number to which increments of several people add up.
pub const HM_KIND_COUNTER: hm_kind = 7;
/// `integer`: milliseconds since 1970.
pub const HM_KIND_TIMESTAMP: hm_kind = 8;
/// `bytes` of a type that is newer than this library, which `type_code` names.
pub const HM_KIND_UNKNOWN: hm_kind = 9;
/// An object: keys with values.
pub const HM_KIND_MAP: hm_kind = 16;
/// An object as a map.
pub const HM_KIND_TABLE: hm_kind = 17;
/// An object: a sequence of values.
pub const HM_KIND_LIST: hm_kind = 18;
/// An object: a sequence of characters, with marks.
pub const HM_KIND_TEXT: hm_kind = 19;

/// A value. `kind` says which of the others counts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_value {
    /// Which kind.
    kind: hm_kind,
    /// The number of an unknown type.
    type_code: u32,
    /// A number.
    integer: i64,
    /// A number that is not negative.
    natural: u64,
    /// A number with digits behind the point.
    real: f64,
    /// Bytes.
    bytes: hm_span,
}

/// The name of an object in a document; the root has none but NULL. What a list shows is freed with the list; what a function gave by
/// itself is freed by `hm_obj_id_free`. It is good for all documents that have the object.
#[derive(Clone, Debug)]
pub struct hm_obj_id(pub(super) ObjId);

/// A value and where it is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_item {
    /// The key, in a map.
    key: hm_span,
    /// The index, in a list.
    index: usize,
    /// The value.
    value: hm_value,
    /// Of the value: an object's own, or the operation that put it there.
    id: *const hm_obj_id,
    /// Whether others were put there at the same time, and lost.
    conflict: bool,
}

/// An object on a way through a document, and where the next one lies in it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_step {
    /// The object.
    obj: *const hm_obj_id,
    /// The key there, if it is a map.
    key: hm_span,
    /// The index there, if it is a list or text.
    index: usize,
    /// Whether it is the index that counts.
    in_list: bool,
}

/// A way through a document, from the root on.
#[repr(C)]
#[derive(Debug)]
pub struct hm_path {
    /// The first step.
    items: *const hm_step,
    /// How many.
    len: usize,
    /// The library's.
    owner: Option<Box<hm_owner>>,
}

/// Values.
#[repr(C)]
#[derive(Debug)]
pub struct hm_items {
    /// The first.
    items: *const hm_item,
    /// How many.
    len: usize,
    /// The library's.
    owner: Option<Box<hm_owner>>,
}

/// Where a value is.
pub(super) enum Where<'a> {
    Key(&'a str),
    Index(usize),
}

/// A value that was found in a document.
pub(super) struct Found<'a> {
    pub(super) at: Where<'a>,
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
        _ => Err(hm_error::new(HM_ARGUMENT, format!("kind {kind} is no kind of object"))),
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

    /// As a list shows it whose bytes are in `arena`.
    pub(super) fn shown(value: &Value<'_>, arena: &mut Arena) -> hm_value {
        match value {
            Value::Object(kind) => hm_value { kind: kind_of(*kind), ..hm_value::NULL },
            Value::Scalar(value) => hm_value::scalar_shown(value, arena),
        }
    }

    pub(super) fn scalar_shown(value: &ScalarValue<'_>, arena: &mut Arena) -> hm_value {
        let of = |kind| hm_value { kind, ..hm_value::NULL };
        let integer = |kind, integer| hm_value { integer, ..of(kind) };
        match value {
            ScalarValue::Null => hm_value::NULL,
            ScalarValue::Boolean(value) => integer(HM_KIND_BOOLEAN, i64::from(*value)),
            ScalarValue::Int(value) => integer(HM_KIND_INT, *value),
            ScalarValue::Uint(natural) => hm_value { natural: *natural, ..of(HM_KIND_UINT) },
            ScalarValue::F64(real) => hm_value { real: *real, ..of(HM_KIND_F64) },
            ScalarValue::Str(text) => hm_value { bytes: arena.show(&**text), ..of(HM_KIND_STR) },
            ScalarValue::Bytes(bytes) => hm_value { bytes: arena.show(&**bytes), ..of(HM_KIND_BYTES) },
            ScalarValue::Counter(value) => integer(HM_KIND_COUNTER, *value),
            ScalarValue::Timestamp(value) => integer(HM_KIND_TIMESTAMP, *value),
            ScalarValue::Unknown { type_code, bytes } => hm_value {
                type_code: (*type_code).into(),
                bytes: arena.show(&**bytes),
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
            kind => return wrong(format!("kind {kind} is none of a value without parts")),
        })
    }
}

/// Values, and what they show: it stays where it is.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) arena: Arena,
    // Freed with the list, not before: nothing but pointers leads there.
    ids: Vec<Vec<hm_obj_id>>,
}

impl Shown {
    pub(super) fn items<'a>(&mut self, found: impl IntoIterator<Item = Found<'a>>) -> Vec<hm_item> {
        let mut ids = Vec::new();
        let mut show = |found: Found<'a>| {
            let value = hm_value::shown(&found.value, &mut self.arena);
            ids.push(hm_obj_id(found.id));
            let (key, index) = match found.at {
                Where::Key(key) => (self.arena.show(key), 0),
                Where::Index(index) => (hm_span::EMPTY, index),
            };
            hm_item { key, index, value, id: ptr::null(), conflict: found.conflict }
        };
        let mut items: Vec<hm_item> = found.into_iter().map(&mut show).collect();
        let ids = self.ids(ids);
        for (place, item) in items.iter_mut().enumerate() {
            item.id = ids.wrapping_add(place);
        }
        items
    }

    /// The steps of a way.
    fn steps<'a>(&mut self, way: impl Iterator<Item = (&'a ObjId, &'a Prop<'static>)>) -> Vec<hm_step> {
        let mut ids = Vec::new();
        let mut step = |(obj, prop): (&ObjId, &Prop<'static>)| {
            ids.push(hm_obj_id(obj.clone()));
            let (key, index, in_list) = match prop {
                Prop::Map(key) => (self.arena.show(&**key), 0, false),
                Prop::Seq(index) => (hm_span::EMPTY, *index, true),
            };
            hm_step { obj: ptr::null(), key, index, in_list }
        };
        let mut steps: Vec<hm_step> = way.map(&mut step).collect();
        let ids = self.ids(ids);
        for (place, step) in steps.iter_mut().enumerate() {
            step.obj = ids.wrapping_add(place);
        }
        steps
    }

    /// Keeps ids; gives the first.
    pub(super) fn ids(&mut self, ids: Vec<hm_obj_id>) -> *const hm_obj_id {
        let first = ids.as_ptr();
        self.ids.push(ids);
        first
    }
}

impl hm_items {
    pub(super) fn new<'a>(found: impl IntoIterator<Item = Found<'a>>) -> Box<hm_items> {
        let mut shown = Shown::default();
        let items = shown.items(found);
        Box::new(hm_items { items: items.as_ptr(), len: items.len(), owner: hm_owner::of((items, shown)) })
    }
}

impl hm_path {
    pub(super) fn new<'a>(way: impl Iterator<Item = (&'a ObjId, &'a Prop<'static>)>) -> Box<hm_path> {
        let mut shown = Shown::default();
        let steps = shown.steps(way);
        Box::new(hm_path { items: steps.as_ptr(), len: steps.len(), owner: hm_owner::of((steps, shown)) })
    }
}

/// Frees a way, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_path_free(path: Option<Box<hm_path>>) {
    free(path);
}

/// Frees a list, with the ids that it shows; or nothing.
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
        let wrong = || hm_error::new(super::error::HM_MALFORMED, format!("{text} is no id of an object"));
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

/// An id of one's own, such as of what a list shows.
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

/// Whether both name the same object; NULL is the root.
#[unsafe(no_mangle)]
pub extern "C" fn hm_obj_id_equal(one: Option<&hm_obj_id>, other: Option<&hm_obj_id>) -> bool {
    object(one) == object(other)
}

/// Frees an id, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_obj_id_free(id: Option<Box<hm_obj_id>>) {
    free(id);
}

/// The object; NULL is the root.
pub(super) fn object(id: Option<&hm_obj_id>) -> &ObjId {
    static ROOT: ObjId = ObjId::Root;
    id.map_or(&ROOT, |id| &id.0)
}
