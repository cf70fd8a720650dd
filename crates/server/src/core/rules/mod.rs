//! Rules for clients and documents: rights, rates, quarantine, deletion.

mod commands;
mod deletion;
mod quarantine;
mod rates;
mod rights;

pub(super) use commands::Commands;
#[cfg(test)]
pub(crate) use rates::BURST;
