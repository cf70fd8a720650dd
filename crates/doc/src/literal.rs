//! Values with everything inside them, to be put into a document at once.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::edit::Editor;
use crate::error::EditError;
use crate::types::{ObjId, ObjType, Prop, ROOT, ScalarValue, Value};
use crate::view::View;

/// A value with everything inside it. Made from scalars, `Vec`s and maps of the standard library, or by hand.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A scalar.
    Scalar(ScalarValue<'static>),
    /// A map with its entries.
    Map(BTreeMap<String, Literal>),
    /// A list with its elements.
    List(Vec<Literal>),
    /// A text.
    Text(String),
}

impl Literal {
    /// A list of what can become values. `Vec<u8>` on its own is a scalar of bytes.
    pub fn list<V: Into<Literal>>(elements: impl IntoIterator<Item = V>) -> Self {
        Literal::List(elements.into_iter().map(Into::into).collect())
    }

    /// A text, to be edited together. A string on its own is a scalar, replaced as a whole.
    pub fn text(text: impl Into<String>) -> Self {
        Literal::Text(text.into())
    }

    /// The kind of object this makes.
    pub fn kind(&self) -> Option<ObjType> {
        match self {
            Literal::Scalar(_) => None,
            Literal::Map(_) => Some(ObjType::Map),
            Literal::List(_) => Some(ObjType::List),
            Literal::Text(_) => Some(ObjType::Text),
        }
    }

    fn as_str(&self) -> Option<&str> {
        match self {
            Literal::Scalar(scalar) => scalar.as_str(),
            _ => None,
        }
    }
}

impl<T: Into<ScalarValue<'static>>> From<T> for Literal {
    fn from(value: T) -> Self {
        Literal::Scalar(value.into())
    }
}

