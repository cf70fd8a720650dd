//! Requirements on measurements: gates that a report must pass, and claims that quote a report.

pub(crate) mod claim;
pub(crate) mod claim_marks;
pub(crate) mod gate;
pub(crate) mod judge;
pub(crate) mod ratchet;
