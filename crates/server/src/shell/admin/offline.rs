//! Commands to a storage that no server uses.

use std::path::Path;

use hashmill_repo::DocumentId;

use crate::shell::transfer::{TransferError, open_existing, storage_error};
use crate::storage::{Command, CommandOutcome};

/// Carries out a command about a document of the storage in `folder`. A storage that a server uses is an error: see
/// [`Settings::admin_token`](crate::shell::Settings::admin_token).
pub fn execute(
    folder: &Path,
    document: &DocumentId,
    command: Command,
) -> Result<CommandOutcome, TransferError> {
    let store = open_existing(folder)?;
    let (outcome, _) = store.execute(document, command).map_err(|failure| storage_error(folder, &failure))?;
    Ok(outcome)
}
