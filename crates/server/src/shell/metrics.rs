//! Metrics in Prometheus' text format.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::core::{Counts, Usage};

/// Upper bounds of the durations of commits, in microseconds.
const BOUNDS_US: [u64; 12] =
    [500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 5_000_000];

/// Counts of the threads around the core.
#[derive(Debug, Default)]
pub(super) struct ShellCounts {
    /// Clients that were not let in.
    pub(super) refused_clients: AtomicU64,
    /// TLS handshakes that failed.
    pub(super) failed_handshakes: AtomicU64,
    /// End of the certificate, in seconds since 1970. 0: there is none.
    pub(super) certificate_expires_at: AtomicU64,
    /// Number of commits by duration; the last is beyond all bounds.
    commits: [AtomicU64; BOUNDS_US.len() + 1],
    commit_us: AtomicU64,
}

impl ShellCounts {
    /// Records the duration of an append.
    pub(super) fn note_commit(&self, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.iter().position(|bound| us <= *bound).unwrap_or(BOUNDS_US.len());
        self.commits[bucket].fetch_add(1, Ordering::Relaxed);
        self.commit_us.fetch_add(us, Ordering::Relaxed);
    }
}

/// All metrics.
pub(super) fn write_metrics(usage: &Usage, counts: &Counts, shell: &ShellCounts) -> String {
    let mut out = String::new();
    let gauges = [
        ("connections", "Open connections of clients.", usage.sockets),
        ("documents_open", "Documents in memory.", usage.documents),
        ("documents_quarantined", "Documents that take no changes for a while.", usage.quarantined),
        ("document_memory_bytes", "Estimated memory of documents.", usage.document_bytes),
        (
            "queue_bytes",
            "Messages that clients have not read, or that wait to be processed.",
            usage.socket_bytes,
        ),
        ("unstored_bytes", "Received changes that are not stored yet.", usage.staged_bytes),
        (
            "storage_failing",
            "1 while the storage fails and changes are refused.",
            usize::from(usage.is_degraded),
        ),
    ];
    for (name, help, value) in gauges {
        write_sample(&mut out, name, "gauge", help, value as u64);
    }
    let expires_at = shell.certificate_expires_at.load(Ordering::Relaxed);
    if expires_at > 0 {
        let help = "End of the certificate, in seconds since 1970.";
        write_sample(&mut out, "certificate_expiry_timestamp_seconds", "gauge", help, expires_at);
    }
    let counters = [
        ("received_messages_total", "Messages of clients.", counts.received_messages),
        ("received_bytes_total", "Bytes of messages of clients.", counts.received_bytes),
        ("sent_messages_total", "Messages to clients.", counts.sent_messages),
        ("sent_bytes_total", "Bytes of messages to clients.", counts.sent_bytes),
        ("changes_total", "Changes of clients that documents took.", counts.changes),
        ("refused_changes_total", "Changes that break a rule or a limit.", counts.refused_changes),
        ("refused_messages_total", "Sync messages that could not be read.", counts.refused_messages),
        (
            "refused_clients_total",
            "Clients that were not let in.",
            shell.refused_clients.load(Ordering::Relaxed),
        ),
        (
            "failed_handshakes_total",
            "TLS handshakes that failed.",
            shell.failed_handshakes.load(Ordering::Relaxed),
        ),
        ("commits_total", "Groups of changes that were stored.", counts.commits),
        ("failed_commits_total", "Attempts to store changes that failed.", counts.failed_commits),
        ("committed_bytes_total", "Bytes of changes that were stored.", counts.committed_bytes),
        ("snapshots_total", "Snapshots that were stored in place of changes.", counts.snapshots),
        ("loads_total", "Documents that were loaded.", counts.loads),
        ("evictions_total", "Documents that left memory.", counts.evictions),
        ("quarantines_total", "Documents that were put into quarantine.", counts.quarantines),
        ("deletions_total", "Documents that were deleted.", counts.deletions),
        ("pauses_total", "Times that a client was not read because it sent too fast.", counts.pauses),
        ("closed_connections_total", "Connections that the server closed.", counts.closes),
    ];
    for (name, help, value) in counters {
        write_sample(&mut out, name, "counter", help, value);
    }
    write_durations(&mut out, shell);
    out
}

