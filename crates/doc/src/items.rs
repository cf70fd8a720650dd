//! What is found when an object, or everything, is gone through.

use std::collections::BTreeSet;

use crate::error::EditError;
use crate::mark::Span;
use crate::types::{ObjId, ObjType, ROOT, Value};
use crate::view::View;

/// A key of a map and the value that won there. See [`View::map_range`].
#[derive(Clone, Debug, PartialEq)]
pub struct MapRangeItem<'a> {
    /// The key.
    pub key: &'a str,
    /// What won.
    pub value: Value<'a>,
    /// Of the value: an object's own, or the operation that put the scalar there.
    pub id: ObjId,
    /// Whether other values lost against it: [`View::get_all`] has them.
    pub conflict: bool,
}

/// An element of a list or text and the value that won there. See [`View::list_range`].
#[derive(Clone, Debug, PartialEq)]
pub struct ListRangeItem<'a> {
    /// How many elements are before it.
    pub index: usize,
    /// What won.
    pub value: Value<'a>,
    /// Of the value: an object's own, or the operation that put the scalar there.
    pub id: ObjId,
    /// Whether other values lost against it: [`View::get_all`] has them.
    pub conflict: bool,
}

/// Something in an object.
#[derive(Clone, Debug, PartialEq)]
pub enum DocItem<'a> {
    /// In a map.
    Map(MapRangeItem<'a>),
    /// In a list.
    List(ListRangeItem<'a>),
    /// In a text.
    Text(Span<'a>),
}

/// Something in an object, and which object. See [`View::iter_from`].
#[derive(Clone, Debug, PartialEq)]
pub struct DocObjItem<'a> {
    /// The object.
    pub obj: ObjId,
    /// What is in it.
    pub item: DocItem<'a>,
}

impl<'a> DocObjItem<'a> {
    /// The key, in a map.
    pub fn key(&self) -> Option<&'a str> {
        match &self.item {
            DocItem::Map(item) => Some(item.key),
            _ => None,
        }
    }

    /// The value in a map or a list.
    pub fn value(&self) -> Option<&Value<'a>> {
        match &self.item {
            DocItem::Map(item) => Some(&item.value),
            DocItem::List(item) => Some(&item.value),
            DocItem::Text(_) => None,
        }
    }

    /// The id of the value in a map or a list.
    pub fn id(&self) -> Option<&ObjId> {
        match &self.item {
            DocItem::Map(item) => Some(&item.id),
            DocItem::List(item) => Some(&item.id),
            DocItem::Text(_) => None,
        }
    }
}

/// Everything in an object and in the objects inside it. See [`View::iter_from`].
#[derive(Clone, Debug)]
pub struct DocIter<'a> {
    view: View<'a>,
    obj: ObjId,
    items: std::vec::IntoIter<DocItem<'a>>,
    /// Objects that were met and not gone through, the oldest first.
    met: BTreeSet<ObjId>,
}

impl<'a> View<'a> {
    /// Everything in the document that can be seen. See [`Self::iter_from`].
    pub fn iter(&self) -> DocIter<'a> {
        self.iter_from(ROOT).unwrap_or_else(|_| unreachable!("every document has a root"))
    }

    /// Everything in an object and in the objects inside it that can be seen: object by object, the oldest first, so that
    /// each comes after that which holds it. In a map by keys, in a list in order, in a text span by span. Of values in
    /// conflict the winner.
    ///
    /// Costs as [`Self::map_range`], [`Self::list_range`] and [`Self::spans`], each when its object is reached.
    pub fn iter_from(&self, obj: impl AsRef<ObjId>) -> Result<DocIter<'a>, EditError> {
        self.object_type(&obj)?;
        let met = BTreeSet::from([obj.as_ref().clone()]);
        Ok(DocIter { view: self.clone(), obj: ROOT, items: vec![].into_iter(), met })
    }
}

impl<'a> DocIter<'a> {
    fn enter(&mut self, obj: ObjId) {
        let mut note = |value: &Value<'_>, id: &ObjId| {
            if value.as_object().is_some() {
                self.met.insert(id.clone());
            }
        };
        let items: Vec<DocItem<'a>> = match self.view.object_type(&obj) {
            Ok(ObjType::Map | ObjType::Table) => self
                .view
                .map_range(&obj, ..)
                .inspect(|item| note(&item.value, &item.id))
                .map(DocItem::Map)
                .collect(),
            Ok(ObjType::List) => self
                .view
                .list_range(&obj, ..)
                .inspect(|item| note(&item.value, &item.id))
                .map(DocItem::List)
                .collect(),
            Ok(ObjType::Text) => {
                self.view.each_element(&obj, |winner, _| {
                    if let Some((ObjType::Map, number)) = winner.val.as_object() {
                        self.met.insert(self.view.state.obj_id(number));
                    }
                });
                self.view.spans(&obj).into_iter().flatten().map(DocItem::Text).collect()
            }
            Err(_) => vec![],
        };
        self.items = items.into_iter();
        self.obj = obj;
    }
}

impl<'a> Iterator for DocIter<'a> {
    type Item = DocObjItem<'a>;

    fn next(&mut self) -> Option<DocObjItem<'a>> {
        loop {
            if let Some(item) = self.items.next() {
                return Some(DocObjItem { obj: self.obj.clone(), item });
            }
            let next = self.met.pop_first()?;
            self.enter(next);
        }
    }
}
