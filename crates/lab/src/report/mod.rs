//! Reports: one schema, what fills it, what distrusts it, and the forms in which people read it.

mod amounts;
pub(crate) mod assemble;
pub(crate) mod banner;
pub(crate) mod between;
pub(crate) mod brief;
pub(crate) mod check;
mod columns;
pub(crate) mod commands;
pub(crate) mod count;
pub(crate) mod document;
pub(crate) mod figures;
mod floor;
pub(crate) mod history;
pub(crate) mod html;
pub(crate) mod instructions;
pub(crate) mod layout;
pub(crate) mod markdown;
pub(crate) mod noise;
mod pages;
mod plot;
pub(crate) mod quality;
pub(crate) mod samples;
mod scaling;
pub(crate) mod schema;
pub(crate) mod soak;
pub(crate) mod store;
mod svg;
pub(crate) mod text;
pub(crate) mod view;

#[cfg(all(test, feature = "gates"))]
mod records;
#[cfg(test)]
pub(crate) mod tests;
