//! Files: saving, loading, rescue and inspection, and documents derived from others.

pub(crate) mod anonymise;
pub(crate) mod bundle;
pub(crate) mod damage;
pub(crate) mod examine;
pub(crate) mod fragment;
pub(crate) mod lazy_open;
pub(crate) mod load_save;
pub(crate) mod migrate_strings;
pub(crate) mod rescue;
pub(crate) mod squash;
