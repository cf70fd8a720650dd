//! Rules about a server in production: each is a function of facts, and finds what would hurt.

use super::facts::{DoctorFacts, FileFacts, MountFacts, SecretFacts};
use hashmill_machine::{date, memory_size};

/// Descriptors of a server beside those of connections: the storage, threads, files of tokens, the listening socket.
const OWN_FILES: u64 = 64;
/// A certificate that ends earlier should be renewed now: issuers' tools do so a month before.
const LEAST_CERTIFICATE_SECONDS: u64 = 14 * 86_400;
/// Less free space than this is too little.
const LEAST_FREE_BYTES: u64 = 1 << 30;
/// Differences of clocks that a server lives with.
const MAX_CLOCK_LAG_SECONDS: u64 = 300;
const MAX_CLOCK_LEAD_SECONDS: u64 = 366 * 86_400;
/// A secret with less is weak.
const LEAST_SECRET_BITS: f64 = 128.0;
/// Kinds of file systems.
const VOLATILE: [&str; 3] = ["tmpfs", "ramfs", "devtmpfs"];
const LAYERED: [&str; 2] = ["overlay", "aufs"];
const NETWORK: [&str; 10] =
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "virtiofs"];

/// Something that would hurt, with the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Finding {
    /// The name of the rule, for programs.
    pub(super) name: &'static str,
    /// One line: what it is, and what to do.
    pub(super) text: String,
}

type Rule = fn(&DoctorFacts) -> Vec<String>;

/// The rules, in the order of their findings.
const RULES: [(&str, Rule); 16] = [
    ("open-to-all", find_open_access),
    ("no-tls", find_missing_tls),
    ("certificate", find_ending_certificate),
    ("metrics-open", find_open_metrics),
    ("volatile-storage", find_volatile_storage),
    ("network-storage", find_network_storage),
    ("no-fsync", find_missing_fsync),
    ("free-space", find_full_disk),
    ("open-files", find_few_descriptors),
    ("memory", find_large_memory),
    ("clock", find_wrong_clock),
    ("weak-secret", find_weak_secrets),
    ("readable-files", find_readable_files),
    ("damage", find_damage),
    ("quarantine", find_quarantine),
    ("no-undelete", find_missing_undelete),
];

/// Everything that the rules find.
pub(super) fn find(facts: &DoctorFacts) -> Vec<Finding> {
    let findings = RULES
        .into_iter()
        .flat_map(|(name, rule)| rule(facts).into_iter().map(move |text| Finding { name, text }));
    findings.collect()
}

fn one(is_found: bool, text: impl FnOnce() -> String) -> Vec<String> {
    if is_found { vec![text()] } else { Vec::new() }
}

fn find_open_access(facts: &DoctorFacts) -> Vec<String> {
    let DoctorFacts { listen, is_local, has_tokens, .. } = facts;
    one(!is_local && !has_tokens, || {
        format!(
            "everyone who reaches {listen} may read and change all documents: make tokens with `hashmill serve token`, \
             and remove open-to-all"
        )
    })
}

fn find_missing_tls(facts: &DoctorFacts) -> Vec<String> {
    let DoctorFacts { listen, is_local, has_tls, .. } = facts;
    one(!is_local && !has_tls, || {
        format!(
            "other machines reach {listen} without TLS, so that tokens and documents can be read on the way: set tls-cert and \
             tls-key, or put a proxy with TLS before it and listen on 127.0.0.1"
        )
    })
}

fn find_ending_certificate(facts: &DoctorFacts) -> Vec<String> {
    let is_near = |ends_at: &u64| *ends_at < facts.unix_time.saturating_add(LEAST_CERTIFICATE_SECONDS);
    let found = facts.certificate_ends_at.filter(is_near).map(|ends_at| {
        let tense = if ends_at <= facts.unix_time { "ended" } else { "ends" };
        format!("the certificate of tls-cert {tense} on {}: renew it", date::utc(ends_at))
    });
    Vec::from_iter(found)
}

fn find_open_metrics(facts: &DoctorFacts) -> Vec<String> {
    one(facts.has_metrics && !facts.is_local, || {
        format!("other machines can read {}/metrics without a token: set metrics = false", facts.listen)
    })
}

