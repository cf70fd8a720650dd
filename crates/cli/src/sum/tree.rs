//! `--tree`: one digest for each directory.

use super::{Form, Lossy};
use crate::out::json::{self, Name};
use crate::out::{Closed, Out, hex, shown};
use hashmill_files::Files;
use hashmill_files::checkfile::{Frame, Style};
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// How to show the digests.
pub(super) struct How {
    pub(super) form: Form,
}

pub(super) fn run(files: &Files, paths: &[PathBuf], how: &How, style: Style, out: &mut Out) {
    let mut lossy = Lossy::default();
    for path in paths {
        // Why it stopped, if so, is known to `out`.
        if let ControlFlow::Break(Closed) = one(files, path, how, style, out, &mut lossy) {
            break;
        }
    }
    lossy.warn(out);
}

fn one(
    files: &Files,
    path: &Path,
    how: &How,
    style: Style,
    out: &mut Out,
    lossy: &mut Lossy,
) -> ControlFlow<Closed> {
    let job = out.job();
    if let Some(job) = &job {
        job.begin(path);
    }
    let hash = files.hash_tree(path);
    if let Some(job) = &job {
        job.end_file();
    }
    let hash = match hash {
        Ok(hash) => hash,
        Err(failures) => {
            for (file, error) in &failures {
                out.fail(&format!("{}: {error}", shown(file)));
            }
            let error = match &failures[..] {
                // The argument itself: nothing more is to be said about it.
                [(file, error)] if file == path => error.to_string(),
                _ => {
                    let error = format!("no digest, as {} below it failed", failures.len());
                    out.fail(&format!("{}: {error}", shown(path)));
                    error
                }
            };
            if how.form != Form::Json {
                return ControlFlow::Continue(());
            }
            let line = json::Failed { name: Name::of(path), error, unreadable: None };
            return out.print(|out| json::line(out, &line));
        }
    };
    let digest = hex(hash.as_bytes());
    let name = name(path);
    let frame = match how.form {
        Form::Tagged => Frame::tagged(&name, style),
        Form::Bare => Frame::bare(style),
        Form::Plain | Form::Raw => Frame::plain(&name, style),
        Form::Json => {
            let line = json::Hashed {
                name: Name::of(path),
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
    let frame = out.framed(frame);
    out.print(|out| {
        out.write_all(&frame.before)?;
        out.write_all(digest.as_bytes())?;
        out.write_all(&frame.after)
    })?;
    lossy.note(how.form, &name, style);
    out.flush()
}

/// The path as lists have it: with a slash behind a directory, so that nobody takes its digest for that of a file.
fn name(path: &Path) -> Cow<'_, Path> {
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
