//! Tests of `lab doctor`.

mod doctor;
mod false_positive_trials;
