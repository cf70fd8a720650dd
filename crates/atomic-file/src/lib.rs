//! Atomic replacement of files, and a program's own files beside them.
//!
//! | I have | I call |
//! |---|---|
//! | bytes that become a file | [`write`](fn@write) |
//! | output that becomes a file when it is complete | [`Replacement::begin`], [`Replacement::finish`] |
//! | the same, where a pipe or a device may be named | [`Replacement::begin_or_stream`] |
//! | the same, with secrets in it | [`Replacement::begin_private`] |
//! | a file to copy, permissions included | [`copy`] |
//! | a folder that is replaced as a whole | [`replace_folder`] |
//! | a journal or another helper file beside a user's file | [`beside`], [`open_own`] |
//! | a lock file | [`open_lock`] |
//! | a file to read that is nothing but a file | [`open_regular`]; without following links: [`open_unlinked`] |
//! | a file of one's own that grew over several runs, and is complete | [`place`], in a folder by [`create_folder`] |
//!
//! # What a replacement does
//! The new file is written without a name, where the system can (`O_TMPFILE`), else under a random name that did not exist
//! (`O_EXCL`). [`Replacement::finish`] then works in this order: take over owner and permissions, write the bytes to the
//! medium, check that the target is what the caller expects, rename, write the folder to the medium. A power cut leaves
//! the old file or the new one; once `finish` has returned, the new one.
//!
//! # Policies
//! - **Owner, group, permissions** are those of the file that is replaced, and on Linux its POSIX access control list. If the
//!   system does not let this user give the file to the same group, that group's permissions shrink to everybody's, and no
//!   set-user or set-group bit is set. [`Replacement::require_owner`] makes it an error.
//! - **Other extended attributes** are not copied: a stored digest would belong to the old bytes.
//! - **Symbolic links** are followed to their last target, which is replaced; the link stays. A link of another user in a folder
//!   that others may write to is refused ([`Refusal::PlantedLink`]).
//! - **Hard links**: the name is replaced. Other names keep the old file, and [`Finished::other_names`] counts them, so that
//!   a program can say so.
//! - **Changed meanwhile**: [`Expected`] says what must be there at the end. Where there is a chance for a race between the
//!   check and the rename, it is as short as these two system calls; [`Expected::Absent`] has none on Unix.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod error;
mod facts;
mod finish;
mod folder;
mod opener;
mod os;
mod placement;
mod replacement;
mod resolve;
mod temporary;

pub use error::{Error, Refusal};
pub use finish::{Finished, Stamp};
pub use folder::replace_folder;
pub use opener::{open_lock, open_own, open_regular, open_unlinked};
pub use placement::{create_folder, place};
pub use replacement::{Expected, Replacement, copy, write};
pub use resolve::{beside, resolve};
pub use temporary::is_temporary;

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
