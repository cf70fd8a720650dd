//! From two moments to the steps between them: which objects to look at, in which order, and how.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::list::Patches;
use super::place::Places;
use super::sequence::{Moments, Walk};
use super::value::{Became, became};
use super::{Patch, PatchAction};
use crate::store::between::Touched;
use crate::store::map::Map;
use crate::store::memory::keys::sort_by_bytes;
use crate::store::past::Clock;
use crate::store::seq::Seq;
use crate::store::state::{Body, ROOT, State};
use crate::types::{ObjIdx, OpId, Prop};

/// As many operations since the later moment are worth a look, so that not all of a sequence has to be looked at.
const RECENT: u64 = 4096;

/// What is to be told.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    /// Of this object,
    pub(crate) obj: ObjIdx,
    /// and of those in it.
    pub(crate) deep: bool,
    /// That a value has others beside it, or no longer.
    pub(crate) conflicts: bool,
}

impl Scope {
    /// Everything.
    pub(crate) const ALL: Self = Self { obj: ROOT, deep: true, conflicts: true };
}

/// How to look at an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Look {
    /// At the touched places from one to before another.
    Touched(usize, usize),
    /// At all that is there now: nobody has seen it.
    All,
}

/// An object to look at. Objects come in the order of their ids, so that nothing is told before what it is in.
type Todo = Reverse<(u32, u32, ObjIdx, Look)>;

/// The steps that lead from what `before` saw to what `after` sees, each a past of this document.
pub(crate) fn diff(state: &State, before: &Clock, after: &Clock, scope: Scope) -> Vec<Patch> {
    let (now, nothing) = (state.clock_now(), Clock::default());
    let moments = Moments { before, after, conflicts: scope.conflicts };
    let is_now = after.distance(&now) == 0;
    let mut places = Places::new(state, moments, is_now, scope.obj);
    if places.path(scope.obj).is_none() {
        return vec![];
    }
    let touched = touched(state, moments);
    let mut todo: BinaryHeap<Todo> = BinaryHeap::new();
    if !was_there(state, before, scope.obj) {
        todo.push(entry(state, scope.obj, Look::All));
    }
    let mut start = 0;
    for group in touched.chunk_by(|a, b| a.0 == b.0) {
        let (obj, from, to) = (group[0].0, start, start + group.len());
        start = to;
        if (scope.deep || obj == scope.obj) && places.stays(obj) {
            todo.push(entry(state, obj, Look::Touched(from, to)));
        }
    }
    let since = Since::new(state, after, &now);
    let (mut patches, mut shown) = (Patches::new(state), vec![]);
    while let Some(Reverse((_, _, obj, look))) = todo.pop() {
        // The values that led here are there, so a way leads here.
        let Some(path) = places.path(obj) else { continue };
        patches.turn_to(state.obj_id(obj), path);
        match (&*state.objects[obj].body, look) {
            (Body::Map(map), Look::All) => all_keys(state, map, after, &mut patches, &mut shown),
            (Body::Map(map), Look::Touched(from, to)) => {
                keys(state, map, moments, &touched[from..to], &mut patches, &mut shown);
            }
            (Body::Seq(seq), Look::All) => {
                let moments = Moments { before: &nothing, ..moments };
                Walk::new(state, seq, moments, &mut patches, &mut shown).all();
            }
            (Body::Seq(seq), Look::Touched(from, to)) => {
                let places = some_elements(seq, &touched[from..to], since.of(obj));
                let walk = Walk::new(state, seq, moments, &mut patches, &mut shown);
                match places {
                    Some(places) => walk.some(&places),
                    None => walk.all(),
                }
            }
        }
        let more = shown.drain(..).filter(|_| scope.deep);
        todo.extend(more.map(|obj| entry(state, obj, Look::All)));
    }
    patches.finish()
}

fn entry(state: &State, obj: ObjIdx, look: Look) -> Todo {
    let id = state.objects[obj].id;
    let rank = if id.is_none() { 0 } else { state.actors.rank(id.actor) };
    Reverse((id.ctr, rank, obj, look))
}

