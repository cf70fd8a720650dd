//! Update of a text to a given result: computes the necessary edits.

use std::convert::Infallible;
use std::ops::Range;

use similar::algorithms::{DiffHook, myers};
use unicode_segmentation::UnicodeSegmentation;

use crate::edit::editor::Editor;
use crate::read::view::View;
use crate::store::seq::Kind;
use crate::types::error::EditError;
use crate::types::{ObjId, TextEncoding};

/// Above this number of pairs no comparison is done: it costs up to the square of the length.
const PAIRS: usize = 1 << 28;

/// Can these be compared in reasonable time?
pub(crate) fn is_quick<T>(old: &[T], new: &[T]) -> bool {
    old.len().saturating_mul(new.len()) <= PAIRS
}

/// One step from the old text to the new one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Keep { old: usize, len: usize },
    Delete { old: usize, len: usize },
    Insert { new: usize, len: usize },
}

#[derive(Default)]
struct Steps(Vec<Step>);

impl DiffHook for Steps {
    type Error = Infallible;

    fn equal(&mut self, old: usize, _: usize, len: usize) -> Result<(), Infallible> {
        self.0.push(Step::Keep { old, len });
        Ok(())
    }

    fn delete(&mut self, old: usize, len: usize, _: usize) -> Result<(), Infallible> {
        self.0.push(Step::Delete { old, len });
        Ok(())
    }

    fn insert(&mut self, _: usize, new: usize, len: usize) -> Result<(), Infallible> {
        self.0.push(Step::Insert { new, len });
        Ok(())
    }
}

/// The edit steps from `old` to `new`.
pub(crate) fn diff<T: PartialEq>(old: &[T], new: &[T]) -> Vec<Step> {
    if !is_quick(old, new) {
        return vec![Step::Delete { old: 0, len: old.len() }, Step::Insert { new: 0, len: new.len() }];
    }
    let mut steps = Steps::default();
    let Ok(()) = myers::diff(&mut steps, old, 0..old.len(), new, 0..new.len());
    steps.0
}

/// Start of each element of a text in bytes and in units, and the end of the last one. Both ascend.
pub(crate) struct Elements(Vec<(usize, usize)>);

impl Elements {
    /// `None` for a text whose elements are single characters with independent widths: there, every position between
    /// characters is a position between elements.
    pub(crate) fn of_odd(view: &View<'_>, obj: &ObjId, text: &str) -> Option<Self> {
        let encoding = view.state.encoding;
        let counted_alone =
            encoding != TextEncoding::GraphemeCluster || (text.is_ascii() && !text.contains('\r'));
        let seq = view.state.seq(view.state.resolve(obj).ok()?)?;
        let mut there = seq.spans().filter(|span| span.visible);
        if counted_alone && there.all(|span| span.kind == Kind::Text && span.reg.is_none()) {
            return None;
        }
        let (mut starts, mut odd, mut end) = (vec![], !counted_alone, (0, 0));
        view.each_element(obj, |winner, _| {
            let (text, width) = view.state.rendered(winner.val);
            odd |= text.chars().count() != 1;
            starts.push(end);
            end = (end.0 + text.len(), end.1 + width as usize);
        });
        starts.push(end);
        odd.then_some(Self(starts))
    }

    /// Does each edit start and end between elements, at the unit given by the tokens before it?
    fn agree_with(&self, old: &[&str], steps: &[Step], encoding: TextEncoding) -> bool {
        let mut at = (0, 0);
        steps.iter().all(|step| {
            let before = at;
            if let Step::Keep { old: from, len } | Step::Delete { old: from, len } = *step {
                at.0 += old[from..from + len].iter().map(|token| token.len()).sum::<usize>();
                at.1 += old[from..from + len].iter().map(|token| encoding.width(token)).sum::<usize>();
            }
            let between = |position| self.0.binary_search(&position).is_ok();
            matches!(step, Step::Keep { .. }) || (between(before) && between(at))
        })
    }

    /// The last position between elements at or before a byte.
    pub(crate) fn floor(&self, byte: usize) -> (usize, usize) {
        self.0[self.0.partition_point(|(start, _)| *start <= byte) - 1]
    }

    /// The first position between elements at or after a byte.
    pub(crate) fn ceil(&self, byte: usize) -> (usize, usize) {
        self.0[self.0.partition_point(|(start, _)| *start < byte)]
    }
}

/// Bytes of the old text, and their replacement.
#[derive(Debug, PartialEq)]
struct Replacement {
    bytes: Range<usize>,
    text: String,
}

