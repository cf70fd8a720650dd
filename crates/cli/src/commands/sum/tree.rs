//! `--tree`: one digest per directory.

use super::output_form::{OutputForm, UnreadableNames};
use crate::output::json::{self, Name};
use crate::output::{Out, StdoutClosed, display_path, hex};
use hashmill_files::Files;
use hashmill_files::checksum_list::{LineTemplate, ListFormat};
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Options of `--tree`.
pub(super) struct TreeOptions {
    pub(super) form: OutputForm,
}

pub(super) fn run(files: &Files, paths: &[PathBuf], options: &TreeOptions, style: ListFormat, out: &mut Out) {
    let mut unreadable_names = UnreadableNames::default();
    for path in paths {
        // If it stopped early, `out` keeps the reason.
        if let ControlFlow::Break(StdoutClosed) =
            hash_tree(files, path, options, style, out, &mut unreadable_names)
        {
            break;
        }
    }
    unreadable_names.warn(out);
}

fn hash_tree(
    files: &Files,
    path: &Path,
    options: &TreeOptions,
    style: ListFormat,
    out: &mut Out,
    unreadable_names: &mut UnreadableNames,
) -> ControlFlow<StdoutClosed> {
    let progress = out.progress();
    if let Some(progress) = &progress {
        progress.begin_file(path);
    }
    let hash = files.hash_tree(path);
    if let Some(progress) = &progress {
        progress.end_file();
    }
    let hash = match hash {
        Ok(hash) => hash,
        Err(failures) => {
            for (file, error) in &failures {
                out.fail(&format!("{}: {error}", display_path(file)));
            }
            let error = match &failures[..] {
                // The argument itself failed, and that was reported.
                [(file, error)] if file == path => error.to_string(),
                _ => {
                    let error = format!("no digest, as {} below it failed", failures.len());
                    out.fail(&format!("{}: {error}", display_path(path)));
                    error
                }
            };
            if options.form != OutputForm::Json {
                return ControlFlow::Continue(());
            }
            let line = json::Failed { name: Name::from_path(path), error, unreadable: None };
            return out.print(|out| json::line(out, &line));
        }
    };
    let digest = hex(hash.as_bytes());
    let name = list_name(path);
    let frame = match options.form {
        OutputForm::Tagged => LineTemplate::tagged(&name, style),
        OutputForm::Bare => LineTemplate::bare(style),
        OutputForm::Plain | OutputForm::Raw => LineTemplate::plain(&name, style),
        OutputForm::Json => {
            let line = json::Hashed {
                name: Name::from_path(path),
                algorithm: "blake3",
                mode: "tree",
                size: None,
                seek: 0,
                length: 32,
                digest: &digest,
            };
            return out.print(|out| json::line(out, &line));
        }
    };
    let frame = out.escape_frame(frame);
    out.print(|out| {
        out.write_all(&frame.before)?;
        out.write_all(digest.as_bytes())?;
        out.write_all(&frame.after)
    })?;
    unreadable_names.check(options.form, &name, style);
    out.flush()
}

/// The path as written to lists: a directory ends with a slash, so that its digest is not taken for that of a file.
fn list_name(path: &Path) -> Cow<'_, Path> {
    let ends = path
        .as_os_str()
        .as_encoded_bytes()
        .last()
        .is_some_and(|last| std::path::is_separator(char::from(*last)));
    if ends || !path.is_dir() {
        return Cow::Borrowed(path);
    }
    let mut name = path.as_os_str().to_owned();
    name.push("/");
    Cow::Owned(name.into())
}
