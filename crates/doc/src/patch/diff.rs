//! Patches between two points of the history: the objects to compare, their order, and the method for each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::sequence::{BeforeAfter, Walk};
use super::{Patch, PatchAction};
use crate::patch::object_paths::ObjectPaths;
use crate::patch::patch_list::PatchList;
use crate::patch::value_change::{ValueChange, became};
use crate::store::map::Map;
use crate::store::memory::keys::sort_by_bytes;
use crate::store::seq::Seq;
use crate::store::state::{Body, DocumentState, ROOT};
use crate::store::versions::clock::Clock;
use crate::store::versions::touched::Touched;
use crate::types::{ObjIdx, OpId, Prop};

/// Maximum number of operations since the later point that are examined in order to avoid a pass over a whole sequence.
const RECENT: u64 = 4096;

/// Selects the reported differences.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    /// The object to report on.
    pub(crate) obj: ObjIdx,
    /// Are objects inside it included?
    pub(crate) deep: bool,
    /// Are conflicts that appear or disappear reported?
    pub(crate) conflicts: bool,
}

impl Scope {
    /// All differences.
    pub(crate) const ALL: Self = Self { obj: ROOT, deep: true, conflicts: true };
}

/// Method of comparison for an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum VisitMode {
    /// Compares the entries `touched[from..to]`.
    Touched(usize, usize),
    /// Reports all current contents: the object is newly visible.
    All,
}

/// An object to compare. Objects are ordered by id, so a parent precedes its contents.
type Todo = Reverse<(u32, u32, ObjIdx, VisitMode)>;

/// The patches between the states at `before` and `after`, both clocks of this document.
pub(crate) fn diff(state: &DocumentState, before: &Clock, after: &Clock, scope: Scope) -> Vec<Patch> {
    let (now, nothing) = (state.clock_now(), Clock::default());
    let moments = BeforeAfter { before, after, conflicts: scope.conflicts };
    let is_now = after.distance(&now) == 0;
    let mut places = ObjectPaths::new(state, moments, is_now, scope.obj);
    if places.path(scope.obj).is_none() {
        return vec![];
    }
    let touched = touched(state, moments);
    let mut todo: BinaryHeap<Todo> = BinaryHeap::new();
    if !was_there(state, before, scope.obj) {
        todo.push(entry(state, scope.obj, VisitMode::All));
    }
    let mut start = 0;
    for group in touched.chunk_by(|a, b| a.0 == b.0) {
        let (obj, from, to) = (group[0].0, start, start + group.len());
        start = to;
        if (scope.deep || obj == scope.obj) && places.stays_visible(obj) {
            todo.push(entry(state, obj, VisitMode::Touched(from, to)));
        }
    }
    let since = RecentlyTouched::new(state, after, &now);
    let (mut patches, mut shown) = (PatchList::new(state), vec![]);
    while let Some(Reverse((_, _, obj, look))) = todo.pop() {
        // The values on the path are visible, so the path exists.
        let Some(path) = places.path(obj) else { continue };
        patches.turn_to(state.obj_id(obj), path);
        match (&*state.objects[obj].body, look) {
            (Body::Map(map), VisitMode::All) => all_keys(state, map, after, &mut patches, &mut shown),
            (Body::Map(map), VisitMode::Touched(from, to)) => {
                keys(state, map, moments, &touched[from..to], &mut patches, &mut shown);
            }
            (Body::Seq(seq), VisitMode::All) => {
                let moments = BeforeAfter { before: &nothing, ..moments };
                Walk::new(state, seq, moments, &mut patches, &mut shown).all();
            }
            (Body::Seq(seq), VisitMode::Touched(from, to)) => {
                let places = some_elements(seq, &touched[from..to], since.get(obj));
                let walk = Walk::new(state, seq, moments, &mut patches, &mut shown);
                match places {
                    Some(places) => walk.some(&places),
                    None => walk.all(),
                }
            }
        }
        let more = shown.drain(..).filter(|_| scope.deep);
        todo.extend(more.map(|obj| entry(state, obj, VisitMode::All)));
    }
    patches.finish()
}

fn entry(state: &DocumentState, obj: ObjIdx, look: VisitMode) -> Todo {
    let id = state.objects[obj].id;
    let rank = if id.is_none() { 0 } else { state.actors.rank(id.actor) };
    Reverse((id.ctr, rank, obj, look))
}

fn was_there(state: &DocumentState, clock: &Clock, obj: ObjIdx) -> bool {
    obj == ROOT || clock.covers(state.objects[obj].id)
}

