//! Insertion of nested values: iterative, with contents in a queue or on an explicit stack.

use std::collections::VecDeque;

use crate::edit::editor::Editor;
use crate::read::view::View;
use crate::types::error::{EditError, Mismatch, described};
use crate::types::literal::{Entries, Literal};
use crate::types::{ObjId, ObjType, Prop, ROOT, Value};

/// Objects whose contents are not written yet, oldest first: all implementations number them in this order.
type Pending<'l> = VecDeque<(ObjId, &'l Literal)>;

impl Editor<'_> {
    /// Puts a value with its contents at a key or index; returns the object, if it is one.
    pub(crate) fn put_literal(
        &mut self,
        obj: &ObjId,
        prop: &Prop<'_>,
        value: &Literal,
    ) -> Result<Option<ObjId>, EditError> {
        let created = self.put_one(obj, prop, value)?;
        self.fill(created.iter().map(|created| (created.clone(), value)).collect())?;
        Ok(created)
    }

    /// Inserts a value with its contents before `index`; returns the object, if it is one.
    pub(crate) fn insert_literal(
        &mut self,
        obj: &ObjId,
        index: usize,
        value: &Literal,
    ) -> Result<Option<ObjId>, EditError> {
        let created = self.insert_row(obj, index, std::slice::from_ref(value))?;
        let object = created.front().map(|(object, _)| object.clone());
        self.fill(created)?;
        Ok(object)
    }

    /// Fills the root of an empty document.
    pub(crate) fn init_root(&mut self, value: &Literal) -> Result<(), EditError> {
        if !matches!(value, Literal::Map(_)) {
            return Err(EditError::WrongValue(Mismatch::new(&ROOT, None, "a map", given(value))));
        }
        let len = View::now(self.state).length(ROOT);
        if len > 0 {
            let found = format!("a map with {len} keys");
            return Err(EditError::WrongValue(Mismatch::new(&ROOT, None, "an empty map", found)));
        }
        self.fill([(ROOT, value)].into())
    }

    /// Deletes `del` elements of a list or units of a text from `index` on, and inserts values there.
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
                let string = |value: &'_ Literal| {
                    let mismatch = || Mismatch::new(obj, Some(&index.into()), "a string", given(value));
                    value.as_str().map(str::to_owned).ok_or_else(|| EditError::WrongValue(mismatch()))
                };
                let text: Vec<String> = values.iter().map(string).collect::<Result<_, _>>()?;
                return self.splice_text(obj, index, del, &text.concat());
            }
            _ => return Err(Mismatch::of_object(obj, &index.into(), kind)),
        }
        let (index, del) = crate::edit::editor::deleted_range(index, del)?;
        let created = self.insert_row(obj, index, values)?;
        self.fill(created)?;
        if del == 0 { Ok(()) } else { self.delete_units(number, index + values.len(), del) }
    }

    /// Inserts consecutive values; their contents are not written yet.
    fn insert_row<'l>(
        &mut self,
        obj: &ObjId,
        index: usize,
        values: &'l [Literal],
    ) -> Result<Pending<'l>, EditError> {
        let mut created = Pending::new();
        for (n, value) in values.iter().enumerate() {
            // The first insertion refuses an index past the end.
            let object = self.insert_one(obj, index + n, value)?;
            created.extend(object.map(|object| (object, value)));
        }
        Ok(created)
    }

    fn fill(&mut self, mut todo: Pending<'_>) -> Result<(), EditError> {
        while let Some((obj, value)) = todo.pop_front() {
            match value {
                Literal::Map(entries) => {
                    for (key, value) in entries {
                        let created = self.put_one(&obj, &Prop::from(key), value)?;
                        todo.extend(created.map(|created| (created, value)));
                    }
                }
                Literal::List(elements) => todo.extend(self.insert_row(&obj, 0, elements)?),
                Literal::Text(text) => self.splice_text(&obj, 0, 0, text)?,
                Literal::Scalar(_) => {}
            }
        }
        Ok(())
    }

    /// Inserts a scalar, or an empty object, which is returned.
    fn insert_one(&mut self, obj: &ObjId, index: usize, value: &Literal) -> Result<Option<ObjId>, EditError> {
        match value {
            Literal::Scalar(scalar) => self.insert(obj, index, scalar).map(|()| None),
            Literal::Map(_) => self.insert_object(obj, index, ObjType::Map).map(Some),
            Literal::List(_) => self.insert_object(obj, index, ObjType::List).map(Some),
            Literal::Text(_) => self.insert_object(obj, index, ObjType::Text).map(Some),
        }
    }

    /// Puts a scalar, or an empty object, which is returned.
    fn put_one(&mut self, obj: &ObjId, prop: &Prop<'_>, value: &Literal) -> Result<Option<ObjId>, EditError> {
        match value {
            Literal::Scalar(scalar) => self.put(obj, prop, scalar).map(|()| None),
            Literal::Map(_) => self.put_object(obj, prop, ObjType::Map).map(Some),
            Literal::List(_) => self.put_object(obj, prop, ObjType::List).map(Some),
            Literal::Text(_) => self.put_object(obj, prop, ObjType::Text).map(Some),
        }
    }

    /// Makes an object equal to `value` with few edits: equal contents stay, texts are compared by grapheme clusters,
    /// lists element by element. An object is completed with its contents before the next one.
    pub(crate) fn update_object(&mut self, obj: &ObjId, value: &Literal) -> Result<(), EditError> {
        let mut open = Vec::from_iter(self.steps(obj.clone(), value)?);
        while let Some((obj, steps)) = open.last_mut() {
            let Some(step) = steps.next() else {
                open.pop();
                continue;
            };
            let inside = match step {
                Step::Update(prop, value) => {
                    self.update_prop(obj, &prop, value)?.map(|created| (created, value))
                }
                Step::Insert(index, value) => {
                    self.insert_one(obj, index, value)?.map(|created| (created, value))
                }
                Step::Delete(key) => {
                    self.delete(obj, &Prop::from(key))?;
                    None
                }
                Step::Cut(len, surplus) => {
                    let (number, _) = self.object(obj)?;
                    self.delete_units(number, len, surplus)?;
                    None
                }
            };
            if let Some((created, value)) = inside {
                open.extend(self.steps(created, value)?);
            }
        }
        Ok(())
    }

    /// The steps that make an object equal to `value`, or `None` if they are already done.
    fn steps<'l>(&mut self, obj: ObjId, value: &'l Literal) -> Result<Option<Steps<'l>>, EditError> {
        let (_, kind) = self.object(&obj)?;
        let steps = match value {
            Literal::Map(entries) if kind == ObjType::Map => self.map_steps(&obj, entries),
            Literal::List(elements) if kind == ObjType::List => self.list_steps(&obj, elements),
            Literal::Text(text) if kind == ObjType::Text => {
                return self.update_text(&obj, text).map(|()| None);
            }
            _ => {
                let mismatch = Mismatch::new(&obj, None, expected(kind), given(value));
                return Err(EditError::WrongValue(mismatch));
            }
        };
        Ok(Some((obj, steps.into_iter())))
    }

    /// First updates, then insertions, then deletions: all implementations number them in this order.
    fn map_steps<'l>(&self, obj: &ObjId, entries: &'l Entries) -> Vec<Step<'l>> {
        let keys: Vec<String> = View::now(self.state).keys(obj).map(str::to_owned).collect();
        let update = |(key, value): (&'l String, &'l Literal)| Step::Update(Prop::from(key), value);
        let stay = keys.iter().filter_map(|key| entries.get_key_value(key));
        let come = entries.iter().filter(|(key, _)| keys.binary_search(key).is_err());
        let mut steps: Vec<Step<'l>> = stay.chain(come).map(update).collect();
        let go = keys.into_iter().filter(|key| !entries.contains_key(key));
        steps.extend(go.map(Step::Delete));
        steps
    }

    fn list_steps<'l>(&self, obj: &ObjId, elements: &'l [Literal]) -> Vec<Step<'l>> {
        let len = View::now(self.state).length(obj);
        let step = |(index, value)| match index < len {
            true => Step::Update(Prop::Seq(index), value),
            false => Step::Insert(index, value),
        };
        let mut steps: Vec<Step<'l>> = elements.iter().enumerate().map(step).collect();
        steps.extend(len.checked_sub(elements.len()).map(|surplus| Step::Cut(elements.len(), surplus)));
        steps
    }

    /// The object at a key or index if it is to be updated, or a new one there; a scalar is put there directly.
    fn update_prop(
        &mut self,
        obj: &ObjId,
        prop: &Prop<'_>,
        value: &Literal,
    ) -> Result<Option<ObjId>, EditError> {
        match View::now(self.state).get(obj, prop.clone())? {
            Some((Value::Object(kind), id)) if value.kind() == Some(kind) => Ok(Some(id)),
            _ => self.put_one(obj, prop, value),
        }
    }
}

/// One step of updating an object.
enum Step<'l> {
    Update(Prop<'l>, &'l Literal),
    Insert(usize, &'l Literal),
    Delete(String),
    /// Deletes elements: an index, and the number.
    Cut(usize, usize),
}

/// An object and its remaining steps.
type Steps<'l> = (ObjId, std::vec::IntoIter<Step<'l>>);

/// Description of a literal.
fn given(value: &Literal) -> String {
    let kind = |kind| described(&Value::Object(kind));
    match value {
        Literal::Scalar(scalar) => described(&Value::Scalar(scalar.clone())),
        Literal::Map(_) => kind(ObjType::Map),
        Literal::List(_) => kind(ObjType::List),
        Literal::Text(_) => kind(ObjType::Text),
    }
}

fn expected(kind: ObjType) -> &'static str {
    match kind {
        ObjType::Map | ObjType::Table => "a map",
        ObjType::List => "a list",
        ObjType::Text => "a text",
    }
}
