//! Items returned by iterators over objects and documents.

use std::collections::BTreeSet;

use crate::mark::Span;
use crate::read::range_items::{ListRangeItem, MapRangeItem};
use crate::read::view::View;
use crate::types::error::EditError;
use crate::types::{ObjId, ObjType, ROOT, Value};

/// An item of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum DocItem<'a> {
    /// Of a map.
    Map(MapRangeItem<'a>),
    /// Of a list.
    List(ListRangeItem<'a>),
    /// Of a text.
    Text(Span<'a>),
}

/// An item together with its object. See [`View::iter_from`].
#[derive(Clone, Debug, PartialEq)]
pub struct DocObjItem<'a> {
    /// The object.
    pub obj: ObjId,
    /// The item.
    pub item: DocItem<'a>,
}

impl<'a> DocObjItem<'a> {
    /// The key, for a map.
    pub fn key(&self) -> Option<&'a str> {
        match &self.item {
            DocItem::Map(item) => Some(item.key),
            _ => None,
        }
    }

    /// The value, for a map or a list.
    pub fn value(&self) -> Option<&Value<'a>> {
        match &self.item {
            DocItem::Map(item) => Some(&item.value),
            DocItem::List(item) => Some(&item.value),
            DocItem::Text(_) => None,
        }
    }

    /// The id of the value, for a map or a list.
    pub fn id(&self) -> Option<&ObjId> {
        match &self.item {
            DocItem::Map(item) => Some(&item.id),
            DocItem::List(item) => Some(&item.id),
            DocItem::Text(_) => None,
        }
    }
}

/// Iterator over the items of an object and the objects inside it. See [`View::iter_from`].
#[derive(Clone, Debug)]
pub struct DocIter<'a> {
    view: View<'a>,
    obj: ObjId,
    items: std::vec::IntoIter<DocItem<'a>>,
    /// Objects that were found and not iterated, oldest first.
    met: BTreeSet<ObjId>,
}

impl<'a> View<'a> {
    /// All visible items of the document. See [`Self::iter_from`].
    pub fn iter(&self) -> DocIter<'a> {
        self.iter_from(ROOT).unwrap_or_else(|_| unreachable!("every document has a root"))
    }

    /// All visible items of an object and the objects inside it, object by object, oldest first, so that each object
    /// follows its parent. Maps are in the order of keys, lists in order, texts span by span. Of conflicting values the
    /// winner is returned.
    ///
    /// Costs as much as [`Self::map_range`], [`Self::list_range`] and [`Self::spans`], each when its object is reached.
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
