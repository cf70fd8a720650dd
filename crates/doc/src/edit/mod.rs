//! Editing documents: transactions and the operations they write.

pub(crate) mod autocommit;
pub(crate) mod editor;
pub(crate) mod insert_nested;
pub(crate) mod transaction;
pub(crate) mod undo_manager;
pub(crate) mod update_text;
