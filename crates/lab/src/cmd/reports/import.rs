//! `lab report import`: results of hyperfine and criterion as a table.

use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::model::units::duration;
use crate::report::documents::imported::{Imported, read};
use crate::report::render::text::lay_out;
use crate::report::store::{ReadError, read_bytes};
use crate::report::view::{Line, Table, shown, span};
use crate::stats::ratio::{ratio, times};
use clap::Args;
use std::path::{Path, PathBuf};

/// Maximum depth of criterion's folders below the given one.
const DEPTH: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Files of `hyperfine --export-json`, criterion's sample.json files, or its folder target/criterion.
    #[arg(required = true)]
    sources: Vec<PathBuf>,
}

pub(crate) fn main(args: &Import, console: &mut Console<'_>) -> Result<Exit, Error> {
    let mut all = Vec::new();
    for source in &args.sources {
        let mut files = Vec::new();
        let found = collect(source, DEPTH, &mut files);
        found.map_err(|error| Error::read(source)(ReadError::Io { path: source.clone(), source: error }))?;
        if files.is_empty() {
            return Err(Error::Usage(format!(
                "there is no new/sample.json of criterion below {}",
                source.display()
            )));
        }
        files.sort();
        for file in files {
            let bytes = read_bytes(&file).map_err(Error::read(&file))?;
            let imported = read(&bytes, &name(source, &file));
            all.extend(imported.map_err(|error| Error::Refused(format!("{}: {error}", file.display())))?);
        }
    }
    console.out.write_all(table(&all, console.colour).as_bytes())?;
    writeln!(
        console.out,
        "\nmeasured one after the other, so there is no verdict; `compare` measures in pairs"
    )?;
    Ok(Exit::Ok)
}

/// Collects a file, or all newest samples of criterion in a folder.
fn collect(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !std::fs::metadata(path)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && depth > 0 {
            collect(&entry.path(), depth - 1, files)?;
        } else if kind.is_file() && entry.path().ends_with("new/sample.json") {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Name of a criterion benchmark: its folders between the given one and `new`.
fn name(source: &Path, file: &Path) -> String {
    let inside = file.strip_prefix(source).ok().filter(|inside| inside.components().count() > 2);
    let folder = inside.unwrap_or(file).parent().and_then(Path::parent).unwrap_or(file);
    folder.to_string_lossy().replace('\\', "/")
}

fn table(all: &[Imported], colour: bool) -> String {
    let first = all.first().map_or(1.0, |one| one.centre().0);
    let rows = all.iter().map(|one| {
        let (centre, interval) = one.centre();
        let interval = shown(interval, |(low, high)| span([low, high]));
        let over = times(ratio(first, centre));
        Line::plain([one.name.clone(), one.ns.len().to_string(), duration(centre), interval, over])
    });
    let columns = ["name", "samples", "median", "99 % interval", "first over this"];
    lay_out(&Table::new(columns, rows), colour)
}
