//! `View`: read access, with the same methods for the current state and for earlier heads.

use std::borrow::Cow;
use std::ops::RangeBounds;

use smallvec::SmallVec;

use crate::codec::raw_value::RawValue;
use crate::read::nested_walk::{Found, build};
use crate::read::range_items::{ListRangeItem, MapRangeItem};
use crate::store::log::value::StoredValue;
use crate::store::map::{Map, OrderedKeys};
use crate::store::memory::byte_arena::Bytes;
use crate::store::memory::keys::sort_by_bytes;
use crate::store::register::{Values, Visible};
use crate::store::seq::{Kind, Seq, Span};
use crate::store::state::{Body, DocumentState, Object, ROOT};
use crate::store::versions::clock::Clock;
use crate::types::error::{EditError, Mismatch};
use crate::types::literal::Literal;
use crate::types::{
    ChangeHash, ChangeIdx, ObjId, ObjIdx, ObjType, OpId, Prop, ScalarValue, TextEncoding, Value,
};

/// A document to read from: the current state, or the state at some heads.
#[derive(Clone, Debug)]
pub struct View<'a> {
    pub(crate) state: &'a DocumentState,
    pub(crate) clock: Option<Clock>,
}

/// The keys of a map, in the order of their bytes. See [`View::keys`].
#[derive(Clone, Debug)]
pub struct Keys<'a>(KeysOf<'a>);