impl<K: Into<String>, V: Into<Literal>, const N: usize> From<[(K, V); N]> for Literal {
    fn from(entries: [(K, V); N]) -> Self {
        Literal::Map(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl<K: Into<String>, V: Into<Literal>> From<BTreeMap<K, V>> for Literal {
    fn from(entries: BTreeMap<K, V>) -> Self {
        Literal::Map(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl<K: Into<String>, V: Into<Literal>> From<HashMap<K, V>> for Literal {
    fn from(entries: HashMap<K, V>) -> Self {
        Literal::Map(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl From<Vec<Literal>> for Literal {
    fn from(elements: Vec<Literal>) -> Self {
        Literal::List(elements)
    }
}

impl<V: Into<Literal>> FromIterator<V> for Literal {
    fn from_iter<I: IntoIterator<Item = V>>(elements: I) -> Self {
        Literal::List(elements.into_iter().map(Into::into).collect())
    }
}

/// A [`Literal`](crate::Literal) as one would write it in JSON: maps in braces, lists in brackets, and anything else that
/// becomes a value. What has more than one word, such as `-1`, a call or a key that is no literal, stands in parentheses.
///
/// ```
/// use hashmill_doc::{Literal, literal};
///
/// let card = literal!({
///     "title": (Literal::text("Edited together")),
///     "tags": ["a", "b", []],
///     "size": { "width": 3, "depth": (-1) },
/// });
/// assert!(matches!(card, Literal::Map(entries) if entries.len() == 3));
/// ```
#[macro_export]
macro_rules! literal {
    ({ $($key:tt : $value:tt),* $(,)? }) => {
        $crate::Literal::Map([$((::std::string::String::from($key), $crate::literal!($value))),*].into())
    };
    ([ $($value:tt),* $(,)? ]) => {
        $crate::Literal::List(vec![$($crate::literal!($value)),*])
    };
    ($value:expr) => {
        $crate::Literal::from($value)
    };
}

/// Objects whose contents are still to be written, oldest first: every implementation numbers them so.
type Pending<'l> = VecDeque<(ObjId, &'l Literal)>;

impl Editor<'_> {
    /// Puts a value with everything inside it at a place; gives the object, if it is one.
    pub(crate) fn put_literal(
        &mut self,
        obj: &ObjId,
        prop: &Prop<'_>,
        value: &Literal,
    ) -> Result<Option<ObjId>, EditError> {
        match value {
            Literal::Scalar(scalar) => self.put(obj, prop, scalar).map(|()| None),
            _ => {
                let kind = value.kind().expect("scalars were handled");
                let made = self.put_object(obj, prop, kind)?;
                self.fill([(made.clone(), value)].into())?;
                Ok(Some(made))
            }
        }
    }

    /// Inserts a value with everything inside it before `index`; gives the object, if it is one.
    pub(crate) fn insert_literal(
        &mut self,
        obj: &ObjId,
        index: usize,
        value: &Literal,
    ) -> Result<Option<ObjId>, EditError> {
        let made = self.insert_row(obj, index, std::slice::from_ref(value))?;
        let object = made.front().map(|(object, _)| object.clone());
        self.fill(made)?;
        Ok(object)
    }

    /// Fills the root of a document that has nothing in it.
    pub(crate) fn init_root(&mut self, value: &Literal) -> Result<(), EditError> {
        if !matches!(value, Literal::Map(_)) {
            return Err(EditError::WrongValue { expected: "a map" });
        }
        if View::now(self.state).length(ROOT) > 0 {
            return Err(EditError::WrongValue { expected: "an empty root" });
        }
        self.fill([(ROOT, value)].into())
    }

    /// Deletes `del` elements of a list or units of a text from `index` on and inserts values there.
    pub(crate) fn splice(
        &mut self,
        obj: &ObjId,
        index: usize,
        del: isize,
        values: &[Literal],
    ) -> Result<(), EditError> {
        let (number, kind) = self.object(obj)?;
        match kind {
            ObjType::List => {}
            ObjType::Text => {
                let text: Option<Vec<&str>> = values.iter().map(Literal::as_str).collect();
                let text = text.ok_or(EditError::WrongValue { expected: "a string" })?;
                return self.splice_text(obj, index, del, &text.concat());
            }
            _ => return Err(EditError::WrongType { found: kind }),
        }
        let (index, del) = crate::edit::back(index, del)?;
        let made = self.insert_row(obj, index, values)?;
        self.fill(made)?;
        if del == 0 { Ok(()) } else { self.delete_units(number, index + values.len(), del) }
    }

    /// Inserts values one after the other; what they hold is still to be written.
    fn insert_row<'l>(
        &mut self,
        obj: &ObjId,
        index: usize,
        values: &'l [Literal],
    ) -> Result<Pending<'l>, EditError> {
        let mut made = Pending::new();
        for (at, value) in (index..).zip(values) {
            match value {
                Literal::Scalar(scalar) => self.insert(obj, at, scalar)?,
                _ => {
                    let kind = value.kind().expect("scalars were handled");
                    made.push_back((self.insert_object(obj, at, kind)?, value));
                }
            }
        }
        Ok(made)
    }

    fn fill(&mut self, mut todo: Pending<'_>) -> Result<(), EditError> {
        while let Some((obj, value)) = todo.pop_front() {
            match value {
                Literal::Map(entries) => {
                    for (key, value) in entries {
                        let prop = Prop::from(key);
                        match value.kind() {
                            None => {
                                self.put_literal(&obj, &prop, value)?;
                            }
                            Some(kind) => todo.push_back((self.put_object(&obj, &prop, kind)?, value)),
                        }
                    }
                }
                Literal::List(elements) => todo.extend(self.insert_row(&obj, 0, elements)?),
                Literal::Text(text) => self.splice_text(&obj, 0, 0, text)?,
                Literal::Scalar(_) => {}
            }
        }
        Ok(())
    }

    /// Makes the object at hand equal to `value` with few edits: what is equal stays, texts are compared by grapheme
    /// clusters, lists element by element.
    pub(crate) fn update_object(&mut self, obj: &ObjId, value: &Literal) -> Result<(), EditError> {
        let (_, kind) = self.object(obj)?;
        match value {
            Literal::Map(entries) if kind == ObjType::Map => self.update_map(obj, entries),
            Literal::List(elements) if kind == ObjType::List => self.update_list(obj, elements),
            Literal::Text(text) if kind == ObjType::Text => self.update_text(obj, text),
            _ => Err(EditError::WrongValue { expected: expected(kind) }),
        }
    }

    /// First the keys that stay, then those that come, then those that go: every implementation numbers them so.
    fn update_map(&mut self, obj: &ObjId, entries: &BTreeMap<String, Literal>) -> Result<(), EditError> {
        let keys: Vec<String> = View::now(self.state).keys(obj).map(str::to_owned).collect();
        for key in &keys {
            if let Some(value) = entries.get(key) {
                self.update_place(obj, &Prop::from(key), value)?;
            }
        }
        for (key, value) in entries {
            if keys.binary_search(key).is_err() {
                self.update_place(obj, &Prop::from(key), value)?;
            }
        }
        for key in keys.iter().filter(|key| !entries.contains_key(*key)) {
            self.delete(obj, &Prop::from(key))?;
        }
        Ok(())
    }

    fn update_list(&mut self, obj: &ObjId, elements: &[Literal]) -> Result<(), EditError> {
        let len = View::now(self.state).length(obj);
        for (index, value) in elements.iter().enumerate() {
            let prop = Prop::Seq(index);
            match value {
                _ if index < len => self.update_place(obj, &prop, value)?,
                Literal::Scalar(scalar) => self.insert(obj, index, scalar)?,
                _ => {
                    let kind = value.kind().expect("scalars were handled");
                    let made = self.insert_object(obj, index, kind)?;
                    self.update_object(&made, value)?;
                }
            }
        }
        let surplus = len.saturating_sub(elements.len());
        self.splice(obj, elements.len(), surplus as isize, &[])
    }

    /// Updates the object at a place, or puts another value there.
    fn update_place(&mut self, obj: &ObjId, prop: &Prop<'_>, value: &Literal) -> Result<(), EditError> {
        let found = View::now(self.state).get(obj, prop.clone())?;
        match (found, value) {
            (Some((Value::Object(kind), id)), _) if value.kind() == Some(kind) => {
                self.update_object(&id, value)
            }
            (_, Literal::Scalar(scalar)) => self.put(obj, prop, scalar),
            _ => {
                let kind = value.kind().expect("scalars were handled");
                let made = self.put_object(obj, prop, kind)?;
                self.update_object(&made, value)
            }
        }
    }
}

fn expected(kind: ObjType) -> &'static str {
    match kind {
        ObjType::Map | ObjType::Table => "a map",
        ObjType::List => "a list",
        ObjType::Text => "a text",
    }
}
