//! Rules for clients and documents: rights, rates, quotas, quarantine, deletion, interventions of the operator.

mod commands;
mod deletion;
mod interventions;
mod nodes;
mod quarantine;
mod questions;
mod quota;
mod rates;
mod rights;

pub(super) use commands::Commands;
pub(super) use quarantine::Quarantines;
pub(super) use questions::{AnsweredRight, Questions, WaitingMessage};
#[cfg(test)]
pub(crate) use rates::BURST;
