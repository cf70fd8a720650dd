//! Tests of the public interface: calls, names, known answers, threads.

mod bindings;
mod calls;
mod expanded_changes;
mod golden;
mod ported;
mod shortcuts;
mod threads;
