//! Reports: one schema, what fills it, what distrusts it, and the forms in which people read it.

mod amounts;
pub(crate) mod assemble;
pub(crate) mod banner;
pub(crate) mod between;
pub(crate) mod brief;
pub mod check;
mod columns;
pub(crate) mod commands;
pub mod count;
pub(crate) mod document;
pub(crate) mod figures;
mod floor;
pub mod history;
pub mod html;
pub mod instructions;
pub mod layout;
pub mod markdown;
pub mod noise;
mod pages;
mod plot;
pub mod quality;
pub mod samples;
mod scaling;
pub mod schema;
pub mod soak;
pub mod store;
mod svg;
pub mod text;
pub(crate) mod view;

#[cfg(test)]
pub(crate) mod tests;
