//! Cursors in a script: both engines must write them alike and resolve them to the same positions later.

use super::{CallOutcome, End, Runner, answer, attempt};
use crate::doc::peer::{Hash, Peer, Place, Pointer, miscounted};
use crate::doc::script::{Kind, Position};

/// Number of latest cursors that are tracked.
const FOLLOWED: usize = 24;
/// Number of tracked cursors that are resolved after each step.
const LOOKED_FOR: usize = 6;

/// A cursor and the object that it was made for.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    object: String,
    pointer: Pointer,
}

impl<A: Peer, B: Peer> Runner<'_, A, B> {
    /// Makes cursors at a place, now and at earlier heads, and follows those that are made now.
    pub(super) fn point(&mut self, who: usize, spot: Position) -> Result<(), End> {
        let (object, prop) = self.aim(who, spot);
        let index = if let Place::Index(index) = prop { index } else { spot.place };
        let heads = self.past(who, spot.place);
        for before in [false, true] {
            if !self.unsure(who, &object, Some(&heads)) {
                both!(self, who, "a cursor of the past", |peer| answer(peer.cursor(
                    &object,
                    index,
                    before,
                    Some(&heads)
                )))?;
            }
            let created =
                both!(self, who, "a cursor", |peer| answer(peer.cursor(&object, index, before, None)))?;
            let object = object.clone();
            self.cursors.extend(created.map(|pointer| Followed { object, pointer }));
        }
        self.cursors.drain(..self.cursors.len().saturating_sub(FOLLOWED));
        self.find_cursors(who, Some(&heads), FOLLOWED)?;
        self.find_cursors(who, None, FOLLOWED)
    }

    /// Looks for the latest cursors in a person's document.
    pub(super) fn look_for_cursors(&mut self, who: usize) -> Result<(), End> {
        self.find_cursors(who, None, LOOKED_FOR)
    }

    /// Looks for all cursors in a person's document at earlier heads.
    pub(super) fn look_for_cursors_at(&mut self, who: usize, heads: &[Hash]) -> Result<(), End> {
        self.find_cursors(who, Some(heads), FOLLOWED)
    }

    /// What a person took back may come again as something else, in another object, where the official crate panics when it
    /// looks for a cursor.
    pub(super) fn forget_cursors(&mut self, who: usize) {
        let person = &self.people[who];
        self.cursors
            .retain(|followed| person.subject.position(&followed.object, &followed.pointer, None).is_ok());
    }

    fn find_cursors(&mut self, who: usize, at: Option<&[Hash]>, most: usize) -> Result<(), End> {
        for followed in self.cursors.clone().iter().rev().take(most) {
            let Followed { object, pointer } = followed;
            self.find(who, object, pointer, at)?;
        }
        let objects: Vec<String> = self.cursors.iter().rev().take(2).map(|one| one.object.clone()).collect();
        for object in objects {
            // For a missing object the official crate reports start and end 0. While isolated it resolves at earlier heads in the
            // whole document, which may lack later elements.
            let person = &self.people[who];
            if person.subject.kind(&object).is_some() && !(person.isolated && at.is_some()) {
                self.find(who, &object, &Pointer::start(), at)?;
                self.find(who, &object, &Pointer::end(), at)?;
            }
        }
        Ok(())
    }

    fn find(&mut self, who: usize, object: &str, pointer: &Pointer, at: Option<&[Hash]>) -> Result<(), End> {
        if self.unsure(who, object, at) {
            return Ok(());
        }
        let person = &self.people[who];
        let oracle = attempt(|| answer(person.oracle.position(object, pointer, at)));
        let subject = attempt(|| answer(person.subject.position(object, pointer, at)));
        if let (CallOutcome::Done(oracle), CallOutcome::Done(subject)) = (&oracle, &subject)
            && oracle != subject
            && self.overlooked(who, object, pointer, at, (*oracle, *subject))
        {
            return Ok(());
        }
        self.agree(&format!("where cursor {} is in {object}", pointer.text), oracle, subject)?;
        Ok(())
    }

    /// Whether the official crate miscounts this object then.
    fn unsure(&self, who: usize, object: &str, at: Option<&[Hash]>) -> bool {
        let person = &self.people[who];
        let past = at.is_some() || person.isolated;
        past && person.subject.kind(object) == Some(Kind::Text) && miscounted(&person.subject, object, at)
    }

    /// Whether a difference is one that the official crate has with itself, between now and then.
    fn overlooked(
        &self,
        who: usize,
        object: &str,
        pointer: &Pointer,
        at: Option<&[Hash]>,
        (oracle, subject): (Option<usize>, Option<usize>),
    ) -> bool {
        let person = &self.people[who];
        let Some(position) = subject else { return false };
        if at.is_some() || person.isolated {
            // Boundaries of marks are places to it now, and none in the past.
            if pointer.text.starts_with('-') && self.has_marks() {
                return true;
            }
            // With nothing visible behind its element, a cursor of the past is nowhere.
            let after = person.subject.position(object, &pointer.after(), at);
            return oracle.is_none() && after == Ok(person.subject.length(object, at));
        }
        let Ok(values) = person.subject.get_all(object, Place::Index(position), None) else { return false };
        let id = pointer.id();
        // A value that lost against another one is not there now,
        let lost =
            values.iter().any(|(_, other)| other == id) && values.last().is_some_and(|(_, won)| won != id);
        // and one that was replaced is behind the element when an older one has won since.
        let older = values.last().is_some_and(|(_, won)| earlier(won, id));
        lost || (older && oracle.is_some_and(|oracle| oracle > position))
    }
}

/// Whether an operation comes before another one.
fn earlier(one: &str, other: &str) -> bool {
    let parts = |id: &str| {
        let (counter, actor) = id.split_once('@')?;
        Some((counter.parse::<u64>().ok()?, actor.to_owned()))
    };
    parts(one) < parts(other)
}
