//! Cursors in a script: both engines must encode them equally and resolve them to the same positions later.

use super::{CallOutcome, Runner, Stop, attempt};
use crate::doc::peer::{Hash, Peer, Pointer, PropRef, is_miscounted};
use crate::doc::script::{Kind, Position};

/// Number of latest cursors that are tracked.
const TRACKED_CURSORS: usize = 24;
/// Number of tracked cursors that are resolved after each step.
const RESOLVED_PER_STEP: usize = 6;

/// A cursor and the object that it was made for.
#[derive(Clone, Debug)]
pub(super) struct TrackedCursor {
    object: String,
    pointer: Pointer,
}

impl<A: Peer, B: Peer> Runner<'_, A, B> {
    /// Creates cursors at a position, at the current and at earlier heads, and tracks those at the current heads.
    pub(super) fn create_cursors(&mut self, replica: usize, position: Position) -> Result<(), Stop> {
        let (object, prop) = self.resolve_position(replica, position);
        let index = if let PropRef::Index(index) = prop { index } else { position.prop };
        let heads = self.earlier_heads(replica, position.prop);
        for before in [false, true] {
            if !self.may_be_miscounted(replica, &object, Some(&heads)) {
                both!(self, replica, "a cursor at earlier heads", |peer| peer
                    .cursor(&object, index, before, Some(&heads))
                    .ok())?;
            }
            let created =
                both!(self, replica, "a cursor", |peer| peer.cursor(&object, index, before, None).ok())?;
            let object = object.clone();
            self.cursors.extend(created.map(|pointer| TrackedCursor { object, pointer }));
        }
        self.cursors.drain(..self.cursors.len().saturating_sub(TRACKED_CURSORS));
        self.resolve_cursors(replica, Some(&heads), TRACKED_CURSORS)?;
        self.resolve_cursors(replica, None, TRACKED_CURSORS)
    }

    /// Resolves the latest cursors in a replica's document.
    pub(super) fn resolve_latest_cursors(&mut self, replica: usize) -> Result<(), Stop> {
        self.resolve_cursors(replica, None, RESOLVED_PER_STEP)
    }

    /// Resolves all cursors in a replica's document at earlier heads.
    pub(super) fn resolve_cursors_at(&mut self, replica: usize, heads: &[Hash]) -> Result<(), Stop> {
        self.resolve_cursors(replica, Some(heads), TRACKED_CURSORS)
    }

    /// Drops cursors whose element is gone after a rollback. Its id may be used again in another object, for which the official crate
    /// panics when it resolves the cursor.
    pub(super) fn drop_dangling_cursors(&mut self, replica: usize) {
        let state = &self.replicas[replica];
        self.cursors
            .retain(|tracked| state.subject.position(&tracked.object, &tracked.pointer, None).is_ok());
    }

    fn resolve_cursors(&mut self, replica: usize, at: Option<&[Hash]>, max: usize) -> Result<(), Stop> {
        for tracked in self.cursors.clone().iter().rev().take(max) {
            let TrackedCursor { object, pointer } = tracked;
            self.resolve_cursor(replica, object, pointer, at)?;
        }
        let objects: Vec<String> =
            self.cursors.iter().rev().take(2).map(|tracked| tracked.object.clone()).collect();
        for object in objects {
            // For a missing object the official crate reports start and end 0. While isolated it resolves at earlier heads in the
            // whole document, which may lack later elements.
            let state = &self.replicas[replica];
            if state.subject.kind(&object).is_some() && !(state.isolated && at.is_some()) {
                self.resolve_cursor(replica, &object, &Pointer::start(), at)?;
                self.resolve_cursor(replica, &object, &Pointer::end(), at)?;
            }
        }
        Ok(())
    }

    fn resolve_cursor(
        &mut self,
        replica: usize,
        object: &str,
        pointer: &Pointer,
        at: Option<&[Hash]>,
    ) -> Result<(), Stop> {
        if self.may_be_miscounted(replica, object, at) {
            return Ok(());
        }
        let state = &self.replicas[replica];
        let oracle = attempt(|| state.oracle.position(object, pointer, at).ok());
        let subject = attempt(|| state.subject.position(object, pointer, at).ok());
        if let (CallOutcome::Done(oracle), CallOutcome::Done(subject)) = (&oracle, &subject)
            && oracle != subject
            && self.is_official_inconsistency(replica, object, pointer, at, (*oracle, *subject))
        {
            return Ok(());
        }
        self.compare_results(&format!("position of cursor {} in {object}", pointer.text), oracle, subject)?;
        Ok(())
    }

    /// Whether the official crate miscounts this object at these heads.
    fn may_be_miscounted(&self, replica: usize, object: &str, at: Option<&[Hash]>) -> bool {
        let state = &self.replicas[replica];
        let past = at.is_some() || state.isolated;
        past && state.subject.kind(object) == Some(Kind::Text) && is_miscounted(&state.subject, object, at)
    }

    /// Whether the official crate also differs from itself here, between the current state and the same heads later.
    fn is_official_inconsistency(
        &self,
        replica: usize,
        object: &str,
        pointer: &Pointer,
        at: Option<&[Hash]>,
        (oracle, subject): (Option<usize>, Option<usize>),
    ) -> bool {
        let state = &self.replicas[replica];
        let Some(position) = subject else { return false };
        if at.is_some() || state.isolated {
            // In the current state it counts boundaries of marks as positions, at earlier heads it does not.
            if pointer.text.starts_with('-') && self.has_marks() {
                return true;
            }
            // At earlier heads, it does not resolve a cursor without a visible element after it.
            let after = state.subject.position(object, &pointer.after(), at);
            return oracle.is_none() && after == Ok(state.subject.length(object, at));
        }
        let Ok(values) = state.subject.get_all(object, PropRef::Index(position), None) else { return false };
        let id = pointer.id();
        // In the current state, it does not find a value that lost a conflict,
        let lost = values.iter().any(|(_, other)| other == id)
            && values.last().is_some_and(|(_, winner)| winner != id);
        // and it places a replaced value after the element if an older value has won since.
        let older = values.last().is_some_and(|(_, winner)| is_earlier(winner, id));
        lost || (older && oracle.is_some_and(|oracle| oracle > position))
    }
}

/// Whether an operation comes before another one.
fn is_earlier(one: &str, other: &str) -> bool {
    let parts = |id: &str| {
        let (counter, actor) = id.split_once('@')?;
        Some((counter.parse::<u64>().ok()?, actor.to_owned()))
    };
    parts(one) < parts(other)
}
