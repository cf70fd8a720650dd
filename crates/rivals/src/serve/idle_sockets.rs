//! Row of idle sockets: clients that have joined and are silent, and the memory and processor time that they take.

use std::time::{Duration, Instant};

use anyhow::ensure;

use super::bots::{Bots, NoObserver, client};
use super::process::{UsageStart, memory};
use super::report::Sample;
use super::server::Server;

/// Limit for the greetings of all clients.
const GREETING_LIMIT: Duration = Duration::from_secs(120);
/// Time between the last greeting and the measurement.
const SETTLE_TIME: Duration = Duration::from_secs(3);
/// The longest single poll.
const MAX_POLL: Duration = Duration::from_millis(100);

/// Clients that joined and are silent.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct IdleSocketArgs {
    /// Number of sockets. The limit of open files (`ulimit -n`) must be larger.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Measured seconds of silence.
    #[arg(long, default_value_t = 20.0)]
    seconds: f64,
}

pub(super) fn measure(args: &IdleSocketArgs, server: &Server) -> anyhow::Result<Sample> {
    let count = args.count as usize;
    let mut bots = Bots::new(server.address)?;
    let before = memory(server.pid)?.resident_bytes;
    let start = Instant::now();
    for number in 0..count {
        bots.connect(client(number))?;
    }
    bots.wait_until(GREETING_LIMIT, "greetings of all sockets", &mut NoObserver, |bots| {
        bots.ready() == count
    })?;
    let joins_per_second = f64::from(args.count) / start.elapsed().as_secs_f64();
    poll_for(&mut bots, SETTLE_TIME)?;
    let with_sockets = memory(server.pid)?.resident_bytes;
    let usage = UsageStart::now(server.pid)?;
    poll_for(&mut bots, Duration::from_secs_f64(args.seconds))?;
    let usage = usage.usage()?;
    // A closed socket would have been an error of a poll.
    ensure!(bots.ready() == count, "{} of {count} sockets were greeted", bots.ready());
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    let mut sample = Sample::default();
    sample
        .compare("memory of a socket, KiB", kib(with_sockets.saturating_sub(before)) / f64::from(args.count));
    sample.compare("server, cores while silent", usage.cores(usage.server));
    sample.describe("server memory before, MiB", kib(before) / 1024.0);
    sample.describe("server memory with sockets, MiB", kib(with_sockets) / 1024.0);
    sample.describe("joins per second", joins_per_second);
    sample.describe("other processes, cores", usage.cores(usage.others));
    Ok(sample)
}

fn poll_for(bots: &mut Bots, time: Duration) -> anyhow::Result<()> {
    let end = Instant::now() + time;
    while let Some(rest) = end.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) {
        bots.poll(rest.min(MAX_POLL), &mut NoObserver)?;
    }
    Ok(())
}
