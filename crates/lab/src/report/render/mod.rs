//! Renderers of a view: terminal, Markdown and HTML with charts.

mod axis;
pub(crate) mod charts;
pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod svg;
pub(crate) mod text;
