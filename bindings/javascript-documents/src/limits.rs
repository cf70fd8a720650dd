//! How much the module takes: it has four gigabytes at most, and what asks for more ends it.

use hashmill_doc::Limits;

/// Of documents and what comes to them: a quarter of what a program of 64 bits takes by default.
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

/// Of what is taken apart, each operation of which becomes an object.
pub(crate) fn limits_apart() -> Limits {
    let limits = limits();
    Limits { inflated_bytes: limits.inflated_bytes / 8, operations: limits.operations / 16, ..limits }
}
