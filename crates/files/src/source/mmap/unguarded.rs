//! Elsewhere the system does not let a file become shorter while a part of it is mapped: nothing to watch.

pub(super) struct Watch;

pub(super) fn prepare() -> bool {
    true
}

impl Watch {
    pub(super) fn over(_: &[u8]) -> Option<Watch> {
        Some(Watch)
    }

    pub(super) fn page_lost(&self) -> bool {
        false
    }
}