#[derive(Clone, Debug)]
enum KeysOf<'a> {
    Now(OrderedKeys<'a>),
    Then(std::vec::IntoIter<&'a str>),
}

impl<'a> Iterator for Keys<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<&'a str> {
        match &mut self.0 {
            KeysOf::Now(keys) => keys.next(),
            KeysOf::Then(keys) => keys.next(),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            KeysOf::Now(keys) => keys.size_hint(),
            KeysOf::Then(keys) => keys.size_hint(),
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, &'a str) -> B>(self, init: B, each: F) -> B {
        match self.0 {
            KeysOf::Now(keys) => keys.fold(init, each),
            KeysOf::Then(keys) => keys.fold(init, each),
        }
    }
}

impl ExactSizeIterator for Keys<'_> {}

impl<'a> View<'a> {
    pub(crate) fn now(state: &'a DocumentState) -> Self {
        Self { state, clock: None }
    }

    pub(crate) fn at_heads(state: &'a DocumentState, heads: &[ChangeHash]) -> Result<Self, EditError> {
        Ok(Self { state, clock: Some(state.moment(heads)?) })
    }

    /// Kind of an object.
    pub fn object_type(&self, obj: impl AsRef<ObjId>) -> Result<ObjType, EditError> {
        let number = self.state.resolve(obj.as_ref())?;
        Ok(self.state.objects[number].kind)
    }

    /// The winning value at a key or index, and its id; for scalars the id is that of the operation that wrote it.
    ///
    /// Costs O(1) for a key, O(log n) for an index. At earlier heads O(n) for an index. For a key at earlier heads
    /// O(log n) in its later changes, if each was made with knowledge of those before and none came from a file;
    /// otherwise O(n) in them.
    #[inline]
    pub fn get<'p>(
        &self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
    ) -> Result<Option<(Value<'a>, ObjId)>, EditError> {
        match prop.into() {
            Prop::Map(key) => self.get_key(obj.as_ref(), &key),
            Prop::Seq(index) => self.get_index(obj.as_ref(), index),
        }
    }

    /// The winning value at the end of a path of keys and indexes from the root.
    pub fn get_path<'p>(
        &self,
        path: impl IntoIterator<Item = impl Into<Prop<'p>>>,
    ) -> Result<Option<(Value<'a>, ObjId)>, EditError> {
        let mut at = (Value::Object(ObjType::Map), ObjId::Root);
        for prop in path {
            let Some(next) = self.get(&at.1, prop)? else { return Ok(None) };
            at = next;
        }
        Ok(Some(at))
    }

    /// As the last of [`Self::values`], without making a list of them.
    #[inline]
    fn get_key(&self, obj: &ObjId, key: &str) -> Result<Option<(Value<'a>, ObjId)>, EditError> {
        let object = self.state.object(obj)?;
        let Body::Map(map) = &*object.body else {
            return Err(Mismatch::of_object(obj, &key.into(), object.kind));
        };
        let Some(entry) = map.get(key, &self.state.heap) else { return Ok(None) };
        match &self.clock {
            None => Ok(entry.values.last().map(|winner| self.state.export(winner))),
            Some(clock) => Ok(self.state.last_of(&self.state.values_at(entry.last, clock))),
        }
    }

    /// As the last of [`Self::values`], without making a list of them.
    fn get_index(&self, obj: &ObjId, index: usize) -> Result<Option<(Value<'a>, ObjId)>, EditError> {
        let object = self.state.object(obj)?;
        let Body::Seq(seq) = &*object.body else {
            return Err(Mismatch::of_object(obj, &index.into(), object.kind));
        };
        if self.clock.is_some() {
            return Ok(self.state.last_of(&self.element(seq, index)));
        }
        let found = u32::try_from(index).ok().and_then(|index| seq.element(index, &self.state.ctx()));
        let winner = found.and_then(|(span, n)| self.state.element_winner(seq, span, n));
        Ok(winner.map(|winner| self.state.export(&winner)))
    }

    /// All current values at a key or index, which concurrent changes wrote, in ascending order of their ids: the last
    /// one wins.
    pub fn get_all<'p>(
        &self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
    ) -> Result<Vec<(Value<'a>, ObjId)>, EditError> {
        let values = self.values(obj.as_ref(), &prop.into())?;
        Ok(values.iter().map(|value| self.state.export(value)).collect())
    }

    fn values(&self, obj: &ObjId, prop: &Prop<'_>) -> Result<Cow<'a, [Visible]>, EditError> {
        let number = self.state.resolve(obj)?;
        match (&*self.state.objects[number].body, prop) {
            (Body::Map(map), Prop::Map(key)) => {
                let Some(entry) = map.get(key, &self.state.heap) else { return Ok(Cow::Borrowed(&[])) };
                Ok(match &self.clock {
                    None => Cow::Borrowed(&entry.values[..]),
                    Some(clock) => Cow::Owned(self.state.values_at(entry.last, clock).to_vec()),
                })
            }
            (Body::Seq(seq), Prop::Seq(index)) => Ok(self.element(seq, *index)),
            _ => Err(Mismatch::of_object(obj, prop, self.state.objects[number].kind)),
        }
    }

    #[inline(never)]
    pub(crate) fn element(&self, seq: &'a Seq, index: usize) -> Cow<'a, [Visible]> {
        let Some(clock) = &self.clock else {
            let at = u32::try_from(index).ok().and_then(|index| seq.locate(index, &self.state.ctx()));
            return at
                .map_or(Cow::Borrowed(&[]), |(at, _)| self.state.element_values(seq, seq.span(at), at.off));
        };
        let mut left = index;
        for (span, values) in self.state.spans_at(seq, clock) {
            let units = self.units(seq, &span, values.as_ref());
            if left >= units {
                left -= units;
                continue;
            }
            return match values {
                Some(values) => Cow::Owned(values.to_vec()),
                None => {
                    let n = if span.len == 1 { 0 } else { self.char_of(seq, &span, left) };
                    Cow::Owned(vec![Visible {
                        id: span.id.plus(n),
                        val: self.state.inserted(&span, n),
                        added: 0,
                    }])
                }
            };
        }
        Cow::Borrowed(&[])
    }

    /// Index of the element of a run that covers a unit.
    fn char_of(&self, seq: &Seq, span: &Span, unit: usize) -> u32 {
        if !seq.is_text || span.bytes == span.len {
            return unit as u32;
        }
        let text = self.state.heap.text(Bytes { at: span.at, len: span.bytes });
        let mut before = 0;
        let chars = text.char_indices().take_while(|(at, c)| {
            before += self.state.encoding.width(&text[*at..*at + c.len_utf8()]);
            before <= unit
        });
        chars.count() as u32
    }

    /// Number of units that a visible span covers.
    pub(crate) fn units(&self, seq: &Seq, span: &Span, values: Option<&Values>) -> usize {
        if !seq.is_text {
            return span.len as usize;
        }
        match (values.and_then(|values| values.last()), span.kind) {
            (Some(winner), _) => self.state.rendered(winner.val).1 as usize,
            (None, Kind::Text) => span.width as usize,
            (None, _) => self.state.rendered(self.state.inserted(span, 0)).1 as usize,
        }
    }

    /// The keys of a map with values, in the order of their bytes. Empty for other objects.
    ///
    /// Costs O(n log n) on the first call after a key was added or removed, and O(n) memory until the next such change;
    /// later calls cost only the iteration. At earlier heads O(n log n).
    #[inline]
    pub fn keys(&self, obj: impl AsRef<ObjId>) -> Keys<'a> {
        let map = self.map(obj.as_ref());
        Keys(match (map, &self.clock) {
            (Some(map), None) => KeysOf::Now(map.order(&self.state.heap).keys()),
            _ => KeysOf::Then(self.keys_at_heads(obj.as_ref()).into_iter()),
        })
    }

    fn map(&self, obj: &ObjId) -> Option<&'a Map> {
        match &*self.state.object(obj).ok()?.body {
            Body::Map(map) => Some(map),
            Body::Seq(_) => None,
        }
    }

    fn keys_at_heads(&self, obj: &ObjId) -> Vec<&'a str> {
        let mut keys = vec![];
        self.each_key(obj, |key, _| keys.push(key));
        sort_by_bytes(&mut keys, |key| key.as_bytes());
        keys
    }

    pub(crate) fn each_key(&self, obj: &ObjId, mut each: impl FnMut(&'a str, Cow<'a, [Visible]>)) {
        let state = self.state;
        let Some(map) = self.map(obj) else { return };
        for entry in map.entries() {
            let values = match &self.clock {
                None => Cow::Borrowed(&entry.values[..]),
                Some(clock) => Cow::Owned(state.values_at(entry.last, clock).to_vec()),
            };
            if !values.is_empty() {
                each(state.heap.text(entry.key), values);
            }
        }
    }

    /// The keys of a map in a range with their winning values, in the order of their bytes.
    ///
    /// Costs as much as [`Self::keys`], and O(log n) for each end of the range.
    pub fn map_range<'r>(
        &self,
        obj: impl AsRef<ObjId>,
        range: impl RangeBounds<&'r str>,
    ) -> std::vec::IntoIter<MapRangeItem<'a>>
    where
        'a: 'r,
    {
        let export = |key, winner, conflict| {
            let (value, id) = self.state.export(&winner);
            MapRangeItem { key, value, id, conflict }
        };
        self.entries(obj.as_ref(), range, export).into_iter()
    }

    /// As [`Self::map_range`], mapped by `make` from the key, the winner, and whether there are losers.
    pub(crate) fn entries<'r, T>(
        &self,
        obj: &ObjId,
        range: impl RangeBounds<&'r str>,
        make: impl Fn(&'a str, Visible, bool) -> T,
    ) -> Vec<T>
    where
        'a: 'r,
    {
        let state = self.state;
        if let (Some(map), None) = (self.map(obj), &self.clock) {
            let (from, to) = (range.start_bound().cloned(), range.end_bound().cloned());
            let there = map.order(&state.heap).range(from, to);
            // Each key of the order has a value, but the size hint of a filter cannot promise that.
            let mut entries = Vec::with_capacity(there.size_hint().1.unwrap_or(0));
            entries.extend(there.filter_map(|(key, number)| {
                let values = &map.entry(number).values;
                Some(make(key, *values.last()?, values.len() > 1))
            }));
            return entries;
        }
        let mut then = vec![];
        self.each_key(obj, |key, values| {
            if range.contains(&key) {
                then.push((key, values[values.len() - 1], values.len() > 1));
            }
        });
        sort_by_bytes(&mut then, |(key, ..)| key.as_bytes());
        then.into_iter().map(|(key, winner, conflict)| make(key, winner, conflict)).collect()
    }

    /// The elements of a list or text in a range with their winning values, in order. In a text a range counts
    /// elements, not units.
    ///
    /// Costs O(n).
    pub fn list_range(
        &self,
        obj: impl AsRef<ObjId>,
        range: impl RangeBounds<usize>,
    ) -> std::vec::IntoIter<ListRangeItem<'a>> {
        let export = |index, winner, conflict| {
            let (value, id) = self.state.export(&winner);
            ListRangeItem { index, value, id, conflict }
        };
        self.elements(obj.as_ref(), range, export).into_iter()
    }

    /// As [`Self::list_range`], mapped by `make` from the index, the winner, and whether there are losers.
    pub(crate) fn elements<T>(
        &self,
        obj: &ObjId,
        range: impl RangeBounds<usize>,
        make: impl Fn(usize, Visible, bool) -> T,
    ) -> Vec<T> {
        let (mut elements, mut index) = (vec![], 0);
        self.each_element(obj, |winner, conflict| {
            if range.contains(&index) {
                elements.push(make(index, winner, conflict));
            }
            index += 1;
        });
        elements
    }

    /// An object with its contents: winners of conflicts, and the current values of counters.
    pub fn hydrate(&self, obj: impl AsRef<ObjId>) -> Result<Literal, EditError> {
        let obj = obj.as_ref();
        let kind = self.object_type(obj)?;
        build((Value::Object(kind), obj.clone()), |found| self.hydrate_inside(found))
    }

    fn hydrate_inside(
        &self,
        (value, obj): (Value<'_>, ObjId),
    ) -> Result<Found<(Value<'a>, ObjId)>, EditError> {
        let kind = match value {
            Value::Object(kind) => kind,
            Value::Scalar(value) => return Ok(Found::Leaf(Literal::Scalar(value.into_owned()))),
        };
        Ok(match kind {
            ObjType::Map | ObjType::Table => {
                let entries = self.map_range(&obj, ..);
                let (keys, values) = entries.map(|item| (item.key.to_owned(), (item.value, item.id))).unzip();
                Found::Map(keys, values)
            }
            ObjType::List => Found::List(self.values_of(&obj)),
            ObjType::Text => Found::Leaf(Literal::Text(self.text(&obj)?)),
        })
    }

    /// Calls `each` with the winner at each element, and whether there are losers.
    pub(crate) fn each_element(&self, obj: &ObjId, mut each: impl FnMut(Visible, bool)) {
        let state = self.state;
        let Some(seq) = state.resolve(obj).ok().and_then(|number| state.seq(number)) else { return };
        let mut one = |span: &Span, values: Option<&[Visible]>| match values {
            Some(values) => each(values[values.len() - 1], values.len() > 1),
            None => (0..span.len).for_each(|n| {
                each(Visible { id: span.id.plus(n), val: state.inserted(span, n), added: 0 }, false);
            }),
        };
        match &self.clock {
            None => {
                for span in seq.spans().filter(|span| span.visible) {
                    one(span, seq.reg(span).map(|reg| &reg.values[..]));
                }
            }
            Some(clock) => {
                for (span, values) in state.spans_at(seq, clock) {
                    one(&span, values.as_deref());
                }
            }
        }
    }

    /// The values of an object: of a map in the order of its keys, of a list in order.
    pub fn values_of(&self, obj: impl AsRef<ObjId>) -> Vec<(Value<'a>, ObjId)> {
        let obj = obj.as_ref();
        match self.object_type(obj) {
            Ok(kind) if kind.is_map() => self.entries(obj, .., |_, winner, _| self.state.export(&winner)),
            _ => self.elements(obj, .., |_, winner, _| self.state.export(&winner)),
        }
    }

    /// Number of keys of a map, elements of a list, or units of a text.
    pub fn length(&self, obj: impl AsRef<ObjId>) -> usize {
        let Ok(number) = self.state.resolve(obj.as_ref()) else { return 0 };
        match (&*self.state.objects[number].body, &self.clock) {
            (Body::Map(map), None) => map.len(),
            (Body::Seq(seq), None) => seq.width(),
            (Body::Map(_), Some(_)) => self.keys(obj).count(),
            (Body::Seq(seq), Some(clock)) => {
                let spans = self.state.spans_at(seq, clock);
                spans.map(|(span, values)| self.units(seq, &span, values.as_ref())).sum()
            }
        }
    }

    /// A text as one string. Values that are not text appear as U+FFFC.
    ///
    /// Costs O(bytes).
    pub fn text(&self, obj: impl AsRef<ObjId>) -> Result<String, EditError> {
        let state = self.state;
        let object = state.object(obj.as_ref())?;
        let Body::Seq(seq) = &*object.body else {
            return Err(Mismatch::of_kind(obj.as_ref(), "a text", object.kind));
        };
        let Some(clock) = &self.clock else {
            if seq.is_text {
                return Ok(seq.text(|span| state.shown(seq, span)));
            }
            let mut text = String::new();
            self.each_element(obj.as_ref(), |winner, _| text.push_str(state.rendered(winner.val).0));
            return Ok(text);
        };
        let mut text = String::new();
        for (span, values) in state.spans_at(seq, clock) {
            match (values.and_then(|values| values.last().copied()), span.kind) {
                (Some(winner), _) => text.push_str(state.rendered(winner.val).0),
                (None, Kind::Text) => {
                    text.push_str(state.heap.text(Bytes { at: span.at, len: span.bytes }));
                }
                (None, _) => {
                    (0..span.len).for_each(|n| text.push_str(state.rendered(state.inserted(&span, n)).0));
                }
            }
        }
        Ok(text)
    }

    /// The parent of an object, and the key or index in it; `None` for the root and for objects that are not visible.
    pub fn parent(&self, obj: impl AsRef<ObjId>) -> Result<Option<(ObjId, Prop<'static>)>, EditError> {
        let state = self.state;
        let number = state.resolve(obj.as_ref())?;
        if number == ROOT {
            return Ok(None);
        }
        let object = &state.objects[number];
        let parent = state.obj_id(object.parent);
        let is_it = |value: &Visible| value.id == object.id;
        if state.map(object.parent).is_some() {
            let mut found = None;
            self.each_key(&parent, |key, values| {
                if values.iter().any(is_it) {
                    found = Some(key.to_owned());
                }
            });
            return Ok(found.map(|key| (parent, Prop::Map(Cow::Owned(key)))));
        }
        let Some(seq) = state.seq(object.parent) else { return Ok(None) };
        let mut index = 0;
        for (span, values) in self.visible_spans(seq) {
            let here = match &values {
                Some(values) => values.iter().any(is_it),
                None => {
                    span.id.actor == object.id.actor
                        && (span.id.ctr..span.id.ctr + span.len).contains(&object.id.ctr)
                }
            };
            if here {
                let inside = if values.is_some() { 0 } else { (object.id.ctr - span.id.ctr) as usize };
                return Ok(Some((parent, Prop::Seq(index + inside))));
            }
            index += self.units(seq, &span, values.as_ref());
        }
        Ok(None)
    }

    /// The visible spans, with the values of those that have registers.
    fn visible_spans<'s>(&'s self, seq: &'s Seq) -> Box<dyn Iterator<Item = (Span, Option<Values>)> + 's> {
        match &self.clock {
            Some(clock) => Box::new(self.state.spans_at(seq, clock)),
            None => Box::new(
                seq.spans()
                    .filter(|span| span.visible)
                    .map(|span| (*span, seq.reg(span).map(|reg| reg.values.clone()))),
            ),
        }
    }

    /// The path from the root to an object, outermost first.
    pub fn path(&self, obj: impl AsRef<ObjId>) -> Result<Vec<(ObjId, Prop<'static>)>, EditError> {
        let mut path = vec![];
        let mut at = obj.as_ref().clone();
        while let Some((parent, prop)) = self.parent(&at)? {
            path.push((parent.clone(), prop));
            at = parent;
        }
        path.reverse();
        Ok(path)
    }

    /// Unit of text indexes.
    pub fn text_encoding(&self) -> TextEncoding {
        self.state.encoding
    }
}