/// Converts steps into as few replacements as possible.
fn replacements(old: &[&str], new: &[&str], steps: &[Step]) -> Vec<Replacement> {
    let (mut all, mut at): (Vec<Replacement>, usize) = (vec![], 0);
    let bytes = |tokens: &[&str]| tokens.iter().map(|token| token.len()).sum::<usize>();
    for step in steps {
        let (gone, come) = match *step {
            Step::Keep { old: from, len } => {
                at += bytes(&old[from..from + len]);
                continue;
            }
            Step::Delete { old: from, len } => (bytes(&old[from..from + len]), String::new()),
            Step::Insert { new: from, len } => (0, new[from..from + len].concat()),
        };
        match all.last_mut() {
            Some(last) if last.bytes.end == at => {
                last.bytes.end += gone;
                last.text.push_str(&come);
            }
            _ => all.push(Replacement { bytes: at..at + gone, text: come }),
        }
        at += gone;
    }
    all
}

/// Extends replacements to whole elements, which cannot be split: the kept part of an element is written again.
fn whole_elements(old: &str, elements: &Elements, all: Vec<Replacement>) -> Vec<Replacement> {
    // Each with its original end; the bytes from there to the end of its last element are appended at last.
    let mut whole: Vec<(Replacement, usize)> = vec![];
    for Replacement { bytes, text } in all {
        let (start, end) = (elements.floor(bytes.start).0, elements.ceil(bytes.end).0);
        match whole.last_mut() {
            // The previous replacement ends in the element in which this one starts.
            Some((last, ended)) if start < last.bytes.end => {
                last.text.push_str(&old[*ended..bytes.start]);
                last.text.push_str(&text);
                last.bytes.end = last.bytes.end.max(end);
                *ended = bytes.end;
            }
            _ => {
                let text = [&old[start..bytes.start], &text].concat();
                whole.push((Replacement { bytes: start..end, text }, bytes.end));
            }
        }
    }
    let finish = |(mut replacement, ended): (Replacement, usize)| {
        replacement.text.push_str(&old[ended..replacement.bytes.end]);
        replacement
    };
    whole.into_iter().map(finish).collect()
}

impl Editor<'_> {
    /// Turns a text into `new` with few edits, none of which splits a grapheme cluster.
    pub(crate) fn update_text(&mut self, obj: &ObjId, new: &str) -> Result<(), EditError> {
        let view = View::now(self.state);
        let (old, encoding) = (view.text(obj)?, self.state.encoding);
        let (mut before, mut after): (Vec<&str>, Vec<&str>) =
            (old.graphemes(true).collect(), new.graphemes(true).collect());
        if !is_quick(&before, &after) {
            (before, after) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        }
        let steps = diff(&before, &after);
        match Elements::of_odd(&view, obj, &old) {
            Some(elements) if !elements.agree_with(&before, &steps, encoding) => {
                let all = whole_elements(&old, &elements, replacements(&before, &after, &steps));
                self.replace(obj, &elements, &all)
            }
            _ => self.walk(obj, &before, &after, &steps),
        }
    }

    /// Replaces whole elements, the last ones first, so that earlier units keep their positions.
    fn replace(
        &mut self,
        obj: &ObjId,
        elements: &Elements,
        replacements: &[Replacement],
    ) -> Result<(), EditError> {
        for Replacement { bytes, text } in replacements.iter().rev() {
            let (start, end) = (elements.floor(bytes.start).1, elements.floor(bytes.end).1);
            let units = isize::try_from(end - start).expect("no text in memory is longer");
            self.splice_text(obj, start, units, text)?;
        }
        Ok(())
    }

    fn walk(&mut self, obj: &ObjId, old: &[&str], new: &[&str], steps: &[Step]) -> Result<(), EditError> {
        let encoding = self.state.encoding;
        let width = |pieces: &[&str]| pieces.iter().map(|piece| encoding.width(piece)).sum::<usize>();
        let mut at = 0;
        for step in steps {
            match *step {
                Step::Keep { old: from, len } => at += width(&old[from..from + len]),
                Step::Delete { old: from, len } => {
                    let units = isize::try_from(width(&old[from..from + len]));
                    self.splice_text(obj, at, units.expect("no text in memory is longer"), "")?;
                }
                Step::Insert { new: from, len } => {
                    let text = new[from..from + len].concat();
                    self.splice_text(obj, at, 0, &text)?;
                    at += encoding.width(&text);
                }
            }
        }
        Ok(())
    }
}
