//! `lab count`: instructions per call, where the counted code is the timed code.

use super::args::positive;
use super::error::Error;
use super::measure::own_program;
use super::{Console, Exit, Mount};
use crate::count::{Callgrind, count};
use crate::report::count::{Change, CountRecord, CountRow, SCHEMA};
use crate::report::store::{pretty, read_bytes, write_atomically};
use crate::report::text::lay_out;
use crate::session::process::Processes;
use clap::Args;
use hashmill_machine::Machine;
use hashmill_machine::date::now_utc;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct Count {
    /// Cases, as in `list`.
    #[arg(required = true)]
    patterns: Vec<String>,
    /// Write the counts to this file.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Compare with the counts in this file.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Exit with 1 when a count grew by more than this.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.2, requires = "against", value_parser = positive)]
    limit_pct: f64,
    /// Longest wait for one answer in seconds.
    #[arg(long, value_name = "S", default_value_t = 600)]
    timeout_secs: u64,
    /// Print the counts as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn main(mount: &Mount<'_>, args: &Count, console: &mut Console<'_>) -> Result<Exit, Error> {
    let keys = mount.registry.select(&args.patterns)?;
    let baseline = args.against.as_deref().map(read).transpose()?;
    let counter = Callgrind::version().ok_or_else(|| {
        Error::Refused(
            "counting needs Valgrind, which is not here; Debian: apt-get install valgrind".to_owned(),
        )
    })?;
    let (build, program) = own_program(mount)?;
    let timeout = Duration::from_secs(args.timeout_secs);
    let folder = std::env::temp_dir().join(format!("lab-count-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|source| Error::Write { path: folder.clone(), source })?;
    let callgrind = Callgrind::new(&program, &folder, timeout);
    let native = Processes { programs: vec![program], timeout };
    let rows = keys.iter().map(|key| match count(key, &native, &callgrind) {
        Ok(count) => CountRow {
            case: key.to_string(),
            kernel: count.kernel,
            instructions: Some(count.instructions),
            resolution: Some(count.resolution),
            refused: None,
        },
        Err(refusal) => CountRow {
            case: key.to_string(),
            kernel: String::new(),
            instructions: None,
            resolution: None,
            refused: Some(refusal.to_string()),
        },
    });
    let record = CountRecord {
        schema: SCHEMA.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        created: now_utc(),
        counter,
        machine: Machine::read(),
        program_sha256: build.program_sha256,
        rows: rows.collect(),
    };
    std::fs::remove_dir_all(&folder).ok();
    if let Some(path) = &args.record {
        let failed = |source| Error::Write { path: path.clone(), source };
        write_atomically(path, &pretty(&record)).map_err(failed)?;
    }
    let change = match &baseline {
        Some(baseline) => {
            let ratios = record.against(baseline).map_err(|error| Error::Usage(error.to_string()))?;
            Some(Change { ratios, limit_pct: args.limit_pct })
        }
        None => None,
    };
    let text =
        if args.json { pretty(&record) } else { lay_out(&record.table(change.as_ref()), console.colour) };
    console.out.write_all(text.as_bytes())?;
    let grown = change.is_some_and(|change| change.any_growth());
    Ok(if record.rows.iter().all(|row| row.refused.is_some()) {
        Exit::Invalid
    } else if grown {
        Exit::Failed
    } else {
        Exit::Ok
    })
}

fn read(path: &Path) -> Result<CountRecord, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let bytes = read_bytes(path).map_err(failed)?;
    serde_json::from_slice(&bytes).map_err(|error| failed(error.into()))
}