impl DocumentState {
    /// Clock of some heads and their ancestors.
    pub(crate) fn moment(&self, heads: &[ChangeHash]) -> Result<Clock, EditError> {
        let rows = heads.iter().map(|hash| self.row(hash).ok_or(EditError::UnknownHash(*hash)));
        Ok(self.clock(&rows.collect::<Result<SmallVec<[ChangeIdx; 4]>, _>>()?))
    }

    /// Number of an object by its id. The hint in the id makes this O(1) for ids returned by this document.
    #[inline]
    pub(crate) fn resolve(&self, obj: &ObjId) -> Result<ObjIdx, EditError> {
        match self.hinted(obj) {
            Some((number, _)) => Ok(number),
            None => self.search(obj),
        }
    }

    /// An object by its id.
    #[inline]
    pub(crate) fn object(&self, obj: &ObjId) -> Result<&Object, EditError> {
        match self.hinted(obj) {
            Some((_, object)) => Ok(object),
            None => Ok(&self.objects[self.search(obj)?]),
        }
    }

    /// The object at the position of the id's hint.
    #[inline]
    fn hinted(&self, obj: &ObjId) -> Option<(ObjIdx, &Object)> {
        let ObjId::Id { counter, actor, hint } = obj else { return Some((ROOT, &self.objects[ROOT])) };
        let number = ObjIdx::from_u32(*hint);
        let object = self.objects.get(number)?;
        let is_it = u64::from(object.id.ctr) == *counter
            && !object.id.is_none()
            && self.actors.id(object.id.actor).is(actor);
        is_it.then_some((number, object))
    }

