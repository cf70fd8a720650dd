//! Settings of a server: flags, environment, settings file, defaults.

use super::certificate::CertificateSource;
use super::rights::{IdentityTable, RightsSource, check_private};
use super::shared::SharedFile;
use super::toml_file::parse_toml;
use crate::flags::{LogFormat, ServeArgs, StorageFlag, UsageError};
use crate::output::display_path;
use anyhow::{Context as _, Result, bail};
use hashmill_repo::PeerId;
use hashmill_server::Access;
use hashmill_server::shell::auth::{Authentication, RightsService, TokenDigest};
use hashmill_server::shell::{
    AdminSettings, Authorities, BlobSettings, ClientLimits, ServiceUrl, Settings, TrustedProxies,
};
use serde::Deserialize;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use zeroize::Zeroizing;

/// The port of automerge-repo's server.
const DEFAULT_PORT: u16 = 3030;
const DEFAULT_FOLDER: &str = "hashmill-data";
const MIB: usize = 1 << 20;
/// Environment variable with a token of the operator.
const ADMIN_TOKEN: &str = "HASHMILL_ADMIN_TOKEN";
/// A shorter token can be guessed.
const MIN_ADMIN_TOKEN_CHARS: usize = 32;
const DAY_SECONDS: u64 = 86_400;

/// A settings file with the defaults.
pub(super) const TEMPLATE: &str = "\
# Settings of `hashmill serve --settings FILE`. Flags and the environment (PORT, DATA_DIR) go before them.
# Each line shows a default: remove the # to change it.

# Address and port. Other machines reach 0.0.0.0 and [::], which needs tokens or open-to-all.
# listen = \"127.0.0.1:3030\"

# Directory of the storage. One server uses it at a time.
# data = \"hashmill-data\"

# Files of a certificate, with those of its issuers after it, and of its private key, in PEM: clients then connect with wss:// and
# https://. New files act at once.
# tls-cert = \"\"
# tls-key = \"\"

# Addresses and networks of proxies before the server, such as [\"10.0.0.0/8\"]: their headers X-Forwarded-For and Forwarded name the
# addresses of clients, for limits and messages.
# trusted-proxies = []

# Everyone who reaches the server may read and change every document whose id they know. Not together with tokens.
# open-to-all = false

# Take no changes.
# read-only = false

# Many servers with one storage: NATS JetStream as the journal of changes, a directory that all of them reach for snapshots. The
# directory of `data` then has the access of the operator's commands alone. A program that was built with the feature `cluster` has this.
# journal = \"\"
# snapshots = \"\"

# File of credentials for NATS. First part of the names of its streams. Number of streams, which cannot be changed later. Number of
# servers of NATS that store each change. Do they all have `sync_interval: always`? That is needed with fewer than three replicas.
# journal-credentials = \"\"
# journal-name = \"hashmill\"
# journal-shards = 4
# journal-replicas = 1
# journal-synced = false

# The id of this server among peers. Random for each start unless it is set.
# peer-id = \"storage-server-1\"

# Memory for documents, in MiB. Documents without clients leave memory first.
# memory-mib = 1024

# Largest message of a client, in MiB. A client sends a new document in one message.
# max-message-mib = 256

# Maximum number of open connections.
# max-connections = 10000

# Limits of single clients; 0 is none. Faster messages are read later. A document that would become larger takes no changes for five
# minutes. Clients of one proxy have one address, and clients without a token are one identity.
# max-connections-per-identity = 0
# max-connections-per-address = 0
# max-messages-per-second = 0
# max-kib-per-second = 0
# max-document-mib = 0
# max-stored-mib-per-identity = 0

# Days for which a deleted document can be brought back: `hashmill serve delete`, `hashmill serve undelete`. Then its contents are
# removed.
# undelete-days = 30

# Blobs beside documents, by HTTP: their largest size in MiB; days after which one goes that no document refers to, and an upload that
# is not continued; unfinished uploads of an identity. Servers that share a storage have none.
# blobs = true
# max-blob-mib = 1024
# unused-blob-days = 7
# max-uploads-per-identity = 16

# Documents are deleted that no client has changed or opened for this number of days; 0 is never. Documents of the time before the
# setting count from the first start with it.
# delete-idle-days = 0

# Requests of the operator, and the dashboard at /admin/: address of a listener of their own, for a proxy or other users. Empty: the
# listener of clients, from this machine alone. Each start has a token in the file admin.json of the storage's directory.
# admin-listen = \"\"

