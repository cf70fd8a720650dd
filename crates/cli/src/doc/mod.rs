//! `hashmill doc`: documents in files, from the command line.

mod changed;
mod edit;
mod examine;
mod file;
mod make;
mod report;
mod show;
mod sync;
mod view;

pub(crate) use sync::DocumentId;

use crate::OK;
use crate::flags::DocCommand;
use anyhow::Result;
use hashmill_doc::{ChangeHash, Document, ReadDoc as _, View};
use std::path::Path;

/// Does what the flags say.
pub(crate) fn run(command: DocCommand) -> Result<u8> {
    match command {
        DocCommand::New(low) => make::new(&low)?,
        DocCommand::Show(low) => show::show(&low)?,
        DocCommand::Get(low) => show::get(&low)?,
        DocCommand::Put(low) => edit::put(&low)?,
        DocCommand::Delete(low) => edit::delete(&low)?,
        DocCommand::Splice(low) => edit::splice(&low)?,
        DocCommand::Mark(low) => edit::mark(&low)?,
        DocCommand::Fork(low) => make::fork(&low)?,
        DocCommand::Merge(low) => edit::merge(&low)?,
        DocCommand::Undo(low) => edit::undo(&low)?,
        DocCommand::Patch(low) => edit::patch(&low)?,
        DocCommand::Diff(low) => show::diff(&low)?,
        DocCommand::Blame(low) => show::blame(&low)?,
        DocCommand::At(low) => make::at(&low)?,
        DocCommand::Log(low) => show::log(&low)?,
        DocCommand::Export(low) => show::export(&low)?,
        DocCommand::Import(low) => make::import(&low)?,
        DocCommand::Sync(low) => return sync::run(&low),
        DocCommand::Check(low) => return show::check(&low),
        DocCommand::Rescue(low) => return make::rescue(&low),
        DocCommand::Squash(low) => make::squash(&low)?,
        DocCommand::Anonymise(low) => make::anonymise(&low)?,
        DocCommand::Examine(low) => return examine::file(&low),
        DocCommand::ExamineSync(low) => return examine::message(&low),
        DocCommand::View(low) => view::write(&low)?,
    }
    Ok(OK)
}

/// The document in a file at the changes that were named, or as it is.
fn view<'d>(path: &Path, doc: &'d Document, at: &[String]) -> Result<View<'d>> {
    if at.is_empty() { Ok(doc.view()) } else { Ok(doc.at(&named(path, doc, at)?)?) }
}

/// The changes whose hashes begin so.
fn named(path: &Path, doc: &Document, starts: &[String]) -> Result<Vec<ChangeHash>> {
    let all: Vec<ChangeHash> = doc.get_changes_meta(&[]).iter().map(|change| change.hash).collect();
    let find = |start: &String| {
        let start = start.to_ascii_lowercase();
        let mut found = all.iter().filter(|hash| !start.is_empty() && hash.to_string().starts_with(&start));
        match (found.next(), found.next()) {
            (Some(hash), None) => Ok(*hash),
            (None, _) => {
                anyhow::bail!("{}: no change is called '{start}' (see 'hashmill doc log')", file::name(path))
            }
            (Some(_), Some(_)) => {
                anyhow::bail!(
                    "{}: several changes are called {start}: give more of the hash",
                    file::name(path)
                )
            }
        }
    };
    starts.iter().map(find).collect()
}
