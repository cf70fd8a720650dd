//! Editing by result: the caller says what a text shall be, and the edits that make it so are found here.

use std::convert::Infallible;

use similar::algorithms::{DiffHook, myers};
use unicode_segmentation::UnicodeSegmentation;

use crate::edit::Editor;
use crate::error::EditError;
use crate::types::ObjId;
use crate::view::View;

/// Above this many pairs nothing is compared: comparing costs up to the square.
const PAIRS: usize = 1 << 28;

/// Whether these can be compared in a time that somebody waits for.
pub(crate) fn is_quick<T>(old: &[T], new: &[T]) -> bool {
    old.len().saturating_mul(new.len()) <= PAIRS
}

/// One step from the old text to the new.
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

/// The steps from `old` to `new`.
pub(crate) fn diff<T: PartialEq>(old: &[T], new: &[T]) -> Vec<Step> {
    if !is_quick(old, new) {
        return vec![Step::Delete { old: 0, len: old.len() }, Step::Insert { new: 0, len: new.len() }];
    }
    let mut steps = Steps::default();
    let Ok(()) = myers::diff(&mut steps, old, 0..old.len(), new, 0..new.len());
    steps.0
}

impl Editor<'_> {
    /// Turns a text into `new` with few edits, none of which divides a grapheme cluster.
    pub(crate) fn update_text(&mut self, obj: &ObjId, new: &str) -> Result<(), EditError> {
        let old = View::now(self.state).text(obj)?;
        let mut at = 0;
        self.update(obj, &mut at, &old, new)
    }

    fn update(&mut self, obj: &ObjId, at: &mut usize, old: &str, new: &str) -> Result<(), EditError> {
        let (before, after): (Vec<&str>, Vec<&str>) =
            (old.graphemes(true).collect(), new.graphemes(true).collect());
        if is_quick(&before, &after) {
            let steps = diff(&before, &after);
            return self.walk(obj, at, &before, &after, &steps);
        }
        let (before, after): (Vec<&str>, Vec<&str>) =
            (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        let steps = diff(&before, &after);
        self.walk(obj, at, &before, &after, &steps)
    }

    fn walk(
        &mut self,
        obj: &ObjId,
        at: &mut usize,
        old: &[&str],
        new: &[&str],
        steps: &[Step],
    ) -> Result<(), EditError> {
        let encoding = self.state.encoding;
        let width = |pieces: &[&str]| pieces.iter().map(|piece| encoding.width(piece)).sum::<usize>();
        for step in steps {
            match *step {
                Step::Keep { old: from, len } => *at += width(&old[from..from + len]),
                Step::Delete { old: from, len } => {
                    let units = isize::try_from(width(&old[from..from + len]));
                    self.splice_text(obj, *at, units.expect("no text in memory is longer"), "")?;
                }
                Step::Insert { new: from, len } => {
                    let text = new[from..from + len].concat();
                    self.splice_text(obj, *at, 0, &text)?;
                    *at += encoding.width(&text);
                }
            }
        }
        Ok(())
    }
}
