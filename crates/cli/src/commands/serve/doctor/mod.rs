//! `hashmill serve doctor`: what would hurt in production.

mod facts;
mod rules;

use super::settings;
use crate::flags::{DoctorArgs, ServeArgs};
use crate::output::{self, ReportedError, print_note};
use anyhow::Result;
use serde_json::json;

pub(super) fn examine(flags: &DoctorArgs) -> Result<()> {
    let DoctorArgs { listen, data, open_to_all, settings: settings_file, skip_documents, json } = flags;
    let resolved = settings::resolve(&ServeArgs {
        command: None,
        listen: listen.clone(),
        data: data.clone(),
        open_to_all: *open_to_all,
        read_only: false,
        log: None,
        settings: settings_file.clone(),
    })?;
    let facts = facts::collect(&resolved, settings_file.as_deref(), !skip_documents)?;
    let findings = rules::find(&facts);
    if *json {
        let findings: Vec<_> =
            findings.iter().map(|finding| json!({ "name": finding.name, "message": finding.text })).collect();
        let report = json!({ "findings": findings, "unknown": facts.unknown });
        output::print(&format!("{report}\n"))?;
    } else {
        let lines: String =
            findings.iter().map(|finding| format!("{}: {}\n", finding.name, finding.text)).collect();
        output::print(if lines.is_empty() { "nothing found\n" } else { &lines })?;
        facts.unknown.iter().for_each(|unknown| print_note(&format!("not known: {unknown}")));
    }
    if findings.is_empty() { Ok(()) } else { Err(ReportedError.into()) }
}
