//! Rich text in a script: marks and blocks.

use super::{End, Runner, answer, attempt};
use crate::doc::peer::{Marked, Peer, Place, object_word};
use crate::doc::script::{Action, Expand, Kind, Position, Scalar};

const NAMES: [&str; 3] = ["bold", "link", ""];

impl<A: Peer, B: Peer> Runner<'_, A, B> {
    /// A text and a place in it, if a person knows one.
    fn aim_rich(&self, who: usize, spot: Position) -> Option<(String, usize)> {
        let (object, prop) = self.aim_at(who, spot, true);
        let Place::Index(index) = prop else { return None };
        (self.people[who].oracle.kind(&object) == Some(Kind::Text)).then_some((object, index))
    }

    pub(super) fn mark(
        &mut self,
        who: usize,
        spot: Position,
        (units, name): (usize, usize),
        value: &Scalar,
        expand: Expand,
    ) -> Result<(), End> {
        let Some((object, start)) = self.aim_rich(who, spot) else { return Ok(()) };
        // Where a range ends behind the text, the official crate has begun it before it refuses.
        let length = self.people[who].oracle.length(&object, None);
        let end = if start > length { start } else { (start + units).min(length) };
        if start > length && expand == Expand::None {
            // It looks at nothing there.
            return Ok(());
        }
        let mark = Marked { name: NAMES[name], value, start, end };
        both!(self, who, "mark", |peer| answer(peer.mark(&object, &mark, expand)))?;
        self.look_at_marks(who, &object)
    }

    pub(super) fn block(&mut self, who: usize, spot: Position, action: &Action) -> Result<(), End> {
        let Some((object, index)) = self.aim_rich(who, spot) else { return Ok(()) };
        if let Action::SplitBlock(_) = action {
            let id = both!(self, who, "split_block", |peer| answer(peer.split_block(&object, index)))?;
            self.learn(who, id);
            return self.look_at_marks(who, &object);
        }
        // The official crate deletes whatever stands there, of several values the winner alone, and replaces where it was
        // asked to even if that is inside what was there.
        let person = &self.people[who];
        let values = |index| person.oracle.get_all(&object, Place::Index(index), None).unwrap_or_default();
        let here = values(index);
        let inside = index > 0 && values(index - 1) == here;
        let [(value, _)] = &here[..] else { return Ok(()) };
        if value != object_word(Kind::Map) || inside {
            return Ok(());
        }
        if let Action::JoinBlock(_) = action {
            both!(self, who, "join_block", |peer| answer(peer.join_block(&object, index)))?;
        } else {
            let id = both!(self, who, "replace_block", |peer| answer(peer.replace_block(&object, index)))?;
            self.learn(who, id);
        }
        self.look_at_marks(who, &object)
    }

    /// Whether the script may contain marks.
    pub(super) fn has_marks(&self) -> bool {
        self.script.steps.iter().any(|step| matches!(step.action, Action::Mark(..)))
    }

    fn look_at_marks(&mut self, who: usize, object: &str) -> Result<(), End> {
        both!(self, who, "text", |peer| answer(peer.text(object, None)))?;
        both!(self, who, "marks", |peer| answer(peer.marks(object, None)))?;
        both!(self, who, "spans", |peer| answer(peer.spans(object, None)))?;
        Ok(())
    }
}
