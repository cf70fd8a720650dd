//! Rules for clients and documents: rights, rates, quotas, quarantine, deletion.

mod commands;
mod deletion;
mod quarantine;
mod quota;
mod rates;
mod rights;

pub(super) use commands::Commands;
pub(super) use quarantine::Quarantines;
#[cfg(test)]
pub(crate) use rates::BURST;
