//! Files of a release: security advisories and licence notices.

pub(crate) mod advisories;
pub(crate) mod book;
pub(crate) mod notices;
