//! Measurement: plan, sessions in processes of their own, and the campaign that schedules them.

pub(crate) mod campaign;
pub(crate) mod plan;
pub(crate) mod probes;
pub(crate) mod session;
