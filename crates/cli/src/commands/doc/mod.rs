//! `hashmill doc`: reads, edits and syncs documents in files.

mod create;
mod diff_text;
mod examine;
mod file;
mod json_report;
mod read;
mod sync;
mod view;
mod write;

use crate::exit_code::OK;
use crate::flags::DocCommand;
use anyhow::Result;
use hashmill_doc::{ChangeHash, Document, ReadDoc as _, View};
use std::path::Path;

/// Runs the command.
pub(crate) fn run(command: DocCommand) -> Result<u8> {
    match command {
        DocCommand::New(flags) => create::new(&flags)?,
        DocCommand::Show(flags) => read::show(&flags)?,
        DocCommand::Get(flags) => read::get(&flags)?,
        DocCommand::Put(flags) => write::put(&flags)?,
        DocCommand::Delete(flags) => write::delete(&flags)?,
        DocCommand::Splice(flags) => write::splice(&flags)?,
        DocCommand::Mark(flags) => write::mark(&flags)?,
        DocCommand::Fork(flags) => create::fork(&flags)?,
        DocCommand::Merge(flags) => write::merge(&flags)?,
        DocCommand::Undo(flags) => write::undo(&flags)?,
        DocCommand::Patch(flags) => write::patch(&flags)?,
        DocCommand::Diff(flags) => read::diff(&flags)?,
        DocCommand::Blame(flags) => read::blame(&flags)?,
        DocCommand::At(flags) => create::at(&flags)?,
        DocCommand::Log(flags) => read::log(&flags)?,
        DocCommand::Export(flags) => read::export(&flags)?,
        DocCommand::Import(flags) => create::import(&flags)?,
        DocCommand::Sync(flags) => return sync::run(&flags),
        DocCommand::Check(flags) => return read::check(&flags),
        DocCommand::Rescue(flags) => return create::rescue(&flags),
        DocCommand::Squash(flags) => create::squash(&flags)?,
        DocCommand::Anonymise(flags) => create::anonymise(&flags)?,
        DocCommand::Examine(flags) => return examine::file(&flags),
        DocCommand::ExamineSync(flags) => return examine::message(&flags),
        DocCommand::View(flags) => view::write(&flags)?,
    }
    Ok(OK)
}

/// The document at the named changes, or its current version.
fn view<'d>(path: &Path, doc: &'d Document, at: &[String]) -> Result<View<'d>> {
    if at.is_empty() { Ok(doc.view()) } else { Ok(doc.at(&changes_by_prefix(path, doc, at)?)?) }
}

/// The changes whose hashes start with these prefixes.
fn changes_by_prefix(path: &Path, doc: &Document, prefixes: &[String]) -> Result<Vec<ChangeHash>> {
    let all: Vec<ChangeHash> = doc.get_changes_meta(&[]).iter().map(|change| change.hash).collect();
    let find = |prefix: &String| {
        let prefix = prefix.to_ascii_lowercase();
        let mut found = all.iter().filter(|hash| !prefix.is_empty() && hash.to_string().starts_with(&prefix));
        match (found.next(), found.next()) {
            (Some(hash), None) => Ok(*hash),
            (None, _) => {
                anyhow::bail!(
                    "{}: no change has a hash that starts with '{prefix}' (see 'hashmill doc log')",
                    file::name(path)
                )
            }
            (Some(_), Some(_)) => {
                anyhow::bail!(
                    "{}: several changes have hashes that start with {prefix}: give more digits",
                    file::name(path)
                )
            }
        }
    };
    prefixes.iter().map(find).collect()
}