    #[cold]
    fn search(&self, obj: &ObjId) -> Result<ObjIdx, EditError> {
        let ObjId::Id { counter, actor, .. } = obj else { return Ok(ROOT) };
        let number = u32::try_from(*counter)
            .ok()
            .filter(|counter| *counter > 0)
            .and_then(|counter| Some(OpId::new(counter, self.actors.find(actor)?)))
            .and_then(|id| self.number(id));
        number.ok_or_else(|| EditError::UnknownObject(obj.clone()))
    }

    /// Public id of an object.
    pub(crate) fn obj_id(&self, number: ObjIdx) -> ObjId {
        if number == ROOT {
            return ObjId::Root;
        }
        self.name(self.objects[number].id, number.get())
    }

    /// Public ids of all objects, in ascending order.
    pub(crate) fn object_ids(&self) -> Vec<ObjId> {
        let there = self.objects.numbered();
        let there = there.filter(|(number, object)| *number == ROOT || !object.id.is_none());
        let mut ids: Vec<ObjId> = there.map(|(number, _)| self.obj_id(number)).collect();
        ids.sort_unstable();
        ids
    }

    #[inline]
    fn name(&self, id: OpId, hint: u32) -> ObjId {
        ObjId::Id { counter: id.ctr.into(), actor: self.actors.id(id.actor).clone(), hint }
    }

