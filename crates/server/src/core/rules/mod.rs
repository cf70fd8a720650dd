//! Rules for clients and documents: rights, rates, quarantine.

mod quarantine;
mod rates;
mod rights;

#[cfg(test)]
pub(crate) use rates::BURST;
