//! `hashmill serve`: a sync server for automerge-repo's clients.

mod fact_log;
mod settings;
mod transfer;

use crate::flags::{InitArgs, ServeArgs, ServeCommand, UsageError};
use crate::os::SignalBlock;
use crate::output::{self, display_path, print_note};
use anyhow::{Context as _, Result, anyhow, bail};
use fact_log::FactLog;
use hashmill_server::shell::{Server, Settings};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::thread;
use std::time::Duration;

/// Polling interval for signals, and for the end of the server.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs the command.
pub(crate) fn run(flags: &ServeArgs) -> Result<()> {
    match &flags.command {
        Some(ServeCommand::Init(init)) => write_settings(init),
        Some(ServeCommand::Import(import)) => transfer::import(import),
        Some(ServeCommand::Export(export)) => transfer::export(export),
        Some(ServeCommand::Check(check)) => transfer::check(check),
        None => serve(settings::resolve(flags)?),
    }
}

fn write_settings(flags: &InitArgs) -> Result<()> {
    let name = display_path(&flags.file);
    let file = OpenOptions::new().write(true).create_new(true).open(&flags.file);
    let mut file = match file {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!(UsageError(format!("{name}: it exists already: name another file")));
        }
        file => file.with_context(|| name.to_string())?,
    };
    file.write_all(settings::TEMPLATE.as_bytes()).with_context(|| name.to_string())
}

/// Serves until a signal.
fn serve(settings: Settings) -> Result<()> {
    let mut signals = SignalBlock::ending().context("signals")?;
    let server = Server::open(settings)?;
    let stop = server.stop_handle();
    output::print(&format!("listening on ws://{}, storage {}\n", server.address(), server.storage_id()))?;
    let log = FactLog::new();
    let server = thread::spawn(move || server.run(move |fact| log.note(fact)));
    let mut is_stopping = false;
    while !server.is_finished() {
        if let Some((_, _)) = signals.next() {
            if is_stopping {
                bail!("stopped again before all changes were stored; they were not confirmed to clients");
            }
            is_stopping = true;
            print_note("storing what was received, then stopping");
            stop.stop();
        }
        thread::sleep(POLL_INTERVAL);
    }
    server.join().map_err(|_| anyhow!("the server failed"))??;
    Ok(())
}