fn was_there(state: &State, clock: &Clock, obj: ObjIdx) -> bool {
    obj == ROOT || clock.covers(state.objects[obj].id)
}

/// What was touched between two moments in objects that were there at both, each object's together.
fn touched(state: &State, moments: Moments<'_>) -> Vec<(ObjIdx, Touched)> {
    let Moments { before, after, .. } = moments;
    let mut touched = vec![];
    // Most operations are on the same object as the one before: which that is, and how many of them are worth noting.
    let mut last = (None, 0);
    state.between(before, after, |obj, place| {
        if last.0 != Some(obj) {
            let stays = was_there(state, before, obj) && was_there(state, after, obj);
            last = (Some(obj), if stays { worth(state, obj) } else { 0 });
        }
        if last.1 > 0 {
            last.1 -= 1;
            touched.push((obj, place));
        }
    });
    touched.sort_by_key(|(obj, _)| *obj);
    touched
}

/// Of so many touched places each is looked at. Of a sequence everything is from there on, see [`some_elements`].
fn worth(state: &State, obj: ObjIdx) -> usize {
    state.seq(obj).map_or(usize::MAX, |seq| seq.size() + 1)
}

/// What was touched since the later moment, when that is little.
struct Since(Option<Vec<(ObjIdx, Touched)>>);

impl Since {
    fn new(state: &State, after: &Clock, now: &Clock) -> Self {
        if after.distance(now) > RECENT {
            return Self(None);
        }
        let mut touched = vec![];
        state.between(after, now, |obj, place| touched.push((obj, place)));
        touched.sort_by_key(|(obj, _)| *obj);
        Self(Some(touched))
    }

    fn of(&self, obj: ObjIdx) -> Option<&[(ObjIdx, Touched)]> {
        let all = self.0.as_ref()?;
        let range = |end: bool| all.partition_point(|(other, _)| *other < obj || (end && *other == obj));
        Some(&all[range(false)..range(true)])
    }
}

/// The elements to look at, if that is better than to look at all of them.
fn some_elements(
    seq: &Seq,
    touched: &[(ObjIdx, Touched)],
    since: Option<&[(ObjIdx, Touched)]>,
) -> Option<Vec<(OpId, u32)>> {
    let since = since?;
    if seq.marks > 0 || touched.len() + since.len() > seq.size() {
        return None;
    }
    let elements = |(_, place): &(_, Touched)| match place {
        Touched::Elements(id, len) => Some((*id, *len)),
        Touched::Key(_) | Touched::Mark => None,
    };
    Some(touched.iter().chain(since).filter_map(elements).collect())
}

/// Looks at some keys of a map.
fn keys(
    state: &State,
    map: &Map,
    moments: Moments<'_>,
    touched: &[(ObjIdx, Touched)],
    patches: &mut Patches<'_>,
    shown: &mut Vec<ObjIdx>,
) {
    let key = |(_, place): &(_, Touched)| match place {
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
            Became::Same => {}
            Became::Gone => patches.push(PatchAction::DeleteMap { key: key.to_owned() }),
            Became::Put(winner, conflict) => {
                let value = patches.value(&winner);
                patches.push(PatchAction::PutMap { key: key.to_owned(), value, conflict });
                shown.extend(winner.val.as_object().map(|(_, number)| number));
            }
            Became::Grown { by, conflict } => patches.grow(prop(), by, conflict),
            Became::Conflict => patches.push(PatchAction::Conflict { prop: prop() }),
        }
    }
}

/// Tells all of a map.
fn all_keys(state: &State, map: &Map, after: &Clock, patches: &mut Patches<'_>, shown: &mut Vec<ObjIdx>) {
    for entry in map.sorted(&state.heap) {
        let values = state.values_at(entry.last, after);
        if let Some(winner) = values.last() {
            let (key, value) = (state.heap.text(entry.key).to_owned(), patches.value(winner));
            patches.push(PatchAction::PutMap { key, value, conflict: values.len() > 1 });
            shown.extend(winner.val.as_object().map(|(_, number)| number));
        }
    }
}