pub(super) fn write_sample(out: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    write_head(out, name, kind, help);
    let _ = writeln!(out, "hashmill_{name} {value}");
}

fn write_head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP hashmill_{name} {help}\n# TYPE hashmill_{name} {kind}");
}

fn write_durations(out: &mut String, shell: &ShellCounts) {
    let name = "commit_duration_seconds";
    write_head(out, name, "histogram", "Time until a group of changes was durable, or had failed.");
    let mut count = 0;
    for (bucket, commits) in shell.commits.iter().enumerate() {
        count += commits.load(Ordering::Relaxed);
        let bound =
            BOUNDS_US.get(bucket).map_or_else(|| "+Inf".to_owned(), |us| (*us as f64 / 1e6).to_string());
        let _ = writeln!(out, "hashmill_{name}_bucket{{le=\"{bound}\"}} {count}");
    }
    let sum = shell.commit_us.load(Ordering::Relaxed) as f64 / 1e6;
    let _ = writeln!(out, "hashmill_{name}_sum {sum}\nhashmill_{name}_count {count}");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Samples by name and labels. Each has a help and a type before it.
    fn parse(text: &str) -> BTreeMap<String, f64> {
        let (mut samples, mut heads) = (BTreeMap::new(), BTreeMap::new());
        for line in text.lines() {
            if let Some(head) = line.strip_prefix("# ") {
                let (kind, rest) = head.split_once(' ').expect("a kind");
                let (name, text) = rest.split_once(' ').expect("a name");
                assert!(heads.insert((name, kind), text).is_none(), "{line}");
                continue;
            }
            let (name, value) = line.rsplit_once(' ').expect("a value");
            let family = name.split('{').next().expect("a name");
            assert!(family.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{line}");
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| family.strip_suffix(end));
            let base = base.filter(|base| heads.contains_key(&(*base, "TYPE"))).unwrap_or(family);
            assert!(heads.contains_key(&(base, "HELP")) && heads.contains_key(&(base, "TYPE")), "{line}");
            assert_eq!(heads[&(base, "TYPE")] == "counter", family.ends_with("_total"), "{line}");
            assert!(samples.insert(name.to_owned(), value.parse().expect("a number")).is_none(), "{line}");
        }
        assert!(text.ends_with('\n'));
        samples
    }

    #[test]
    fn the_text_has_each_metric_once() {
        let shell = ShellCounts::default();
        for us in [1, 500, 501, 20_000, 6_000_000] {
            shell.note_commit(Duration::from_micros(us));
        }
        let (mut usage, mut counts) = (Usage::default(), Counts::default());
        (usage.sockets, usage.is_degraded, counts.changes) = (3, true, u64::MAX);
        let samples = parse(&write_metrics(&usage, &counts, &shell));
        let bucket = |le: &str| samples[&format!("hashmill_commit_duration_seconds_bucket{{le=\"{le}\"}}")];
        assert_eq!(
            [bucket("0.0005"), bucket("0.001"), bucket("0.02"), bucket("5"), bucket("+Inf")],
            [2., 3., 4., 4., 5.]
        );
        assert_eq!(samples["hashmill_commit_duration_seconds_count"], 5.0);
        assert!((samples["hashmill_commit_duration_seconds_sum"] - 6.021_002).abs() < 1e-9);
        assert_eq!(samples["hashmill_connections"], 3.0);
        assert_eq!(samples["hashmill_storage_failing"], 1.0);
        assert_eq!(samples["hashmill_changes_total"], u64::MAX as f64);
        assert_eq!(samples["hashmill_evictions_total"], 0.0);
        assert!(!samples.contains_key("hashmill_certificate_expiry_timestamp_seconds"));
        shell.certificate_expires_at.store(5, Ordering::Relaxed);
        let samples = parse(&write_metrics(&usage, &counts, &shell));
        assert_eq!(samples["hashmill_certificate_expiry_timestamp_seconds"], 5.0);
    }
}