# File of a token that stays the same, of 32 characters or more, which only its owner may read. Or HASHMILL_ADMIN_TOKEN in the
# environment. Other machines need it.
# admin-token-file = \"\"

# Names by which browsers reach the dashboard through a proxy, as in the header Host.
# admin-hosts = []

# Answer /metrics? By default only where other machines do not reach the server.
# metrics = true

# Form of messages on standard error: text, or json with one object in each line.
# log = \"text\"

# File of identities with static tokens, as below, where a token may be in clear: token = \"…\". Only its owner may read it then.
# Changes of it act at once, also on open connections.
# tokens = \"\"

# File of public keys of issuers of JSON Web Tokens: PEM, JWK or JWKS, for EdDSA, ES256 and HS256. Changes act at once. Or the
# https:// URL of a JWKS, which is fetched every five minutes, and when a token names a new key. The tokens need the claims sub, exp and
# documents: {\"*\": \"read\", \"ID\": \"write\"}.
# jwt-keys = \"\"

# File of authorities (PEM) whose certificates other servers show to this one. Empty: those that the system trusts.
# ca-file = \"\"

# File of a secret for HS256 that the issuer shares, of 32 bytes or more.
# jwt-secret = \"\"

# The claim aud that JSON Web Tokens must have.
# jwt-audience = \"\"

# https:// URL of another service that knows all other tokens: it names their clients and the rights on each document, which are asked for
# again after this number of seconds. Not together with jwt-keys and jwt-secret.
# auth-url = \"\"
# auth-cache-seconds = 60

# Right of clients without a token on all documents: none, read or write. Empty: none if there are tokens, else write.
# anonymous = \"\"

# An identity. `hashmill serve token NAME` makes a token and this table. Rights: none, read, write, and announce, which is write and
# sends the document without being asked. * is every document without an own line. The tables are the last part of this file.
#
#   [[identity]]
#   name = \"ann\"
#   token-sha256 = \"…\"
#   documents = { \"*\" = \"read\", \"ID\" = \"write\" }
";

/// A settings file.
#[derive(Deserialize, Default, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SettingsFile {
    listen: Option<String>,
    data: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    #[serde(default)]
    trusted_proxies: Vec<String>,
    open_to_all: Option<bool>,
    read_only: Option<bool>,
    pub(super) journal: Option<String>,
    pub(super) snapshots: Option<String>,
    pub(super) journal_credentials: Option<PathBuf>,
    pub(super) journal_name: Option<String>,
    pub(super) journal_shards: Option<u16>,
    pub(super) journal_replicas: Option<usize>,
    pub(super) journal_synced: Option<bool>,
    peer_id: Option<String>,
    memory_mib: Option<usize>,
    max_message_mib: Option<usize>,
    max_connections: Option<usize>,
    max_connections_per_identity: Option<usize>,
    max_connections_per_address: Option<usize>,
    max_messages_per_second: Option<u64>,
    max_kib_per_second: Option<u64>,
    max_document_mib: Option<usize>,
    pub(super) max_stored_mib_per_identity: Option<u64>,
    pub(super) undelete_days: Option<u64>,
    pub(super) blobs: Option<bool>,
    max_blob_mib: Option<u64>,
    unused_blob_days: Option<u64>,
    max_uploads_per_identity: Option<usize>,
    pub(super) delete_idle_days: Option<u64>,
    admin_listen: Option<String>,
    admin_token_file: Option<PathBuf>,
    admin_hosts: Option<Vec<String>>,
    metrics: Option<bool>,
    log: Option<LogFormat>,
    tokens: Option<PathBuf>,
    jwt_keys: Option<PathBuf>,
    jwt_secret: Option<PathBuf>,
    jwt_audience: Option<String>,
    ca_file: Option<PathBuf>,
    auth_url: Option<String>,
    auth_cache_seconds: Option<u64>,
    anonymous: Option<String>,
    #[serde(default)]
    identity: Vec<IdentityTable>,
}

/// All that a server needs to start.
pub(super) struct Resolved {
    pub(super) settings: Settings,
    pub(super) rights: RightsSource,
    pub(super) certificate: Option<CertificateSource>,
    pub(super) log: LogFormat,
}

