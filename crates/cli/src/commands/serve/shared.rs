//! Settings of a storage that several servers share.

use std::path::PathBuf;

use crate::flags::UsageError;
use anyhow::{Result, bail};

/// The journal's settings, without the address.
const JOURNAL_SETTINGS: &str =
    "journal-credentials, journal-name, journal-shards, journal-replicas and journal-synced";

#[cfg(feature = "cluster")]
pub(super) type Shared = Option<hashmill_server::shell::SharedSettings>;
#[cfg(not(feature = "cluster"))]
pub(super) type Shared = Option<std::convert::Infallible>;

/// The settings that decide about a shared storage, as a file has them.
#[derive(Default, Debug)]
#[cfg_attr(test, derive(serde::Deserialize), serde(deny_unknown_fields, rename_all = "kebab-case"))]
pub(super) struct SharedFile {
    pub(super) journal: Option<String>,
    pub(super) snapshots: Option<String>,
    pub(super) journal_credentials: Option<PathBuf>,
    pub(super) journal_name: Option<String>,
    pub(super) journal_shards: Option<u16>,
    pub(super) journal_replicas: Option<usize>,
    pub(super) journal_synced: Option<bool>,
    pub(super) max_stored_mib_per_identity: Option<u64>,
    pub(super) delete_idle_days: Option<u64>,
    pub(super) blobs: Option<bool>,
    pub(super) undelete_days: Option<u64>,
}

fn wrong<T>(text: &str) -> Result<T> {
    bail!(UsageError(text.to_owned()))
}

/// The settings of the shared storage, if there is one.
pub(super) fn resolve(file: &SharedFile) -> Result<Shared> {
    let is_given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    if !is_given(&file.journal) {
        let is_default = file.journal_credentials.as_ref().is_none_or(|path| path.as_os_str().is_empty())
            && file.journal_name.as_ref().is_none_or(|name| name == "hashmill")
            && file.journal_shards.is_none_or(|shards| shards == 4)
            && file.journal_replicas.is_none_or(|replicas| replicas == 1)
            && !file.journal_synced.unwrap_or(false);
        if is_given(&file.snapshots) {
            return wrong(
                "snapshots: they need a journal: set `journal` to the address of NATS, nats://HOST:PORT",
            );
        }
        if !is_default {
            return wrong(&format!(
                "{JOURNAL_SETTINGS} need `journal`, the address of NATS: nats://HOST:PORT"
            ));
        }
        return Ok(None);
    }
    if file.max_stored_mib_per_identity.is_some_and(|mib| mib > 0) {
        return wrong(
            "max-stored-mib-per-identity: a storage that servers share has no quotas: remove it, or `journal`",
        );
    }
    if file.delete_idle_days.is_some_and(|days| days > 0) {
        return wrong(
            "delete-idle-days: a storage that servers share records no uses: remove it, or `journal`",
        );
    }
    if file.undelete_days.is_some() {
        return wrong(
            "undelete-days: a storage that servers share keeps the contents of deleted documents: remove it, or `journal`",
        );
    }
    if file.blobs == Some(true) {
        return wrong("blobs: a storage that servers share has none: remove it, or `journal`");
    }
    resolve_given(file)
}

#[cfg(not(feature = "cluster"))]
fn resolve_given(_: &SharedFile) -> Result<Shared> {
    wrong("journal: this program was built for one server: build it with `--features cluster`")
}

#[cfg(feature = "cluster")]
fn resolve_given(file: &SharedFile) -> Result<Shared> {
    use super::rights::check_private;
    use hashmill_server::shell::{SharedSettings, SnapshotPlace};

    let journal = file.journal.clone().unwrap_or_default();
    if !journal.starts_with("nats://") {
        return wrong("journal: not an address of NATS such as nats://127.0.0.1:4222");
    }
    if journal.contains('@') {
        return wrong("journal: no user or password in the address: name a file in `journal-credentials`");
    }
    let snapshots = file.snapshots.as_deref().unwrap_or_default();
    let Some(folder) = snapshots.strip_prefix("file://").filter(|folder| folder.starts_with('/')) else {
        return wrong(
            "snapshots: not a directory that all servers reach, such as file:///srv/hashmill: other places are not supported yet",
        );
    };
    let name = file.journal_name.clone().unwrap_or_else(|| "hashmill".to_owned());
    let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_sound) {
        return wrong("journal-name: use 1 to 64 letters, digits, - and _");
    }
    let shards = file.journal_shards.unwrap_or(4);
    if !(1..=64).contains(&shards) {
        return wrong("journal-shards: use 1 to 64");
    }
    let replicas = file.journal_replicas.unwrap_or(1);
    if ![1, 3, 5].contains(&replicas) {
        return wrong(
            "journal-replicas: use 1, 3 or 5: an even number survives no more failures than one less",
        );
    }
    let credentials = file.journal_credentials.clone().filter(|path| !path.as_os_str().is_empty());
    credentials.as_deref().map(check_private).transpose()?;
    let mut node = [0; 16];
    getrandom::fill(&mut node)?;
    Ok(Some(SharedSettings {
        journal,
        credentials,
        name,
        shards,
        replicas,
        is_synced: file.journal_synced.unwrap_or(false),
        snapshots: SnapshotPlace::Folder(folder.into()),
        node,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::toml_file::parse_toml;
    use super::*;

    fn refusal(file: &str) -> String {
        let file: SharedFile = parse_toml(file).expect("sound names");
        let error = resolve(&file).map(drop).expect_err("refused");
        assert!(error.is::<UsageError>());
        error.to_string()
    }

    #[test]
    fn settings_that_do_not_fit_are_refused() {
        const JOURNAL: &str = "journal = \"nats://127.0.0.1:4222\"\n";
        let mut cases = vec![
            ("snapshots = \"file:///srv\"", "snapshots: they need a journal"),
            ("journal-shards = 8", "journal-credentials, "),
            ("journal-synced = true", "journal-credentials, "),
            ("journal = \"x\"\nmax-stored-mib-per-identity = 1", "max-stored-mib-per-identity: "),
            ("journal = \"x\"\ndelete-idle-days = 1", "delete-idle-days: "),
            ("journal = \"x\"\nblobs = true", "blobs: "),
            ("journal = \"x\"\nundelete-days = 30", "undelete-days: "),
        ];
        let with_journal = |rest: &str| format!("{JOURNAL}snapshots = \"file:///srv\"\n{rest}");
        let built = [
            "journal-shards = 0",
            "journal-shards = 65",
            "journal-replicas = 2",
            "journal-name = \"a.b\"",
            "journal-name = \"\"",
        ]
        .map(with_journal);
        if cfg!(feature = "cluster") {
            cases.push(("journal = \"127.0.0.1:4222\"", "journal: not an address of NATS"));
            cases.push(("journal = \"nats://ann:secret@127.0.0.1\"", "journal: no user or password"));
            cases.push((JOURNAL, "snapshots: not a directory"));
            cases.push(("journal = \"nats://a\"\nsnapshots = \"s3://b\"", "snapshots: not a directory"));
            cases.extend(
                built
                    .iter()
                    .zip(["journal-shards: ", "journal-shards: ", "journal-replicas: "])
                    .map(|(file, expected)| (file.as_str(), expected)),
            );
            cases.extend(built[3..].iter().map(|file| (file.as_str(), "journal-name: ")));
        } else {
            cases.push((JOURNAL, "journal: this program was built for one server"));
        }
        for (file, expected) in cases {
            let text = refusal(file);
            assert!(text.starts_with(expected) && text.lines().count() == 1, "{file}: {text}");
        }
    }
}
