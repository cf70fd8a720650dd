//! Paths of objects before and after a difference.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::Path;
use super::sequence::BeforeAfter;
use crate::patch::value_change::{ValueChange, became, winner};
use crate::read::view::View;
use crate::store::log::key_op::Key;
use crate::store::register::{Values, Visible};
use crate::store::seq::Span;
use crate::store::state::{DocumentState, Object, ROOT};
use crate::store::versions::at_heads::is_visible_at;
use crate::store::versions::clock::Clock;
use crate::types::{ObjIdx, ObjType, OpId, Prop};

/// Cache of the paths of objects.
pub(super) struct ObjectPaths<'a> {
    state: &'a DocumentState,
    moments: BeforeAfter<'a>,
    /// Is the later point the current state?
    now: bool,
    stay: HashMap<ObjIdx, bool>,
    paths: HashMap<ObjIdx, Option<Path>>,
    /// Indexes of the objects in each list, if the later point is not the current state.
    indexes: HashMap<ObjIdx, HashMap<OpId, usize>>,
}

impl<'a> ObjectPaths<'a> {
    /// Everything of interest is inside the object `top`.
    pub(super) fn new(state: &'a DocumentState, moments: BeforeAfter<'a>, now: bool, top: ObjIdx) -> Self {
        let stay = HashMap::from([(ROOT, top == ROOT), (top, true)]);
        let (paths, indexes) = (HashMap::new(), HashMap::new());
        Self { state, moments, now, stay, paths, indexes }
    }

    /// Was an object visible before, and is it after, below `top` and without being shown anew?
    pub(super) fn stays_visible(&mut self, obj: ObjIdx) -> bool {
        let mut path = vec![];
        let mut at = obj;
        let mut stays = loop {
            if let Some(known) = self.stay.get(&at) {
                break *known;
            }
            path.push(at);
            at = self.state.objects[at].parent;
        };
        for obj in path.into_iter().rev() {
            stays = stays && self.stays_in_parent(obj);
            self.stay.insert(obj, stays);
        }
        stays
    }

    fn stays_in_parent(&self, obj: ObjIdx) -> bool {
        let id = self.state.objects[obj].id;
        let before = self.values(obj, self.moments.before);
        let after = self.values(obj, self.moments.after);
        let parent = self.state.seq(self.state.objects[obj].parent);
        // A text only reports winners: if other values disappear, the winner is not shown anew.
        let anew = match parent.is_some_and(|seq| seq.is_text) {
            true => winner(&before) != Some(id),
            false => matches!(became(&before, &after, self.moments.conflicts), ValueChange::Put(..)),
        };
        is_shown(self.state, obj) && winner(&after) == Some(id) && !anew
    }

    /// The values at the place of an object at a clock.
    fn values(&self, obj: ObjIdx, clock: &Clock) -> Values {
        let (state, parent) = (self.state, self.state.objects[obj].parent);
        match state.containing_key(obj) {
            Some(Key::Map(key)) => {
                let entry = state.map(parent).and_then(|map| map.get(state.heap.text(key), &state.heap));
                entry.map_or_else(Values::new, |entry| state.values_at(entry.last, clock))
            }
            Some(Key::Elem(elem)) => self.element(parent, elem, clock),
            None => Values::new(),
        }
    }

    fn element(&self, list: ObjIdx, elem: OpId, clock: &Clock) -> Values {
        let state = self.state;
        let found = state.seq(list).and_then(|seq| Some((seq, seq.find(elem)?)));
        let Some((seq, at)) = found else { return Values::new() };
        let span = seq.span(at);
        if span.reg.is_some() {
            return state.element_at(seq, span, clock);
        }
        let here = is_visible_at(span, at.off, clock);
        here.then(|| Visible { id: elem, val: state.inserted(span, at.off), added: 0 }).into_iter().collect()
    }

    /// The path from the root to an object after the difference; `None` if the object is not visible.
    pub(super) fn path(&mut self, obj: ObjIdx) -> Option<Path> {
        let mut steps = vec![];
        let mut at = obj;
        let mut path = loop {
            if at == ROOT {
                break Some(Path::default());
            }
            if let Some(known) = self.paths.get(&at) {
                break known.clone();
            }
            steps.push(at);
            at = self.state.objects[at].parent;
        };
        for obj in steps.into_iter().rev() {
            let parent = self.state.objects[obj].parent;
            path = path.and_then(|path| Some(path.join(self.state.obj_id(parent), self.find(obj, parent)?)));
            self.paths.insert(obj, path.clone());
        }
        path
    }

    fn find(&mut self, obj: ObjIdx, parent: ObjIdx) -> Option<Prop<'static>> {
        let (state, id) = (self.state, self.state.objects[obj].id);
        if !is_shown(state, obj) || winner(&self.values(obj, self.moments.after)) != Some(id) {
            return None;
        }
        match state.containing_key(obj)? {
            Key::Map(key) => Some(Prop::Map(Cow::Owned(state.heap.text(key).to_owned()))),
            Key::Elem(elem) if self.now => {
                let seq = state.seq(parent)?;
                Some(Prop::Seq(seq.units_before(seq.find(elem)?, &state.ctx())))
            }
            Key::Elem(_) => {
                let moments = self.moments;
                let indexes = self.indexes.entry(parent);
                let indexes = indexes.or_insert_with(|| objects_in(state, parent, moments.after));
                indexes.get(&id).copied().map(Prop::Seq)
            }
        }
    }
}

/// Are the contents of an object visible? In a text only those of blocks are; other objects are a character there.
pub(super) fn is_shown(state: &DocumentState, obj: ObjIdx) -> bool {
    let Object { kind, parent, .. } = state.objects[obj];
    kind == ObjType::Map || state.seq(parent).is_none_or(|seq| !seq.is_text)
}

/// Indexes of the objects in a list or text at a clock.
fn objects_in(state: &DocumentState, list: ObjIdx, clock: &Clock) -> HashMap<OpId, usize> {
    let view = View { state, clock: Some(clock.clone()) };
    let mut found = HashMap::new();
    let Some(seq) = state.seq(list) else { return found };
    let mut index = 0;
    let mut see = |value: Visible, index| {
        if value.val.as_object().is_some() {
            found.insert(value.id, index);
        }
    };
    for (span, values) in state.spans_at(seq, clock) {
        let one = |n, span: &Span| Visible { id: span.id.plus(n), val: state.inserted(span, n), added: 0 };
        match values.as_ref().map(|values| values.last()) {
            Some(winner) => winner.into_iter().for_each(|winner| see(*winner, index)),
            None if span.kind == crate::store::seq::Kind::Text => {}
            None => (0..span.len).for_each(|n| see(one(n, &span), index + n as usize)),
        }
        index += view.units(seq, &span, values.as_ref());
    }
    found
}