/// The settings of a server.
pub(super) fn resolve(flags: &ServeArgs) -> Result<Resolved> {
    let file = match &flags.settings {
        Some(path) => {
            let text = fs::read_to_string(path).with_context(|| display_path(path).into_owned())?;
            parse_toml(&text).with_context(|| display_path(path).into_owned())?
        }
        None => SettingsFile::default(),
    };
    let mut resolved = resolve_with(flags, file, env::var_os("PORT"), env::var_os("DATA_DIR"))?;
    resolved.settings.admin.tokens.extend(admin_token(env::var_os(ADMIN_TOKEN))?);
    check_admin(&resolved.settings.admin)?;
    Ok(resolved)
}

fn shared_part(file: &SettingsFile) -> SharedFile {
    SharedFile {
        journal: file.journal.clone(),
        snapshots: file.snapshots.clone(),
        journal_credentials: file.journal_credentials.clone(),
        journal_name: file.journal_name.clone(),
        journal_shards: file.journal_shards,
        journal_replicas: file.journal_replicas,
        journal_synced: file.journal_synced,
        max_stored_mib_per_identity: file.max_stored_mib_per_identity,
        delete_idle_days: file.delete_idle_days,
        blobs: file.blobs,
        undelete_days: file.undelete_days,
    }
}

fn resolve_with(
    flags: &ServeArgs,
    file: SettingsFile,
    port: Option<OsString>,
    folder: Option<OsString>,
) -> Result<Resolved> {
    let shared = super::shared::resolve(&shared_part(&file))?;
    let is_shared = shared.is_some();
    let port = match port {
        Some(port) if !port.is_empty() => {
            let parsed = port.to_str().and_then(|port| port.parse::<u16>().ok());
            let wrong = || UsageError(format!("PORT={}: not a port", port.display()));
            Some(parsed.ok_or_else(wrong)?)
        }
        _ => None,
    };
    let listen = flags.listen.clone();
    let listen = listen.or_else(|| port.map(|port| format!("127.0.0.1:{port}"))).or(file.listen);
    let listen = listen.unwrap_or_else(|| format!("127.0.0.1:{DEFAULT_PORT}"));
    let addresses = parse_address(&listen)?;
    let is_open = flags.open_to_all || file.open_to_all.unwrap_or(false);
    let (key_url, jwt_keys) = split_url(file.jwt_keys)?;
    let files = [file.tokens, jwt_keys, file.jwt_secret];
    let mut rights = RightsSource::new(file.identity, files, file.jwt_audience, file.anonymous);
    let auth_url = file.auth_url.filter(|url| !url.is_empty());
    if auth_url.is_some() && (key_url.is_some() || rights.has_keys()) {
        bail!(UsageError(
            "auth-url knows all tokens that are not static: remove jwt-keys and jwt-secret, or auth-url"
                .to_owned()
        ));
    }
    let rights_service = match auth_url {
        Some(url) => Some(RightsService {
            url: url.parse().map_err(|error| UsageError(format!("auth-url: {error}")))?,
            valid_for: Duration::from_secs(file.auth_cache_seconds.unwrap_or(60).max(1)),
        }),
        None => None,
    };
    rights.has_remote_tokens = key_url.is_some() || rights_service.is_some();
    if is_open && rights.has_tokens() {
        bail!(UsageError(
            "open-to-all would give all rights to everyone without a token: remove it, or set anonymous instead".to_owned()
        ));
    }
    let mut certificate = CertificateSource::new(file.tls_cert, file.tls_key)?;
    let trusted_proxies = TrustedProxies::parse(file.trusted_proxies.iter().map(String::as_str))
        .map_err(|error| UsageError(format!("trusted-proxies: {error}")))?;
    let is_local = addresses.iter().all(|address| address.ip().is_loopback());
    if !is_open && !rights.has_tokens() && !is_local {
        bail!(UsageError(format!(
            "{listen}: other machines may reach this address, and clients need no token: set tokens (`hashmill serve token`) or keys of \
             issuers (jwt-keys), or add --open-to-all if everyone may read and change every document whose id they know"
        )));
    }
    let folder = folder.filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = flags.data.clone().or(folder).or(file.data).unwrap_or_else(|| DEFAULT_FOLDER.into());
    let peer_id = match file.peer_id {
        Some(peer_id) => peer_id,
        None => PeerId::from_random_bytes("storage-server", random_bytes()?).to_string(),
    };
    let is_read_only = flags.read_only || file.read_only.unwrap_or(false);
    let or_unlimited = |limit: Option<usize>| limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let mib = |value: Option<usize>, default: usize| value.unwrap_or(default).saturating_mul(MIB);
    let settings = Settings {
        listen: addresses,
        folder,
        #[cfg(feature = "cluster")]
        shared,
        peer_id,
        new_storage_id: random_bytes()?,
        authentication: rights.read()?,
        max_access: if is_read_only { Access::Read } else { Access::Write },
        unix_time: hashmill_machine::date::now_seconds,
        max_frame_bytes: mib(file.max_message_mib, 256).max(MIB),
        memory_bytes: mib(file.memory_mib, 1024),
        max_sockets: file.max_connections.unwrap_or(10_000).max(1),
        limits: ClientLimits {
            max_sockets_per_identity: or_unlimited(file.max_connections_per_identity),
            max_connections_per_address: or_unlimited(file.max_connections_per_address),
            messages_per_second: file.max_messages_per_second.filter(|rate| *rate > 0),
            bytes_per_second: file
                .max_kib_per_second
                .filter(|rate| *rate > 0)
                .map(|kib| kib.saturating_mul(1 << 10)),
            max_document_bytes: or_unlimited(file.max_document_mib).saturating_mul(MIB),
            max_stored_bytes_per_identity: file
                .max_stored_mib_per_identity
                .filter(|mib| *mib > 0)
                .map(|mib| mib.saturating_mul(MIB as u64)),
        },
        admin: admin_settings(file.admin_listen, file.admin_token_file, file.admin_hosts)?,
        undelete_time: Duration::from_secs(file.undelete_days.unwrap_or(30).saturating_mul(DAY_SECONDS)),
        blobs: file.blobs.unwrap_or(!is_shared).then(|| BlobSettings {
            max_bytes: file.max_blob_mib.unwrap_or(1024).saturating_mul(MIB as u64),
            claim_time: Duration::from_secs(file.unused_blob_days.unwrap_or(7).saturating_mul(DAY_SECONDS)),
            max_uploads_per_identity: file.max_uploads_per_identity.unwrap_or(16).max(1),
        }),
        idle_time: file
            .delete_idle_days
            .filter(|days| *days > 0)
            .map(|days| Duration::from_secs(days.saturating_mul(DAY_SECONDS))),
        trusted_proxies,
        key_url,
        rights_service,
        authorities: read_authorities(file.ca_file)?,
        certificate: certificate.as_mut().map(CertificateSource::read).transpose()?,
        has_metrics: file.metrics.unwrap_or(is_local),
    };
    let log = flags.log.or(file.log).unwrap_or(LogFormat::Text);
    Ok(Resolved { settings, rights, certificate, log })
}

