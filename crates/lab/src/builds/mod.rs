//! Builds of programs to compare, from revisions and directories by one recipe, with a cache.
//!
//! Both sides are built at the same path with the same target folder, so that they can differ only in their sources.
//! The user's repository is only read: the lab works in a clone that shares its objects, and a directory with changes
//! becomes a tree of this clone before it is built.
//!
//! The link inputs of a program are captured, so that every session can run a program linked in another order.

mod build_cache;
mod error;
mod git;
mod recipe;
mod recipe_file;
mod relink;
mod relink_session;
mod source;

pub(crate) use build_cache::BuildCache;
pub(crate) use error::BuildError;
pub(crate) use recipe::Recipe;
pub(crate) use recipe_file::RecipeFile;
pub(crate) use relink_session::{RelinkInputs, RelinkLauncher};
pub(crate) use source::Source;
