//! Ways through a document.

use std::fmt;
use std::sync::Arc;

use crate::types::{ObjId, Prop};

/// The way from the root to an object: each object on it and where the next one is there.
///
/// Ways share what they have in common, so those to all objects of a document take as much room as there are objects,
/// however deep they lie.
#[derive(Clone, Default)]
pub struct Path(Option<Arc<Step>>);

struct Step {
    before: Path,
    obj: ObjId,
    prop: Prop<'static>,
}

impl Path {
    /// The way on through one more object.
    #[must_use]
    pub(super) fn join(&self, obj: ObjId, prop: Prop<'static>) -> Self {
        Self(Some(Arc::new(Step { before: self.clone(), obj, prop })))
    }

    /// From the object before the last back to the root.
    fn backwards(&self) -> impl Iterator<Item = (&ObjId, &Prop<'static>)> {
        let mut next = self.0.as_ref();
        std::iter::from_fn(move || {
            let step = next?;
            next = step.before.0.as_ref();
            Some((&step.obj, &step.prop))
        })
    }

    /// Each object and where the next one is there, from the root on.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&ObjId, &Prop<'static>)> + ExactSizeIterator {
        let steps: Vec<_> = self.backwards().collect();
        steps.into_iter().rev()
    }

    /// The object that the way ends in, and where.
    pub fn last(&self) -> Option<(&ObjId, &Prop<'static>)> {
        self.backwards().next()
    }

    /// How many objects there are on it.
    pub fn len(&self) -> usize {
        self.backwards().count()
    }

    /// Whether it is the way to the root.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// Not by each step dropping the one before: there may be more of them than a stack holds.
impl Drop for Path {
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut step) = next.and_then(Arc::into_inner) {
            next = step.before.0.take();
        }
    }
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.backwards().eq(other.backwards())
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