/// A URL of keys, or a file of them.
fn split_url(keys: Option<PathBuf>) -> Result<(Option<ServiceUrl>, Option<PathBuf>)> {
    let Some(text) = keys.as_deref().and_then(Path::to_str).filter(|text| text.contains("://")) else {
        return Ok((None, keys));
    };
    let url = text.parse().map_err(|error| UsageError(format!("jwt-keys: {error}")))?;
    Ok((Some(url), None))
}

fn read_authorities(path: Option<PathBuf>) -> Result<Authorities> {
    // The name in a written settings file is empty.
    let Some(path) = path.filter(|path| !path.as_os_str().is_empty()) else { return Ok(Authorities::System) };
    let name = || display_path(&path).into_owned();
    let authorities = Authorities::Pem(fs::read(&path).with_context(name)?);
    authorities.check().map_err(|error| UsageError(format!("{}: {error}", name())))?;
    Ok(authorities)
}

fn parse_address(text: &str) -> Result<Vec<SocketAddr>> {
    match text.to_socket_addrs() {
        Ok(addresses) => Ok(addresses.collect()),
        Err(error) => bail!(UsageError(format!("{text}: not an address such as 127.0.0.1:3030: {error}"))),
    }
}

/// Settings of the operator's requests, with the token of a file.
fn admin_settings(
    listen: Option<String>,
    token_file: Option<PathBuf>,
    hosts: Option<Vec<String>>,
) -> Result<AdminSettings> {
    let listen = match listen.filter(|listen| !listen.is_empty()) {
        Some(listen) => parse_address(&listen).context("admin-listen")?,
        None => Vec::new(),
    };
    let hosts = hosts.unwrap_or_default();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    if let Some(wrong) = hosts.iter().find(|host| host.is_empty() || !host.bytes().all(is_name)) {
        let wrong = wrong.escape_debug();
        bail!(UsageError(format!(
            "admin-hosts: “{wrong}” is not a name such as admin.example.org, without a port"
        )));
    }
    let mut tokens = Vec::new();
    if let Some(path) = token_file.filter(|path| !path.as_os_str().is_empty()) {
        let name = display_path(&path).into_owned();
        let text = Zeroizing::new(fs::read_to_string(&path).with_context(|| name.clone())?);
        check_private(&path)?;
        tokens.push(admin_digest(text.trim(), &name)?);
    }
    Ok(AdminSettings { tokens, listen, hosts })
}

