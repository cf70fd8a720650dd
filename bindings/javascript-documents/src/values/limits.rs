//! Memory limits of the module, which has at most four gigabytes and aborts beyond that.

use hashmill_doc::Limits;

/// Limits of documents and their input: a quarter of the defaults of 64-bit programs.
pub(crate) fn limits() -> Limits {
    let most = Limits::default();
    Limits {
        inflated_bytes: most.inflated_bytes / 4,
        operations: most.operations / 4,
        total: most.total / 4,
        changes: most.changes / 8,
        steps: most.steps / 4,
        ..most
    }
}

/// Limits of decoded changes, in which each operation becomes an object.
pub(crate) fn limits_apart() -> Limits {
    let limits = limits();
    Limits { inflated_bytes: limits.inflated_bytes / 8, operations: limits.operations / 16, ..limits }
}
