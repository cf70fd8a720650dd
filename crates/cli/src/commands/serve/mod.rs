//! `hashmill serve`: a sync server for automerge-repo's clients.

mod admin;
mod fact_log;
mod rights;
mod settings;
mod toml_file;
mod transfer;

use crate::flags::{InitArgs, ServeArgs, ServeCommand, TokenArgs, UsageError};
use crate::os::SignalBlock;
use crate::output::{self, display_path, error_chain, print_note};
use anyhow::{Context as _, Result, anyhow, bail};
use fact_log::FactLog;
use hashmill_server::shell::Server;
use hashmill_server::shell::auth::Authentication;
use settings::Resolved;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::thread;
use std::time::{Duration, Instant};

/// Polling interval for signals, and for the end of the server.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Polling interval for changes of files of tokens and keys.
const RIGHTS_INTERVAL: Duration = Duration::from_secs(1);

/// Runs the command.
pub(crate) fn run(flags: &ServeArgs) -> Result<()> {
    match &flags.command {
        Some(ServeCommand::Init(init)) => write_settings(init),
        Some(ServeCommand::Token(token)) => print_token(token),
        Some(ServeCommand::Import(import)) => transfer::import(import),
        Some(ServeCommand::Export(export)) => transfer::export(export),
        Some(ServeCommand::Check(check)) => transfer::check(check),
        Some(ServeCommand::Delete(delete)) => admin::delete(delete),
        Some(ServeCommand::Undelete(undelete)) => admin::undelete(undelete),
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

/// Makes a token, and the table that lets it in.
fn print_token(flags: &TokenArgs) -> Result<()> {
    let token = admin::new_token()?;
    let digest = data_encoding::HEXLOWER.encode(&Authentication::digest(&token));
    let name = toml_edit::Value::from(flags.name.as_str()).to_string();
    let name = name.trim();
    // Beside the output, which is for a file: that is to hold no token.
    print_note(&format!("token of {name}, shown this once: {}", &*token));
    output::print(&format!(
        "[[identity]]\nname = {}\ntoken-sha256 = \"{digest}\"\n\
         documents = {{ \"*\" = \"write\" }}\n",
        name,
    ))
}

/// Serves until a signal.
fn serve(resolved: Resolved) -> Result<()> {
    let Resolved { mut settings, mut rights, log } = resolved;
    let mut signals = SignalBlock::ending().context("signals")?;
    let admin_token = admin::new_token()?;
    settings.admin_token = Some(Authentication::digest(&admin_token));
    let folder = settings.folder.clone();
    let server = Server::open(settings)?;
    admin::write_access(&folder, server.address(), &admin_token)?;
    let stop = server.stop_handle();
    let rights_handle = server.rights_handle();
    let mut rights_read = Instant::now();
    output::print(&format!("listening on ws://{}, storage {}\n", server.address(), server.storage_id()))?;
    let facts = FactLog::new(log);
    let server = thread::spawn(move || server.run(move |fact| facts.note(fact)));
    let mut is_stopping = false;
    while !server.is_finished() {
        if let Some((_, _)) = signals.next() {
            if is_stopping {
                bail!("stopped again before all changes were stored; they were not confirmed to clients");
            }
            is_stopping = true;
            fact_log::print_event(log, "stopping", "info", "storing what was received, then stopping", None);
            stop.stop();
        }
        if rights_read.elapsed() >= RIGHTS_INTERVAL {
            match rights.read_changed() {
                Some(Ok(changed)) => rights_handle.replace(changed),
                Some(Err(error)) => {
                    let text =
                        format!("{}: the earlier rights stay until it is repaired", error_chain(&error));
                    fact_log::print_event(log, "rights-unreadable", "error", &text, None);
                }
                None => {}
            }
            rights_read = Instant::now();
        }
        thread::sleep(POLL_INTERVAL);
    }
    server.join().map_err(|_| anyhow!("the server failed"))??;
    Ok(())
}