fn find_volatile_storage(facts: &DoctorFacts) -> Vec<String> {
    let folder = &facts.folder;
    match &facts.mount {
        Some(MountFacts { kind, .. }) if VOLATILE.contains(&kind.as_str()) => {
            vec![format!(
                "{folder} is on {kind}, in memory, and is empty after a restart: name a directory on a disk"
            )]
        }
        Some(MountFacts { kind, .. }) if LAYERED.contains(&kind.as_str()) => vec![format!(
            "{folder} is on {kind}, the layer of a container, and goes with the container: mount a volume there"
        )],
        _ => Vec::new(),
    }
}

fn find_network_storage(facts: &DoctorFacts) -> Vec<String> {
    let folder = &facts.folder;
    match &facts.mount {
        // Snapshots of several machines are there.
        _ if facts.is_shared => Vec::new(),
        Some(MountFacts { kind, .. }) if NETWORK.contains(&kind.as_str()) || kind.starts_with("fuse.") => {
            vec![format!(
                "{folder} is on {kind}, where locks and stored changes may be lost with the network: name a directory on a local disk"
            )]
        }
        _ => Vec::new(),
    }
}

fn find_missing_fsync(facts: &DoctorFacts) -> Vec<String> {
    let folder = &facts.folder;
    let options = facts.mount.iter().flat_map(|mount| &mount.options);
    let off = ["nobarrier", "barrier=0", "volatile", "nobh", "fsync=never"];
    let mut found: Vec<String> = options
        .filter(|option| off.contains(&option.as_str()))
        .map(|option| {
            format!("{folder} is mounted with {option}, so that a power cut may take confirmed changes: mount it without")
        })
        .collect();
    if facts.preload.contains("eatmydata") {
        found.push(
            "LD_PRELOAD has eatmydata, which stores nothing durably: start the server without it".to_owned(),
        );
    }
    found
}

fn find_full_disk(facts: &DoctorFacts) -> Vec<String> {
    let Some(free) = facts.free_bytes else { return Vec::new() };
    let needed = LEAST_FREE_BYTES.max(facts.storage_bytes.unwrap_or(0) / 4);
    one(free < needed, || {
        format!(
            "{} has {} free, and the storage may need {} soon: make room, since changes are refused when the disk is full",
            facts.folder,
            memory_size(free),
            memory_size(needed)
        )
    })
}

fn find_few_descriptors(facts: &DoctorFacts) -> Vec<String> {
    let Some(limit) = facts.max_open_files else { return Vec::new() };
    let needed = facts.max_connections.saturating_add(OWN_FILES);
    one(limit < needed, || {
        format!(
            "{} connections need {needed} open files, and {limit} are allowed: raise the limit (LimitNOFILE= in a unit, ulimit -n in a \
             shell), or set max-connections = {}",
            facts.max_connections,
            limit.saturating_sub(OWN_FILES)
        )
    })
}

fn find_large_memory(facts: &DoctorFacts) -> Vec<String> {
    let Some(limit) = facts.memory_limit_bytes else { return Vec::new() };
    // A quarter is for sockets, messages and the cache of the storage.
    let most = limit / 4 * 3;
    one(facts.memory_bytes > most, || {
        format!(
            "memory-mib allows documents {}, and all memory here is {}, so that the system may end the server: set memory-mib = {}",
            memory_size(facts.memory_bytes),
            memory_size(limit),
            most >> 20
        )
    })
}

fn find_wrong_clock(facts: &DoctorFacts) -> Vec<String> {
    let (Some(recorded), now) = (facts.recorded_at, facts.unix_time) else { return Vec::new() };
    if now.saturating_add(MAX_CLOCK_LAG_SECONDS) < recorded {
        return vec![format!(
            "the clock says {}, and the storage was used at {}: set the clock, by which tokens expire",
            date::utc(now),
            date::utc(recorded)
        )];
    }
    one(now > recorded.saturating_add(MAX_CLOCK_LEAD_SECONDS), || {
        format!(
            "the clock says {}, and the storage was last used at {}: if it was in use since, set the clock, by which tokens expire",
            date::utc(now),
            date::utc(recorded)
        )
    })
}

fn find_weak_secrets(facts: &DoctorFacts) -> Vec<String> {
    let weak = facts.secrets.iter().filter(|secret| secret_bits(secret) < LEAST_SECRET_BITS);
    weak.map(|SecretFacts { name, .. }| {
        format!("{name}: this secret can be guessed: make one with `openssl rand -base64 48` or `hashmill serve token`")
    })
    .collect()
}

/// Upper bound of the bits of a secret, if its bytes were drawn independently.
fn secret_bits(secret: &SecretFacts) -> f64 {
    secret.len as f64 * (secret.distinct_bytes.max(1) as f64).log2()
}

