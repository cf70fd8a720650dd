//! Session program for builds of the lab with other features: `cargo rivals lab` builds and starts it.

use std::process::ExitCode;

/// Counting takes time, so only one build has this allocator.
#[cfg(feature = "counting")]
#[global_allocator]
static COUNTED: cap::Cap<std::alloc::System> = cap::Cap::new(std::alloc::System, usize::MAX);

fn main() -> ExitCode {
    #[cfg(feature = "counting")]
    {
        use hashmill_rivals::lab::memory::{COUNTER, Counter, count_in_child};
        use std::io::Write as _;
        let counter = Counter { now: || COUNTED.allocated(), max: || COUNTED.max_allocated() };
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        if let Some(result) = count_in_child(counter, &arguments) {
            return result.map_or_else(
                |error| {
                    // A closed standard error cannot be reported.
                    writeln!(std::io::stderr(), "rivals-session: {error:#}").ok();
                    ExitCode::from(2)
                },
                |()| ExitCode::SUCCESS,
            );
        }
        COUNTER.get_or_init(|| counter);
    }
    // The first argument is `lab`.
    ExitCode::from(hashmill_rivals::lab::run(std::env::args_os().skip(2)))
}