/// The digest of a token in the environment.
fn admin_token(token: Option<OsString>) -> Result<Option<TokenDigest>> {
    let Some(token) = token.filter(|token| !token.is_empty()) else { return Ok(None) };
    let Ok(token) = token.into_string().map(Zeroizing::new) else {
        bail!(UsageError(format!("{ADMIN_TOKEN}: it is not Unicode")))
    };
    admin_digest(&token, ADMIN_TOKEN).map(Some)
}

fn admin_digest(token: &str, source: &str) -> Result<TokenDigest> {
    let is_sound = token.len() >= MIN_ADMIN_TOKEN_CHARS && token.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_sound {
        bail!(UsageError(format!(
            "{source}: a token of the operator is one line of {MIN_ADMIN_TOKEN_CHARS} or more letters, digits and signs, \
             such as the output of openssl rand -hex 32"
        )));
    }
    Ok(Authentication::digest(token))
}

/// Other machines reach the requests of the operator with a token that the operator knows.
fn check_admin(admin: &AdminSettings) -> Result<()> {
    let is_local = admin.listen.iter().all(|address| address.ip().is_loopback());
    if !is_local && admin.tokens.is_empty() {
        bail!(UsageError(format!(
            "admin-listen: other machines may reach this address: set admin-token-file or {ADMIN_TOKEN}, or an address of this machine \
             alone such as 127.0.0.1:3031"
        )));
    }
    Ok(())
}