fn find_readable_files(facts: &DoctorFacts) -> Vec<String> {
    let mut found = Vec::new();
    for FileFacts { name, mode, is_folder } in &facts.files {
        if mode & 0o022 != 0 {
            let command = if *is_folder { "chmod go-w" } else { "chmod 600" };
            found.push(format!("{name}: other users of this machine may change it: {command} {name}"));
        } else if !is_folder && mode & 0o044 != 0 {
            found.push(format!("{name}: other users of this machine may read it: chmod 600 {name}"));
        }
    }
    found
}

fn find_damage(facts: &DoctorFacts) -> Vec<String> {
    let damaged = facts.damaged.filter(|damaged| *damaged > 0).map(|damaged| {
        format!(
            "damaged parts of documents: {damaged}: `hashmill serve check` names them; restore them from a backup, or sync a client \
             that has them"
        )
    });
    let mut found = Vec::from_iter(damaged);
    found.extend(one(facts.wrong_counts > 0, || {
        format!(
            "owners whose stored bytes are counted wrong: {}: `hashmill serve check` corrects them",
            facts.wrong_counts
        )
    }));
    found
}

fn find_quarantine(facts: &DoctorFacts) -> Vec<String> {
    let found = facts.quarantined.filter(|count| *count > 0).map(|count| {
        format!("documents that take no changes now: {count}: the messages of the server have the reasons")
    });
    Vec::from_iter(found)
}

