//! Rich text in a script: marks and blocks.

use super::{Runner, Stop, attempt};
use crate::doc::peer::{MarkSpec, Peer, PropRef, object_text};
use crate::doc::script::{Action, Expand, Kind, Position, Scalar};

const NAMES: [&str; 3] = ["bold", "link", ""];

impl<A: Peer, B: Peer> Runner<'_, A, B> {
    /// The text of a position and the index in it, if the replica knows a text.
    fn resolve_text_position(&self, replica: usize, position: Position) -> Option<(String, usize)> {
        let (object, prop) = self.resolve_position_in(replica, position, true);
        let PropRef::Index(index) = prop else { return None };
        (self.replicas[replica].oracle.kind(&object) == Some(Kind::Text)).then_some((object, index))
    }

    pub(super) fn mark(
        &mut self,
        replica: usize,
        position: Position,
        (units, name): (usize, usize),
        value: &Scalar,
        expand: Expand,
    ) -> Result<(), Stop> {
        let Some((object, start)) = self.resolve_text_position(replica, position) else { return Ok(()) };
        // If a range ends after the end of the text, the official crate has begun the mark before it refuses.
        let length = self.replicas[replica].oracle.length(&object, None);
        let end = if start > length { start } else { (start + units).min(length) };
        if start > length && expand == Expand::None {
            // The official crate does not check such a range.
            return Ok(());
        }
        let mark = MarkSpec { name: NAMES[name], value, start, end };
        both!(self, replica, "mark", |peer| peer.mark(&object, &mark, expand).ok())?;
        self.compare_marks(replica, &object)
    }

    pub(super) fn block(&mut self, replica: usize, position: Position, action: &Action) -> Result<(), Stop> {
        let Some((object, index)) = self.resolve_text_position(replica, position) else { return Ok(()) };
        if let Action::SplitBlock(_) = action {
            let id = both!(self, replica, "split_block", |peer| peer.split_block(&object, index).ok())?;
            self.remember_object(replica, id);
            return self.compare_marks(replica, &object);
        }
        // The official crate deletes any value at the index, of several values only the winner, and replaces even inside of the old
        // element.
        let state = &self.replicas[replica];
        let values = |index| state.oracle.get_all(&object, PropRef::Index(index), None).unwrap_or_default();
        let current = values(index);
        let inside = index > 0 && values(index - 1) == current;
        let [(value, _)] = &current[..] else { return Ok(()) };
        if value != object_text(Kind::Map) || inside {
            return Ok(());
        }
        if let Action::JoinBlock(_) = action {
            both!(self, replica, "join_block", |peer| peer.join_block(&object, index).ok())?;
        } else {
            let id = both!(self, replica, "replace_block", |peer| peer.replace_block(&object, index).ok())?;
            self.remember_object(replica, id);
        }
        self.compare_marks(replica, &object)
    }

    /// Whether the script may contain marks.
    pub(super) fn has_marks(&self) -> bool {
        self.script.steps.iter().any(|step| matches!(step.action, Action::Mark(..)))
    }

    fn compare_marks(&mut self, replica: usize, object: &str) -> Result<(), Stop> {
        both!(self, replica, "text", |peer| peer.text(object, None).ok())?;
        both!(self, replica, "marks", |peer| peer.marks(object, None).ok())?;
        both!(self, replica, "spans", |peer| peer.spans(object, None).ok())?;
        Ok(())
    }
}
