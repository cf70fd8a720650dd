//! `hashmill serve`: a sync server for automerge-repo's clients.

mod admin;
mod backup;
mod certificate;
mod doctor;
mod fact_log;
mod listing;
mod rights;
mod settings;
mod shared;
mod toml_file;
mod transfer;

use crate::flags::{InitArgs, ServeArgs, ServeCommand, TokenArgs, UsageError};
use crate::os::SignalBlock;
use crate::output::{self, display_path, error_chain, print_note};
use anyhow::{Context as _, Result, anyhow, bail};
use certificate::CertificateSource;
use fact_log::FactLog;
use hashmill_machine::date;
use hashmill_server::shell::Server;
use hashmill_server::shell::auth::Authentication;
use settings::Resolved;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::thread;
use std::time::{Duration, Instant};

/// Polling interval for signals, and for the end of the server.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Polling interval for changes of files of tokens, keys and certificates.
const FILES_INTERVAL: Duration = Duration::from_secs(1);

/// Runs the command.
pub(crate) fn run(flags: &ServeArgs) -> Result<()> {
    match &flags.command {
        Some(ServeCommand::Init(init)) => write_settings(init),
        Some(ServeCommand::Token(token)) => print_token(token),
        Some(ServeCommand::Import(import)) => transfer::import(import),
        Some(ServeCommand::Export(export)) => transfer::export(export),
        Some(ServeCommand::Check(check)) => transfer::check(check),
        Some(ServeCommand::Backup(backup)) => backup::back_up(backup),
        Some(ServeCommand::Restore(restore)) => backup::restore(restore),
        Some(ServeCommand::Doctor(doctor)) => doctor::examine(doctor),
        Some(ServeCommand::Delete(delete)) => admin::delete(delete),
        Some(ServeCommand::Undelete(undelete)) => admin::undelete(undelete),
        Some(ServeCommand::List(list)) => listing::list(list),
        Some(ServeCommand::Show(show)) => listing::show(show),
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
    let Resolved { mut settings, mut rights, mut certificate, log } = resolved;
    let mut signals = SignalBlock::ending().context("signals")?;
    let admin_token = admin::new_token()?;
    settings.admin.tokens.push(Authentication::digest(&admin_token));
    let folder = settings.folder.clone();
    let server = Server::open(settings)?;
    admin::write_access(&folder, server.admin_address(), &admin_token)?;
    let stop = server.stop_handle();
    let rights_handle = server.rights_handle();
    let certificate_handle = server.certificate_handle();
    let mut files_read = Instant::now();
    if let Some(warning) = certificate.as_ref().and_then(CertificateSource::warning) {
        fact_log::print_event(log, "key-readable", "warning", &warning, None);
    }
    let scheme = if certificate.is_some() { "wss" } else { "ws" };
    let (address, storage_id) = (server.address(), server.storage_id());
    output::print(&format!("listening on {scheme}://{address}, storage {storage_id}\n"))?;
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
        if files_read.elapsed() >= FILES_INTERVAL {
            match rights.read_changed() {
                Some(Ok(changed)) => rights_handle.replace(changed),
                Some(Err(error)) => {
                    let text =
                        format!("{}: the earlier rights stay until it is repaired", error_chain(&error));
                    fact_log::print_event(log, "rights-unreadable", "error", &text, None);
                }
                None => {}
            }
            match certificate.as_mut().and_then(CertificateSource::read_changed) {
                Some(Ok(changed)) => {
                    let text =
                        format!("a new certificate is used, until {}", date::utc(changed.expires_at()));
                    fact_log::print_event(log, "certificate-replaced", "info", &text, None);
                    certificate_handle.iter().for_each(|handle| handle.replace(changed.clone()));
                }
                Some(Err(error)) => {
                    let text = format!(
                        "{}: the earlier certificate stays until it is repaired",
                        error_chain(&error)
                    );
                    fact_log::print_event(log, "certificate-unusable", "error", &text, None);
                }
                None => {}
            }
            files_read = Instant::now();
        }
        thread::sleep(POLL_INTERVAL);
    }
    server.join().map_err(|_| anyhow!("the server failed"))??;
    Ok(())
}
