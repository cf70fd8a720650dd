//! Measurements: curves of the documentation, code layouts, and the tuning of plans.

pub(crate) mod curves;
pub(crate) mod layouts;
pub(crate) mod tune;
