//! Numbers that name sockets, batches, requests and jobs.

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u64);
    };
}

number!(
    /// A socket. The caller chooses the number and never uses it twice.
    SocketId
);
number!(
    /// One attempt to append a batch.
    BatchId
);
number!(
    /// A request to the storage.
    RequestId
);
number!(
    /// A command, intervention or inspection of the operator. The caller chooses the number and never uses it twice.
    CommandId
);
number!(
    /// A job that runs outside of the core.
    WorkId
);
