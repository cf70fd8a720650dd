//! `cargo rivals serve`: sync servers under the load of the same bots, in rounds that alternate.
//!
//! Bots and server share the machine. The table therefore has the processor time of the server, which depends little on what runs beside
//! it, and that of the bots and of other processes.

mod bots;
mod cold_open;
mod idle_sockets;
mod kills;
mod nodefs;
mod process;
mod report;
mod server;
mod soak;
mod stored;
mod typists;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use crate::builds;
use cold_open::ColdOpenArgs;
use idle_sockets::IdleSocketArgs;
use kills::KillArgs;
use report::{Rounds, Sample};
use server::{Server, ServerName, Side};
use soak::SoakArgs;
use stored::StoredArgs;
use typists::TypistArgs;

/// A measurement of servers.
#[derive(Clone, Debug, clap::Args)]
pub struct ServeRequest {
    #[command(subcommand)]
    row: Row,
    /// A server: `official`, `hashmill`, `hashmill=PROGRAM`, or a running one as `ws://127.0.0.1:PORT=PID`. Given twice, the first is
    /// the baseline.
    #[arg(long = "server", value_name = "SERVER", global = true)]
    servers: Vec<ServerName>,
    /// Number of rounds. Intervals need eight.
    #[arg(long, default_value_t = 1, global = true, value_parser = clap::value_parser!(u32).range(1..=400))]
    rounds: u32,
    /// Seed of all randomness.
    #[arg(long, default_value_t = 1, global = true)]
    seed: u64,
    /// Print all rounds as JSON instead of a table.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Row {
    /// Users who type into shared documents: processor time of the server, and latency to the other users.
    Typists(TypistArgs),
    /// Sockets of clients that are silent: memory and processor time.
    Sockets(IdleSocketArgs),
    /// A large document that the first client opens: time and memory.
    Open(ColdOpenArgs),
    /// A storage with many documents: start, memory, and opening some.
    Stored(StoredArgs),
    /// Confirmed edits that are lost when the server is killed.
    Kills(KillArgs),
    /// Load for a long time: growth of the server's memory.
    Soak(SoakArgs),
}

/// Measures, and returns the table. The second value is false if a round of a side failed.
pub fn run(request: &ServeRequest, progress: impl Fn(&str)) -> anyhow::Result<(String, bool)> {
    process::check_supported()?;
    let default = [ServerName::Official, ServerName::Hashmill(None)];
    let names = if request.servers.is_empty() { &default[..] } else { &request.servers };
    ensure!(names.len() <= 2, "two servers can be compared, not {}", names.len());
    progress("preparing the servers");
    let sides = names.iter().map(Side::prepare).collect::<anyhow::Result<Vec<Side>>>()?;
    let restarts = !matches!(request.row, Row::Typists(_) | Row::Sockets(_) | Row::Soak(_));
    let can_restart = sides.iter().all(Side::can_restart);
    ensure!(can_restart || !restarts, "this measurement starts its servers: name `official` or `hashmill`");
    // Beside the build, on a disk: a folder for temporary files may be in memory.
    let folder = builds::target().join("rivals");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let folder =
        tempfile::Builder::new().prefix("serve-").tempdir_in(folder).context("a folder for storages")?;
    let shared = folder.path().join("shared");
    if let Row::Stored(args) = &request.row {
        progress("writing documents");
        stored::write(args, &shared)?;
        let import = |(number, side): (usize, &Side)| {
            stored::import(side, &shared, &folder.path().join(format!("side-{number}")))
        };
        let imported = sides.iter().enumerate().map(import).collect::<anyhow::Result<Vec<_>>>()?;
        return measure_rounds(request, &sides, &progress, |side, round, _| {
            let server = sides[side].start(&imported[side])?;
            finish(stored::measure(args, &server, request.seed + round)?, server)
        });
    }
    measure_rounds(request, &sides, &progress, |side, round, order| {
        let data = folder.path().join(format!("{round}-{order}"));
        let sample = measure(&request.row, &sides[side], &data, request.seed + round);
        fs::remove_dir_all(&data).or_else(ignore_missing).with_context(|| data.display().to_string())?;
        sample
    })
}

/// Measures one round of one side, with a storage below `folder`.
fn measure(row: &Row, side: &Side, folder: &Path, seed: u64) -> anyhow::Result<Sample> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let data = folder.join("data");
    match row {
        Row::Typists(args) => {
            let server = side.start(&data)?;
            finish(typists::measure(args, &server, seed)?, server)
        }
        Row::Sockets(args) => {
            let server = side.start(&data)?;
            finish(idle_sockets::measure(args, &server)?, server)
        }
        Row::Soak(args) => {
            let server = side.start(&data)?;
            finish(soak::measure(args, &server, seed)?, server)
        }
        Row::Open(args) => {
            let prepared = cold_open::prepare(args, side, folder)?;
            let server = side.start(prepared.data())?;
            finish(cold_open::measure(args, &prepared, &server)?, server)
        }
        Row::Kills(args) => kills::measure(args, side, &data, seed),
        Row::Stored(_) => anyhow::bail!("stored documents are written once for all rounds"),
    }
}

fn finish(sample: Sample, server: Server) -> anyhow::Result<Sample> {
    server.kill()?;
    Ok(sample)
}

/// Runs the rounds. The side that goes first alternates, so that a drift of the machine meets both.
fn measure_rounds(
    request: &ServeRequest,
    sides: &[Side],
    progress: &impl Fn(&str),
    measure: impl Fn(usize, u64, usize) -> anyhow::Result<Sample>,
) -> anyhow::Result<(String, bool)> {
    let mut rounds = Rounds::new(sides.iter().map(|side| side.name.clone()).collect());
    for round in 0..request.rounds as usize {
        let mut results: Vec<Result<Sample, String>> = vec![Ok(Sample::default()); sides.len()];
        for order in 0..sides.len() {
            let side = (order + round) % sides.len();
            progress(&format!("round {} of {}: {}", round + 1, request.rounds, sides[side].name));
            results[side] = measure(side, round as u64, order).map_err(|error| format!("{error:#}"));
            match &results[side] {
                Ok(sample) => progress(&sample.to_string()),
                Err(reason) => progress(&format!("failed: {reason}")),
            }
        }
        rounds.push(results);
    }
    let text = if request.json { format!("{}\n", rounds.json()) } else { rounds.table() };
    Ok((text, rounds.is_complete()))
}

fn ignore_missing(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}
