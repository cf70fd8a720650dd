//! Paths to the objects of a document.

use std::fmt;
use std::sync::Arc;

use crate::types::{ObjId, Prop};

/// Path from the root to an object: each object on it, and the key or index of the next one in it.
///
/// Paths share common prefixes, so the paths to all objects take memory proportional to the number of objects, however
/// deep they are.
#[derive(Clone, Default)]
pub struct Path(Option<Arc<Step>>);

struct Step {
    before: Path,
    obj: ObjId,
    prop: Prop<'static>,
}

impl Path {
    /// The path extended by one object.
    #[must_use]
    pub(super) fn join(&self, obj: ObjId, prop: Prop<'static>) -> Self {
        Self(Some(Arc::new(Step { before: self.clone(), obj, prop })))
    }

    /// From the parent of the last object back to the root.
    fn backwards(&self) -> impl Iterator<Item = (&ObjId, &Prop<'static>)> {
        let mut next = self.0.as_ref();
        std::iter::from_fn(move || {
            let step = next?;
            next = step.before.0.as_ref();
            Some((&step.obj, &step.prop))
        })
    }

    /// Each object and the key or index of the next one, from the root on.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&ObjId, &Prop<'static>)> + ExactSizeIterator {
        let steps: Vec<_> = self.backwards().collect();
        steps.into_iter().rev()
    }

    /// The parent of the last object, and the key or index in it.
    pub fn last(&self) -> Option<(&ObjId, &Prop<'static>)> {
        self.backwards().next()
    }

    /// Number of objects on the path.
    pub fn len(&self) -> usize {
        self.backwards().count()
    }

    /// Is it the path of the root?
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// Iterative: recursion could exceed the stack.
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
