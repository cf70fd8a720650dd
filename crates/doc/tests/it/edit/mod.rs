//! Tests of editing: transactions, marks, undo, values without end.

mod commits;
mod empty_elements;
mod leaked_transactions;
mod marks;
mod nested_values;
mod undo;
mod update_text;