fn find_missing_undelete(facts: &DoctorFacts) -> Vec<String> {
    one(facts.undelete_days == 0, || {
        "undelete-days = 0: a document that is deleted by mistake is gone at once: set it to 7 or more"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts of a server in which nothing is found.
    fn sound() -> DoctorFacts {
        DoctorFacts {
            listen: "127.0.0.1:3030".to_owned(),
            is_local: true,
            has_tokens: false,
            has_tls: false,
            certificate_ends_at: None,
            has_metrics: true,
            folder: "/var/lib/hashmill".to_owned(),
            is_shared: false,
            mount: Some(MountFacts { kind: "ext4".to_owned(), options: vec!["rw".to_owned()] }),
            preload: String::new(),
            free_bytes: Some(10 << 30),
            storage_bytes: Some(1 << 30),
            max_open_files: Some(20_000),
            max_connections: 10_000,
            memory_limit_bytes: Some(4 << 30),
            memory_bytes: 1 << 30,
            unix_time: 1_800_000_000,
            recorded_at: Some(1_799_999_000),
            secrets: vec![SecretFacts { name: "secret".to_owned(), len: 32, distinct_bytes: 25 }],
            files: vec![
                FileFacts { name: "secret".to_owned(), mode: 0o600, is_folder: false },
                FileFacts { name: "/var/lib/hashmill".to_owned(), mode: 0o755, is_folder: true },
            ],
            damaged: Some(0),
            wrong_counts: 0,
            quarantined: Some(0),
            undelete_days: 30,
            unknown: Vec::new(),
        }
    }

    fn mount(kind: &str, option: &str) -> Option<MountFacts> {
        Some(MountFacts { kind: kind.to_owned(), options: vec!["rw".to_owned(), option.to_owned()] })
    }

    #[track_caller]
    fn expect(change: impl FnOnce(&mut DoctorFacts), names: &[&str]) {
        let mut facts = sound();
        change(&mut facts);
        let found = find(&facts);
        let found_names: Vec<&str> = found.iter().map(|finding| finding.name).collect();
        assert_eq!(found_names, names, "{found:?}");
        for Finding { text, .. } in found {
            assert!(text.contains(": ") && !text.contains('\n'), "a remedy, in one line: {text}");
        }
    }

    #[test]
    fn a_sound_server_has_no_findings() {
        expect(|_| {}, &[]);
    }

    #[test]
    fn each_state_is_found() {
        let open = |facts: &mut DoctorFacts| (facts.is_local, facts.has_metrics) = (false, false);
        expect(open, &["open-to-all", "no-tls"]);
        expect(
            |facts| {
                open(facts);
                facts.has_tokens = true;
            },
            &["no-tls"],
        );
        expect(
            |facts| {
                open(facts);
                facts.has_tls = true;
            },
            &["open-to-all"],
        );
        expect(
            |facts| {
                open(facts);
                (facts.has_tokens, facts.has_tls) = (true, true);
            },
            &[],
        );
        expect(
            |facts| {
                open(facts);
                (facts.has_tokens, facts.has_tls, facts.has_metrics) = (true, true, true);
            },
            &["metrics-open"],
        );
        for kind in ["tmpfs", "ramfs", "overlay"] {
            expect(|facts| facts.mount = mount(kind, "x"), &["volatile-storage"]);
        }
        for kind in ["nfs4", "cifs", "9p", "fuse.sshfs"] {
            expect(|facts| facts.mount = mount(kind, "x"), &["network-storage"]);
        }
        expect(|facts| (facts.is_shared, facts.mount) = (true, mount("nfs4", "x")), &[]);
        for option in ["nobarrier", "barrier=0"] {
            expect(|facts| facts.mount = mount("ext4", option), &["no-fsync"]);
        }
        expect(|facts| facts.mount = mount("overlay", "volatile"), &["volatile-storage", "no-fsync"]);
        expect(|facts| facts.preload = "/usr/lib/libeatmydata.so".to_owned(), &["no-fsync"]);
        expect(|facts| facts.free_bytes = Some(1 << 29), &["free-space"]);
        expect(|facts| facts.storage_bytes = Some(41 << 30), &["free-space"]);
        expect(|facts| facts.max_open_files = Some(10_063), &["open-files"]);
        expect(|facts| facts.max_open_files = Some(10_064), &[]);
        expect(|facts| facts.memory_limit_bytes = Some(1 << 30), &["memory"]);
        expect(|facts| facts.memory_bytes = (3 << 30) + 1, &["memory"]);
        expect(|facts| facts.memory_bytes = 3 << 30, &[]);
        expect(|facts| facts.undelete_days = 0, &["no-undelete"]);
        expect(|facts| facts.damaged = Some(1), &["damage"]);
        expect(|facts| facts.wrong_counts = 1, &["damage"]);
        expect(|facts| facts.quarantined = Some(2), &["quarantine"]);
    }

    #[test]
    fn clocks_may_differ_somewhat() {
        let at = |recorded_at| move |facts: &mut DoctorFacts| facts.recorded_at = Some(recorded_at);
        expect(at(1_800_000_300), &[]);
        expect(at(1_800_000_301), &["clock"]);
        expect(at(1_800_000_000 - 366 * 86_400), &[]);
        expect(at(1_800_000_000 - 367 * 86_400), &["clock"]);
        expect(|facts| facts.recorded_at = None, &[]);
    }

    #[test]
    fn certificates_are_renewed_in_time() {
        let ending_in = |seconds: i64| {
            move |facts: &mut DoctorFacts| {
                facts.certificate_ends_at = facts.unix_time.checked_add_signed(seconds);
            }
        };
        expect(ending_in(14 * 86_400), &[]);
        expect(ending_in(14 * 86_400 - 1), &["certificate"]);
        expect(ending_in(-1), &["certificate"]);
    }

    #[test]
    fn secrets_and_files_are_judged() {
        let secret = |len, distinct_bytes| {
            move |facts: &mut DoctorFacts| {
                facts.secrets = vec![SecretFacts { name: "s".to_owned(), len, distinct_bytes }];
            }
        };
        expect(secret(32, 16), &[]);
        expect(secret(32, 15), &["weak-secret"]);
        expect(secret(64, 1), &["weak-secret"]);
        expect(secret(0, 0), &["weak-secret"]);
        let file = |mode, is_folder| {
            move |facts: &mut DoctorFacts| {
                facts.files = vec![FileFacts { name: "f".to_owned(), mode, is_folder }];
            }
        };
        for (mode, is_folder, is_found) in [
            (0o600, false, false),
            (0o640, false, true),
            (0o604, false, true),
            (0o620, false, true),
            (0o755, true, false),
            (0o775, true, true),
            (0o777, true, true),
        ] {
            expect(file(mode, is_folder), if is_found { &["readable-files"] } else { &[] });
        }
    }

    /// What is not known is no finding.
    #[test]
    fn unknown_facts_find_nothing() {
        expect(
            |facts| {
                facts.mount = None;
                (facts.free_bytes, facts.storage_bytes, facts.max_open_files) = (None, None, None);
                (facts.memory_limit_bytes, facts.recorded_at) = (None, None);
                (facts.damaged, facts.quarantined) = (None, None);
                (facts.secrets, facts.files) = (Vec::new(), Vec::new());
            },
            &[],
        );
    }
}