/// The directory of the storage for a command that does not serve.
pub(super) fn storage_folder(flag: &StorageFlag) -> PathBuf {
    let folder = env::var_os("DATA_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    flag.data.clone().or(folder).unwrap_or_else(|| DEFAULT_FOLDER.into())
}

pub(super) fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_flags() -> ServeArgs {
        ServeArgs {
            command: None,
            listen: None,
            data: None,
            open_to_all: false,
            read_only: false,
            settings: None,
            log: None,
        }
    }

    fn resolved(flags: &ServeArgs, file: &str, port: Option<&str>, folder: Option<&str>) -> Result<Settings> {
        let folder = folder.map(OsString::from);
        Ok(resolve_with(flags, parse_toml(file)?, port.map(OsString::from), folder)?.settings)
    }

    /// The names and values, without random ones.
    fn shown(settings: Settings) -> String {
        let peer_id = settings.peer_id.starts_with("storage-server-").to_string();
        format!("{:?}", Settings { peer_id, new_storage_id: [0; 16], ..settings })
    }

    #[test]
    fn the_template_has_the_defaults() {
        // Comments that explain have no equals sign outside of examples; the others are settings.
        let is_setting = |line: &&str| {
            line.starts_with("# ") && line.split_once(" = ").is_some_and(|(name, _)| !name[2..].contains(' '))
        };
        let lines = TEMPLATE.lines().filter(is_setting).map(|line| format!("{}\n", &line[2..]));
        let all: String = lines.collect();
        assert_eq!(all.lines().count(), 43, "{all}");
        let [written, default] =
            [&all, ""].map(|file| resolved(&no_flags(), file, None, None).expect("sound"));
        assert_eq!(shown(written), shown(default));
        assert!(parse_toml::<SettingsFile>(TEMPLATE).is_ok());
    }

    #[test]
    fn flags_go_before_the_environment_and_that_before_the_file() {
        let file = "listen = \"127.0.0.1:1\"\ndata = \"file\"\n";
        let at = |flags: &ServeArgs, port, folder| {
            let settings = resolved(flags, file, port, folder).expect("sound");
            (settings.listen[0].port(), settings.folder)
        };
        assert_eq!(at(&no_flags(), None, None), (1, "file".into()));
        assert_eq!(at(&no_flags(), Some(""), Some("")), (1, "file".into()));
        assert_eq!(at(&no_flags(), Some("2"), Some("environment")), (2, "environment".into()));
        let flags =
            ServeArgs { listen: Some("127.0.0.1:3".to_owned()), data: Some("flag".into()), ..no_flags() };
        assert_eq!(at(&flags, Some("2"), Some("environment")), (3, "flag".into()));
    }

    #[test]
    fn wrong_settings_are_named() {
        for (file, port, expected) in [
            ("lisen = \"x\"", None, "line 1: unknown field `lisen`: did you mean `listen`?"),
            (
                "[[identity]]\nname = \"a\"\ntoken-sha = \"b\"",
                None,
                "line 3: unknown field `token-sha`: did you mean `token-sha256`?",
            ),
            ("zzz = 1", None, "line 1: unknown field `zzz`, expected one of `listen`, "),
            ("anonymous = \"all\"", None, "anonymous: “all” is no right"),
            ("anonymous = \"announce\"", None, "anonymous: “announce” needs the id of a document"),
            ("\nmemory-mib = \"x\"", None, "line 2: invalid type"),
            ("listen = ", None, "line 1: "),
            ("listen = \"nowhere\"", None, "nowhere: not an address such as 127.0.0.1:3030"),
            ("tls-cert = \"a.pem\"", None, "tls-cert needs tls-key: name the file of"),
            ("tls-key = \"a.pem\"", None, "tls-key needs tls-cert: name the file of"),
            (
                "jwt-keys = \"http://id.example.org/keys\"",
                None,
                "jwt-keys: “http://id.example.org/keys” is no URL with https://, or http:// to this machine",
            ),
            (
                "auth-url = \"http://192.0.2.1/\"",
                None,
                "auth-url: “http://192.0.2.1/” is no URL with https://",
            ),
            (
                "auth-url = \"https://a.example.org\"\njwt-secret = \"secret\"",
                None,
                "auth-url knows all tokens that are not static: remove jwt-keys and jwt-secret, or auth-url",
            ),
            (
                "auth-url = \"https://a.example.org\"\njwt-keys = \"https://a.example.org\"",
                None,
                "auth-url knows all tokens that are not static",
            ),
            ("trusted-proxies = [\"proxy\"]", None, "trusted-proxies: “proxy” is neither an address nor a"),
            ("trusted-proxies = [\"::/0\"]", None, "trusted-proxies: “::/0” is every address: name those"),
            ("admin-listen = \"nowhere\"", None, "admin-listen: nowhere: not an address"),
            ("admin-hosts = [\"a:1\"]", None, "admin-hosts: “a:1” is not a name such as"),
            ("", Some("http"), "PORT=http: not a port"),
            ("", Some("65536"), "PORT=65536: not a port"),
        ] {
            let error = resolved(&no_flags(), file, port, None).expect_err(file);
            let text = format!("{error:#}");
            assert!(text.starts_with(expected) && text.lines().count() == 1, "{file}: {text}");
            assert!(error.is::<UsageError>());
        }
    }

    #[test]
    fn tokens_of_the_operator_cannot_be_guessed() {
        let at = |listen: &str| admin_settings(Some(listen.to_owned()), None, None).expect("sound");
        let error = check_admin(&at("0.0.0.0:1")).expect_err("no token").to_string();
        assert!(error.contains("HASHMILL_ADMIN_TOKEN"), "{error}");
        assert!(check_admin(&at("127.0.0.1:1")).is_ok() && check_admin(&at("")).is_ok());
        let token = "0123456789abcdef0123456789abcdef";
        let digest = admin_token(Some(token.into())).expect("sound").expect("a token");
        assert_eq!(digest, Authentication::digest(token));
        assert!(check_admin(&AdminSettings { tokens: vec![digest], ..at("0.0.0.0:1") }).is_ok());
        assert_eq!(admin_token(Some("".into())).expect("none"), None);
        for wrong in ["short", &format!("{token} {token}"), &format!("{token}\n")] {
            let error = admin_token(Some(wrong.into())).expect_err(wrong).to_string();
            assert!(
                error.starts_with("HASHMILL_ADMIN_TOKEN: a token of the operator is one line"),
                "{error}"
            );
            assert!(!error.contains(token));
        }
    }

    #[test]
    fn other_machines_are_let_in_by_plain_words_alone() {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let flags = ServeArgs { listen: Some(address.to_owned()), ..no_flags() };
            let error = resolved(&flags, "", None, None).expect_err(address).to_string();
            assert!(error.contains("--open-to-all"), "{error}");
            assert!(resolved(&flags, "open-to-all = true", None, None).is_ok());
            assert!(resolved(&ServeArgs { open_to_all: true, ..flags }, "", None, None).is_ok());
        }
        let flags = ServeArgs { listen: Some("[::1]:0".to_owned()), ..no_flags() };
        assert!(resolved(&flags, "", None, None).is_ok());
    }
}
