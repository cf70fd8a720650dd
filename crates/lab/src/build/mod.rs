//! Programs to compare: made from revisions and directories by one recipe, kept, and found again.
//!
//! Both sides are built at the same path with the same target folder, so that only what was committed can differ
//! in them. The user's repository is only read: the lab works in a clone that borrows its objects, and a directory
//! with changes is frozen into a tree of that clone before it is built.
//!
//! What a program was linked of is kept beside it, so that every session can run a link of its own.

mod error;
mod file;
mod git;
mod linked;
mod links;
mod recipe;
mod source;
mod workshop;

pub(crate) use error::BuildError;
pub(crate) use file::RecipeFile;
pub(crate) use linked::{Bench, Linked};
pub(crate) use recipe::Recipe;
pub(crate) use source::Source;
pub(crate) use workshop::Workshop;
