//! Messages about a running server, at a bounded rate: clients can cause any number.

use crate::flags::LogFormat;
use crate::output::{print_note, print_stderr_line};
use hashmill_machine::date;
use hashmill_server::Fact;
use serde_json::json;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Maximum number of lines in each period.
const MAX_LINES: u32 = 20;
const PERIOD: Duration = Duration::from_secs(10);

/// Prints facts.
pub(super) struct FactLog {
    format: LogFormat,
    period: RefCell<Period>,
}

struct Period {
    start: Instant,
    lines: u32,
    left_out: u32,
}

impl FactLog {
    pub(super) fn new(format: LogFormat) -> FactLog {
        let period = RefCell::new(Period { start: Instant::now(), lines: 0, left_out: 0 });
        FactLog { format, period }
    }

    pub(super) fn note(&self, fact: &Fact) {
        let mut period = self.period.borrow_mut();
        if period.start.elapsed() > PERIOD {
            if period.left_out > 0 {
                let text = format!("{} more messages in {} s", period.left_out, PERIOD.as_secs());
                print_event(self.format, "left-out", "warning", &text, None);
            }
            *period = Period { start: Instant::now(), lines: 0, left_out: 0 };
        }
        // The state of the storage, and what the operator did, is always told.
        let is_rare = matches!(
            fact,
            Fact::Degraded
                | Fact::Recovered
                | Fact::Drained
                | Fact::Deleted { .. }
                | Fact::Undeleted { .. }
                | Fact::CertificateEnds { .. }
                | Fact::KeysUnreachable { .. }
                | Fact::KeysFetched { .. }
        );
        if is_rare || period.lines < MAX_LINES {
            period.lines += 1;
            let document = fact.document().map(ToString::to_string);
            print_event(self.format, fact.name(), level(fact), &fact.to_string(), document.as_deref());
        } else {
            period.left_out += 1;
        }
    }
}

/// Urgency of a fact.
fn level(fact: &Fact) -> &'static str {
    match fact {
        Fact::Recovered
        | Fact::Drained
        | Fact::KeysFetched { .. }
        | Fact::Deleted { .. }
        | Fact::Undeleted { .. }
        | Fact::Purged { .. } => "info",
        // Clients cause these.
        Fact::ChangeRefused { .. }
        | Fact::MessageRefused { .. }
        | Fact::Quarantined { .. }
        | Fact::ClientRefused { .. }
        | Fact::ProxyUnclear { .. }
        | Fact::RightsUnknown { .. }
        | Fact::CertificateRefused { .. } => "warning",
        _ => "error",
    }
}

/// Prints a line.
pub(super) fn print_event(format: LogFormat, event: &str, level: &str, text: &str, document: Option<&str>) {
    match format {
        LogFormat::Text => print_note(text),
        LogFormat::Json => {
            let time = date::now_utc();
            let mut line = json!({ "time": time, "level": level, "event": event, "message": text });
            if let Some(document) = document {
                line["document"] = document.into();
            }
            print_stderr_line(&line.to_string());
        }
    }
}
