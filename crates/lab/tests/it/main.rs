//! Behaviour of the lab as its users see it, one module per behaviour.

mod signed_rank;
