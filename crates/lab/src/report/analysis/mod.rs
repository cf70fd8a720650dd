//! Facts derived from the rows of a report.

pub(crate) mod conditions;
pub(crate) mod instructions;
pub(crate) mod layout;
pub(crate) mod lower_bound;
pub(crate) mod page_sizes;
pub(crate) mod precision;
pub(crate) mod scaling;
pub(crate) mod sustained;
