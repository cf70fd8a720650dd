//! Facts about files, as input of decisions; other files query the system for them.

/// Kinds of directory entries that the opener tells apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    File,
    Link,
    Other,
}

/// Facts about a directory entry or an open file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    /// Number of names.
    pub(crate) links: u64,
    /// Owner, where the system has owners.
    pub(crate) owner: Option<u32>,
}

/// Facts that decide whether a symbolic link is followed; owners and modes where the system has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkFacts {
    pub(crate) link_owner: u32,
    pub(crate) folder_owner: u32,
    /// Others than the owner may create entries in the folder.
    pub(crate) folder_is_shared: bool,
    pub(crate) user: u32,
}