/// The touched places between two points, grouped by object, for objects that existed at both.
fn touched(state: &DocumentState, moments: BeforeAfter<'_>) -> Vec<(ObjIdx, Touched)> {
    let BeforeAfter { before, after, .. } = moments;
    let mut touched = vec![];
    // Most operations are on the same object as the one before: cache it, and how many more of its keys or elements are worth
    // storing.
    let mut last = (None, 0);
    state.between(before, after, |obj, key| {
        if last.0 != Some(obj) {
            let stays = was_there(state, before, obj) && was_there(state, after, obj);
            last = (Some(obj), if stays { max_touched(state, obj) } else { 0 });
        }
        if last.1 > 0 {
            last.1 -= 1;
            touched.push((obj, key));
        }
    });
    touched.sort_by_key(|(obj, _)| *obj);
    touched
}

/// Maximum number of touched places to store for an object. Beyond it, all of a sequence is compared: see
/// [`some_elements`].
fn max_touched(state: &DocumentState, obj: ObjIdx) -> usize {
    state.seq(obj).map_or(usize::MAX, |seq| seq.size() + 1)
}

/// The places touched since the later point, if they are few.
struct RecentlyTouched(Option<Vec<(ObjIdx, Touched)>>);

impl RecentlyTouched {
    fn new(state: &DocumentState, after: &Clock, now: &Clock) -> Self {
        if after.distance(now) > RECENT {
            return Self(None);
        }
        let mut touched = vec![];
        state.between(after, now, |obj, touched_part| touched.push((obj, touched_part)));
        touched.sort_by_key(|(obj, _)| *obj);
        Self(Some(touched))
    }

    fn get(&self, obj: ObjIdx) -> Option<&[(ObjIdx, Touched)]> {
        let all = self.0.as_ref()?;
        let range = |end: bool| all.partition_point(|(other, _)| *other < obj || (end && *other == obj));
        Some(&all[range(false)..range(true)])
    }
}

/// The elements to compare, if that costs less than comparing all of them.
fn some_elements(
    seq: &Seq,
    touched: &[(ObjIdx, Touched)],
    since: Option<&[(ObjIdx, Touched)]>,
) -> Option<Vec<(OpId, u32)>> {
    let since = since?;
    if seq.marks > 0 || touched.len() + since.len() > seq.size() {
        return None;
    }
    let elements = |(_, touched_part): &(_, Touched)| match touched_part {
        Touched::Elements(id, len) => Some((*id, *len)),
        Touched::Key(_) | Touched::Mark => None,
    };
    Some(touched.iter().chain(since).filter_map(elements).collect())
}

/// Compares some keys of a map.
fn keys(
    state: &DocumentState,
    map: &Map,
    moments: BeforeAfter<'_>,
    touched: &[(ObjIdx, Touched)],
    patches: &mut PatchList<'_>,
    shown: &mut Vec<ObjIdx>,
) {
    let key = |(_, touched_part): &(_, Touched)| match touched_part {
        Touched::Key(key) => Some(state.heap.text(*key)),
        Touched::Elements(..) | Touched::Mark => None,
    };
    let mut keys: Vec<&str> = touched.iter().filter_map(key).collect();
    sort_by_bytes(&mut keys, |key| key.as_bytes());
    keys.dedup();
    for key in keys {
        let Some(entry) = map.get(key, &state.heap) else { continue };
        let before = state.values_at(entry.last, moments.before);
        let after = state.values_at(entry.last, moments.after);
        let prop = || Prop::Map(key.to_owned().into());
        match became(&before, &after, moments.conflicts) {
            ValueChange::Same => {}
            ValueChange::Gone => patches.push(PatchAction::DeleteMap { key: key.to_owned() }),
            ValueChange::Put(winner, conflict) => {
                let value = patches.value(&winner);
                patches.push(PatchAction::PutMap { key: key.to_owned(), value, conflict });
                shown.extend(winner.val.as_object().map(|(_, number)| number));
            }
            ValueChange::Grown { by, conflict } => patches.grow(prop(), by, conflict),
            ValueChange::Conflict => patches.push(PatchAction::Conflict { prop: prop() }),
        }
    }
}

/// Reports all keys of a map.
fn all_keys(
    state: &DocumentState,
    map: &Map,
    after: &Clock,
    patches: &mut PatchList<'_>,
    shown: &mut Vec<ObjIdx>,
) {
    for entry in map.sorted(&state.heap) {
        let values = state.values_at(entry.last, after);
        if let Some(winner) = values.last() {
            let (key, value) = (state.heap.text(entry.key).to_owned(), patches.value(winner));
            patches.push(PatchAction::PutMap { key, value, conflict: values.len() > 1 });
            shown.extend(winner.val.as_object().map(|(_, number)| number));
        }
    }
}