    #[inline(never)]
    pub(crate) fn scalar(&self, val: StoredValue) -> ScalarValue<'_> {
        self.raw(val).decode().expect("everything in the heap was checked or written by this engine")
    }

    /// A value in its public form. Inlined: returning it through memory would take longer than finding it.
    #[inline(always)]
    pub(crate) fn export(&self, value: &Visible) -> (Value<'_>, ObjId) {
        if let Some((kind, number)) = value.val.as_object() {
            return (Value::Object(kind), self.name(value.id, number.get()));
        }
        (Value::Scalar(self.shown_scalar(value)), self.name(value.id, u32::MAX))
    }

    /// The scalar of a value, if it is one: a counter with its current value.
    #[inline]
    pub(crate) fn shown_scalar(&self, value: &Visible) -> ScalarValue<'_> {
        match RawValue::short_int(value.val.code, self.heap.get(value.val.bytes)) {
            Some(number) => ScalarValue::Int(number),
            None => match self.scalar(value.val) {
                ScalarValue::Counter(start) => ScalarValue::Counter(start.wrapping_add(value.added)),
                scalar => scalar,
            },
        }
    }

    #[inline(never)]
    fn last_of(&self, values: &[Visible]) -> Option<(Value<'_>, ObjId)> {
        values.last().map(|winner| self.export(winner))
    }

    /// The winning value of the `n`-th element of a visible span.
    #[inline]
    fn element_winner(&self, seq: &Seq, span: &Span, n: u32) -> Option<Visible> {
        match seq.reg(span) {
            Some(reg) => reg.values.last().copied(),
            None => Some(Visible { id: span.id.plus(n), val: self.inserted(span, n), added: 0 }),
        }
    }

    /// The visible values of the `n`-th element of a visible span.
    pub(crate) fn element_values<'a>(&self, seq: &'a Seq, span: &Span, n: u32) -> Cow<'a, [Visible]> {
        match seq.reg(span) {
            Some(reg) => Cow::Borrowed(&reg.values[..]),
            None => Cow::Owned(vec![Visible { id: span.id.plus(n), val: self.inserted(span, n), added: 0 }]),
        }
    }
}
