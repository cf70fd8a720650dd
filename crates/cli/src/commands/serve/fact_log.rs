//! Messages about a running server, at a bounded rate: clients can cause any number.

use crate::output::print_note;
use hashmill_server::Fact;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Maximum number of lines in each period.
const MAX_LINES: u32 = 20;
const PERIOD: Duration = Duration::from_secs(10);

/// Prints facts.
pub(super) struct FactLog(RefCell<Period>);

struct Period {
    start: Instant,
    lines: u32,
    left_out: u32,
}

impl FactLog {
    pub(super) fn new() -> FactLog {
        FactLog(RefCell::new(Period { start: Instant::now(), lines: 0, left_out: 0 }))
    }

    pub(super) fn note(&self, fact: &Fact) {
        let mut period = self.0.borrow_mut();
        if period.start.elapsed() > PERIOD {
            if period.left_out > 0 {
                print_note(&format!("{} more messages in {} s", period.left_out, PERIOD.as_secs()));
            }
            *period = Period { start: Instant::now(), lines: 0, left_out: 0 };
        }
        // The state of the storage is always told.
        let is_rare = matches!(fact, Fact::Degraded | Fact::Recovered | Fact::Drained);
        if is_rare || period.lines < MAX_LINES {
            period.lines += 1;
            print_note(&fact.to_string());
        } else {
            period.left_out += 1;
        }
    }
}
