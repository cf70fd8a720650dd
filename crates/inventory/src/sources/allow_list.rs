//! Allow-list of locations that an inventory may name, and of the addresses that they may resolve to.
//!
//! Rows are untrusted. Without a list they may name every store and every public address, and local files only if the inventory
//! itself is a local file.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{self, Component, Path, PathBuf};

use url::{Host, Url};

use crate::error::Error;
use crate::location::{Location, Store};
use crate::row_result::{Failure, FailureKind};

/// Schemes, buckets, servers and folders that rows may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList {
    schemes: BTreeSet<&'static str>,
    /// Buckets of S3 and Google and containers of Azure, each with its scheme.
    buckets: BTreeSet<(&'static str, String)>,
    /// Scheme, host and port of web servers.
    servers: BTreeSet<String>,
    folders: BTreeSet<PathBuf>,
}

impl AllowList {
    /// Entries are `s3`, `gs`, `az`, `http`, `https`, `file`, or a location: `s3://bucket`, `https://host:8443`, `file:///folder`. A
    /// listed server may have any address; a server allowed only by its scheme needs a public one.
    ///
    /// # Errors
    /// [`Error::Refused`] for any other entry.
    pub fn new<T: AsRef<str>>(entries: impl IntoIterator<Item = T>) -> Result<AllowList, Error> {
        let mut list = AllowList::default();
        for entry in entries {
            let entry = entry.as_ref();
            list.add(entry).ok_or_else(|| {
                // The rest of an entry may contain a password.
                let entry = entry.split("://").next().unwrap_or_default();
                let what = "an entry is a scheme, s3://BUCKET, https://HOST or file:///FOLDER";
                Error::Refused(format!("{entry}: no entry of an allow-list: {what}"))
            })?;
        }
        Ok(list)
    }

    fn add(&mut self, entry: &str) -> Option<()> {
        let Some((scheme, rest)) = entry.split_once("://") else {
            self.schemes.insert(scheme_of(entry)?);
            return Some(());
        };
        match scheme_of(scheme)? {
            "file" => {
                let folder = Url::parse(entry).ok()?.to_file_path().ok()?;
                self.folders.insert(folder);
            }
            "http" | "https" => {
                let url = Url::parse(entry).ok()?;
                let is_server = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
                if !is_server || !url.username().is_empty() || url.password().is_some() {
                    return None;
                }
                self.servers.insert(url.origin().ascii_serialization());
            }
            scheme => {
                let bucket = rest.strip_suffix('/').unwrap_or(rest);
                if bucket.is_empty() || bucket.contains('/') {
                    return None;
                }
                self.buckets.insert((scheme, bucket.to_owned()));
            }
        }
        Some(())
    }
}

/// Canonical scheme of a kind of store.
fn scheme_of(text: &str) -> Option<&'static str> {
    Some(match text.to_ascii_lowercase().as_str() {
        "s3" | "s3a" | "s3n" => "s3",
        "gs" | "gcs" => "gs",
        "az" | "abfs" | "abfss" | "azure" | "adl" => "az",
        "http" => "http",
        "https" => "https",
        "file" => "file",
        _ => return None,
    })
}

/// Origin of an inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A local file, or rows of the caller.
    Local,
    /// A store or a web server.
    Store,
}

/// Reason why a name is not requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) &'static str);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Failure {
        Failure::new(FailureKind::Denied, refused.0)
    }
}

const NOT_LISTED: Refused = Refused("the allow-list does not have it");
const LOCAL_FILE: Refused =
    Refused("an inventory in a store may not name local files, unless an allow-list has them");
pub(crate) const NOT_PUBLIC: Refused =
    Refused("its address is not public, and no allow-list has the server by its name");

/// Addresses that a server may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addresses {
    Any,
    Public,
}

/// Access policy for rows.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    only: Option<AllowList>,
}

impl Policy {
    pub(crate) fn new(only: Option<AllowList>) -> Policy {
        Policy { only }
    }

    /// Whether a row from `origin` may name `location`.
    pub(crate) fn check(&self, location: &Location, origin: Origin) -> Result<(), Refused> {
        match location {
            Location::File(path) => self.check_file(path, origin),
            Location::Object(object) => match &object.store {
                Store::S3(bucket) => self.check_bucket("s3", bucket),
                Store::Google(bucket) => self.check_bucket("gs", bucket),
                Store::Azure(root) => {
                    self.check_bucket("az", root.split_once("://").map_or(root, |(_, container)| container))
                }
                Store::Http(root) => {
                    let url = Url::parse(root).map_err(|_| NOT_LISTED)?;
                    self.check_url(&url).map(drop)
                }
            },
        }
    }

    fn check_bucket(&self, scheme: &'static str, bucket: &str) -> Result<(), Refused> {
        let Some(only) = &self.only else { return Ok(()) };
        let is_listed = only.schemes.contains(scheme) || only.buckets.contains(&(scheme, bucket.to_owned()));
        is_listed.then_some(()).ok_or(NOT_LISTED)
    }

    /// Whether a row or a redirect may lead to a server, and at which addresses.
    pub(crate) fn check_url(&self, url: &Url) -> Result<Addresses, Refused> {
        if let Some(only) = &self.only {
            if only.servers.contains(&url.origin().ascii_serialization()) {
                return Ok(Addresses::Any);
            }
            if !only.schemes.contains(url.scheme()) {
                return Err(NOT_LISTED);
            }
        }
        let is_public = match url.host() {
            Some(Host::Ipv4(address)) => is_public(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => is_public(IpAddr::V6(address)),
            Some(Host::Domain(_)) => true,
            None => false,
        };
        if is_public { Ok(Addresses::Public) } else { Err(NOT_PUBLIC) }
    }

    fn check_file(&self, path: &Path, origin: Origin) -> Result<(), Refused> {
        let Some(only) = &self.only else {
            return if origin == Origin::Local { Ok(()) } else { Err(LOCAL_FILE) };
        };
        if only.schemes.contains("file") {
            return Ok(());
        }
        let path = path::absolute(path).map_err(|_| NOT_LISTED)?;
        // A link in a listed folder may lead out of it. A path that does not exist is no link.
        let real = fs::canonicalize(&path).ok();
        let is_in = |folder: &PathBuf| match &real {
            Some(real) => fs::canonicalize(folder).is_ok_and(|folder| real.starts_with(folder)),
            None => path.starts_with(folder) && !path.components().any(|part| part == Component::ParentDir),
        };
        only.folders.iter().any(is_in).then_some(()).ok_or(NOT_LISTED)
    }
}

/// Whether an address is public: neither of this machine nor of a local network.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, ..) // This network, private, loopback, multicast, reserved.
            | (100, 64..=127, _) // Networks of providers.
            | (169, 254, _) // Link-local: metadata of cloud machines.
            | (172, 16..=31, _) | (192, 168, _) // Private.
            | (192, 0, 0 | 2) | (198, 18..=19, _) | (198, 51, 100) | (203, 0, 113) // Protocols, tests, examples.
            | (192, 88, 99) // 6to4 relays.
    );
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // Mapped, translated, and tunnelled addresses of version 4.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => embedded(high, low),
        // Teredo, documentation, and others for protocols.
        [0x2001, 0..=0x1ff | 0xdb8, ..] => false,
        // All allocated global addresses.
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_url(policy: &Policy, url: &str, origin: Origin) -> Result<(), Refused> {
        policy.check(&Location::from_url(url).unwrap_or_else(|error| panic!("{url}: {error}")), origin)
    }

    #[test]
    fn addresses_of_this_machine_and_its_networks_are_not_public() {
        for address in [
            "127.0.0.1",
            "127.255.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.9.9",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "255.255.255.255",
            "224.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:0:7f00:1::",
            "fec0::1",
        ] {
            assert!(!is_public(address.parse().expect("an address")), "{address}");
        }
        for address in
            ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
        {
            assert!(is_public(address.parse().expect("an address")), "{address}");
        }
    }

    #[test]
    fn without_a_list_files_are_for_local_inventories_and_addresses_are_public() {
        let policy = Policy::new(None);
        for url in ["/etc/hosts", "file:///etc/hosts", "a/b"] {
            assert_eq!(check_url(&policy, url, Origin::Local), Ok(()));
            assert_eq!(check_url(&policy, url, Origin::Store), Err(LOCAL_FILE));
        }
        for origin in [Origin::Local, Origin::Store] {
            for url in ["s3://b/k", "gs://b/k", "az://c/k", "https://example.org/k", "http://1.1.1.1/k"] {
                assert_eq!(check_url(&policy, url, origin), Ok(()), "{url}");
            }
            for url in [
                "http://127.0.0.1/k",
                "http://2130706433/k",
                "http://0x7f.1/k",
                "http://0177.0.0.1/k",
                "https://[::1]:9/k",
            ] {
                assert_eq!(check_url(&policy, url, origin), Err(NOT_PUBLIC), "{url}");
            }
        }
    }

    #[test]
    fn entries_that_are_none_are_refused_without_their_end() {
        for entry in [
            "",
            "ftp",
            "s3:/b",
            "s3://",
            "s3://b/k",
            "https://",
            "https://h/x",
            "https://u:secret@h",
            "https://h?secret",
            "file://x",
            "b",
        ] {
            let error = AllowList::new([entry]).expect_err(entry).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
