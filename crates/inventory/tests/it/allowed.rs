//! Allow-lists: schemes, buckets, servers, folders and addresses that rows may name.

use std::fs;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hashmill_hash::blake3::hash;
use hashmill_inventory::inventory::{Columns, Inventory, Row};
use hashmill_inventory::run::{PART_ROWS, run};
use hashmill_inventory::{AllowList, FailureKind, Hasher, Options, RowResult, RunHandle, Shard};
use hashmill_testkit::Rng;

use crate::server::{Reply, Server};
use crate::{answers, table, texts, write};

fn only(entries: &[&str]) -> Options {
    let mut options = Options::default();
    options.threads = NonZero::new(1);
    options.retries = 5;
    options.only = Some(AllowList::new(entries).expect("a list"));
    options
}

fn kinds(answers: &[RowResult]) -> Vec<Option<FailureKind>> {
    answers.iter().map(|answer| answer.result.as_ref().err().map(|failure| failure.kind)).collect()
}

/// A test server that records its requests.
struct Listener {
    server: Server,
    port: u16,
}

impl Listener {
    fn new() -> Listener {
        let server = Server::start(|request, _| Reply::object(request, b"body", "t"));
        let port = server.address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        Listener { server, port }
    }

    fn requests(&self) -> usize {
        self.server.requests.lock().expect("a list").len()
    }
}

/// Unusual spellings of this machine's address. All reach the listener if they are requested.
fn spellings(port: u16) -> Vec<String> {
    let hosts = [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "127.1",
        "0177.0.0.1",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "0",
        "0.0.0.0",
        "127.0.0.1.",
    ];
    let mut names: Vec<String> = hosts.iter().map(|host| format!("http://{host}:{port}/k")).collect();
    names.extend([
        format!("http://example.org@127.0.0.1:{port}/k"),
        format!("http://example.org:80@127.0.0.1:{port}/k"),
        format!("http://127.0.0.1:{port}#@example.org/k"),
        format!("http:\\\\127.0.0.1:{port}\\k"),
        format!("http://127.0.0.1:{port}\\@example.org/k"),
        format!("http:///127.0.0.1:{port}/k"),
        format!(" http://127.0.0.1:{port}/k"),
        format!("http://127.0.0.1\t:{port}/k"),
        format!("HTTP://127.0.0.1:{port}/k"),
    ]);
    names
}

#[test]
fn no_spelling_of_this_machine_is_allowed_by_default() {
    let listener = Listener::new();
    let rows: Vec<Row> = spellings(listener.port).into_iter().map(Row::from_url).collect();
    for options in [Options::default(), only(&["http", "https"]), only(&["http://example.org"])] {
        let answers = answers(options, rows.clone());
        for answer in &answers {
            let failure = answer.result.as_ref().expect_err("an answer of this machine");
            // Text that is no URL is a path, which does not exist or is not listed.
            assert!(
                matches!(
                    failure.kind,
                    FailureKind::Row | FailureKind::Denied | FailureKind::Missing | FailureKind::Failed
                ),
                "{answer:?}"
            );
        }
        assert_eq!(listener.requests(), 0, "{:?}", listener.server.requests);
        assert!(kinds(&answers).iter().filter(|kind| **kind == Some(FailureKind::Denied)).count() > 10);
    }
}

#[test]
fn listed_server_may_have_any_address() {
    let listener = Listener::new();
    let entry = format!("http://127.0.0.1:{}", listener.port);
    let found = |url: &str| answers(only(&[&entry]), vec![Row::from_url(url)]).remove(0).result;
    // The same server, by other spellings of its address.
    for host in ["127.0.0.1", "2130706433", "0x7f.1"] {
        let digest = found(&format!("http://{host}:{}/k", listener.port)).expect(host).blake3;
        assert_eq!(digest, *hash(b"body").as_bytes());
    }
    let requests_before = listener.requests();
    let other = Listener::new();
    for url in [
        format!("http://localhost:{}/k", listener.port),
        format!("https://127.0.0.1:{}/k", listener.port),
        format!("http://127.0.0.1:{}/k", other.port),
        format!("http://127.0.0.2:{}/k", listener.port),
        "s3://b/k".to_owned(),
        "/etc/hosts".to_owned(),
    ] {
        assert_eq!(found(&url).expect_err(&url).kind, FailureKind::Denied, "{url}");
    }
    assert_eq!((listener.requests(), other.requests()), (requests_before, 0));
}

#[test]
fn redirects_lead_to_listed_servers_only() {
    let (listed, other) = (Listener::new(), Listener::new());
    let to = [listed.port, other.port];
    let first = Server::start(move |request, _| {
        let target = match request.path.trim_start_matches('/') {
            "listed" => format!("http://127.0.0.1:{}/k", to[0]),
            "other" => format!("http://127.0.0.1:{}/k", to[1]),
            "name" => format!("http://localhost:{}/k", to[1]),
            "decimal" => format!("http://2130706433:{}/k", to[1]),
            "mapped" => format!("http://[::ffff:127.0.0.1]:{}/k", to[1]),
            "user" => format!("http://secret:secret@127.0.0.1:{}/k", to[1]),
            "file" => "file:///etc/hosts".to_owned(),
            _ => "loop".to_owned(),
        };
        Reply { fields: vec![("location", target)], ..Reply::error(302) }
    });
    let entries = [format!("http://{}", first.address), format!("http://{}", listed.server.address)];
    let at = |end: &str, options: Options| {
        answers(options, vec![Row::from_url(format!("http://{}/{end}", first.address))]).remove(0).result
    };
    let list = || only(&[entries[0].as_str(), entries[1].as_str()]);
    assert_eq!(at("listed", list()).expect("a digest").blake3, *hash(b"body").as_bytes());
    let with_scheme = || only(&[entries[0].as_str(), "http", "https"]);
    for end in ["other", "name", "decimal", "mapped", "user"] {
        for options in [list(), with_scheme()] {
            let failure = at(end, options).expect_err(end);
            assert_eq!(failure.kind, FailureKind::Denied, "{end}: {failure}");
            assert!(!failure.words.contains("secret"), "{failure}");
        }
    }
    for end in ["file", "loop"] {
        assert!(at(end, list()).is_err(), "{end}");
    }
    assert_eq!((listed.requests(), other.requests()), (1, 0));
}

#[cfg(unix)]
#[test]
fn remote_inventory_names_only_listed_local_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    fs::write(&secret, b"a short secret").expect("a file");
    let inventory = folder.path().join("inventory.parquet");
    let url = format!("file://{}", secret.display());
    let names = [secret.to_str().expect("text"), url.as_str(), "/proc/self/status", "../x"];
    write(&inventory, &table(vec![("url", texts(names))]), 10);
    let body = fs::read(&inventory).expect("a file");
    let server = Server::start(move |request, _| Reply::object(request, &body, "t"));
    let by = |from: &Path, options: Options, out: &str| {
        let hasher = Hasher::new(options).expect("a hasher");
        let inventory = Inventory::open(&hasher, &[from], Columns::default()).expect("an inventory");
        let out = folder.path().join(out);
        run(&hasher, &inventory, &out, Shard::ALL, PART_ROWS, &RunHandle::new()).expect("an outcome").summary
    };
    let remote = PathBuf::from(format!("http://{}/inventory.parquet", server.address));
    let denied =
        |summary: hashmill_inventory::Summary| (summary.hashed, summary.failed[FailureKind::Denied as usize]);
    assert_eq!(denied(by(&remote, Options::default(), "remote")), (0, 4));
    assert!(by(&inventory, Options::default(), "local").hashed >= 2);
    let entry = format!("file://{}", folder.path().display());
    assert_eq!(denied(by(&remote, only(&[&entry]), "listed")), (2, 2));
    assert_eq!(denied(by(&inventory, only(&[&entry]), "own")), (2, 2));
    assert_eq!(denied(by(&inventory, only(&["s3"]), "store")), (0, 4));
}

#[cfg(unix)]
#[test]
fn link_does_not_lead_out_of_a_listed_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
    fs::create_dir(&inside).expect("a folder");
    fs::write(inside.join("file"), b"mine").expect("a file");
    fs::write(&outside, b"other").expect("a file");
    std::os::unix::fs::symlink(&outside, inside.join("link")).expect("a link");
    std::os::unix::fs::symlink(inside.join("file"), inside.join("own")).expect("a link");
    let entry = format!("file://{}", inside.display());
    let ends = ["file", "own", "x/../file", "link", "../out", "nothing/../../out", "nothing", "../nothing"];
    let row = |end: &&str| Row::from_url(format!("{}/{end}", inside.display()));
    let found = kinds(&answers(only(&[&entry]), ends.iter().map(row).collect()));
    let (denied, missing) = (Some(FailureKind::Denied), Some(FailureKind::Missing));
    assert_eq!(found[..2], [None, None]);
    assert!(found[2].is_some(), "a folder that is not there");
    assert_eq!(found[3..], [denied, denied, denied, missing, denied]);
}

/// The oracle parses no URLs: it looks which servers and buckets got requests.
#[test]
fn only_listed_locations_get_requests() {
    let listeners: Vec<Listener> = (0..3).map(|_| Listener::new()).collect();
    let requested = Arc::new(Mutex::new(Vec::<String>::new()));
    let recorder = Arc::clone(&requested);
    let store = Server::start(move |request, _| {
        recorder.lock().expect("a list").push(request.path.clone());
        Reply::object(request, b"body", "t")
    });
    let hosts =
        ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]", "127.1", "x@127.0.0.1", "%6cocalhost"];
    let buckets = ["one", "two", "three", "one.two", "ONE", "one%2ftwo", "one@two"];
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        // Allowed listeners, by index, and buckets.
        let servers: Vec<usize> = (0..3).filter(|_| rng.below(2) == 0).collect();
        let listed: Vec<&str> = buckets[..4].iter().copied().filter(|_| rng.below(2) == 0).collect();
        let mut entries: Vec<String> =
            servers.iter().map(|index| format!("http://127.0.0.1:{}", listeners[*index].port)).collect();
        entries.extend(listed.iter().map(|bucket| format!("s3://{bucket}")));
        entries.extend((rng.below(3) == 0).then(|| "https".to_owned()));
        let mut options = only(&entries.iter().map(String::as_str).collect::<Vec<_>>());
        options.retries = 0;
        for (name, value) in [
            ("aws_endpoint", format!("http://{}", store.address)),
            ("aws_region", "nowhere".to_owned()),
            ("aws_access_key_id", "who".to_owned()),
            ("aws_secret_access_key", "secret".to_owned()),
            ("allow_http", "true".to_owned()),
        ] {
            options.store.insert(name.to_owned(), value);
        }
        let before: Vec<usize> = listeners.iter().map(Listener::requests).collect();
        requested.lock().expect("a list").clear();
        let mut rows = Vec::new();
        for _ in 0..60 {
            let (host, bucket) = (hosts[rng.below(hosts.len())], buckets[rng.below(buckets.len())]);
            let scheme = ["http", "HTTP", "s3", "s3a", "S3", "gs", "file"][rng.below(7)];
            let end = ["k", "a/b", "k?x=/y", "%2e%2e/three/k", "..%2fthree/k", "k%00"][rng.below(6)];
            let port = listeners[rng.below(3)].port;
            rows.push(Row::from_url(match scheme {
                "http" | "HTTP" => format!("{scheme}://{host}:{port}/{end}"),
                "file" => format!("file://{host}/{end}"),
                _ => format!("{scheme}://{bucket}/{end}"),
            }));
        }
        let hashed = answers(options, rows).iter().filter(|answer| answer.result.is_ok()).count();
        let mut count = 0;
        for (index, listener) in listeners.iter().enumerate() {
            let requests = listener.requests() - before[index];
            assert!(requests == 0 || servers.contains(&index), "{seed}: {entries:?}");
            count += requests;
        }
        for path in requested.lock().expect("a list").iter() {
            let bucket = path.trim_start_matches('/').split('/').next().unwrap_or_default();
            assert!(listed.contains(&bucket), "{seed}: {path} by {entries:?}");
            count += 1;
        }
        assert_eq!(hashed, count, "{seed}: what is asked is answered");
    }
}

#[test]
fn host_name_is_checked_by_its_address() {
    // The resolved address counts, not the name.
    let local: Vec<IpAddr> =
        ("localhost", 0).to_socket_addrs().into_iter().flatten().map(|address| address.ip()).collect();
    let listener = Listener::new();
    let url = format!("http://localhost:{}/k", listener.port);
    let failure =
        answers(only(&["http"]), vec![Row::from_url(url.as_str())]).remove(0).result.expect_err("no digest");
    if local.iter().any(IpAddr::is_loopback) {
        assert_eq!(failure.kind, FailureKind::Denied, "{failure}");
    }
    assert_eq!(listener.requests(), 0);
    // A server that is listed by name may be this machine.
    let entry = format!("http://localhost:{}", listener.port);
    if local.contains(&IpAddr::from([127, 0, 0, 1])) {
        let found = answers(only(&[&entry]), vec![Row::from_url(url)]).remove(0).result.expect("a digest");
        assert_eq!(found.blake3, *hash(b"body").as_bytes());
    }
}

/// Keys, passwords and signatures of the caller are in no result and no error.
#[test]
fn secrets_are_in_no_result_or_error() {
    let failing = Server::start(|request, _| {
        let body = format!("<Error>{} {:?}</Error>", request.path, request.fields);
        Reply { body: body.into_bytes(), ..Reply::error(400) }
    });
    let port = failing.address.rsplit(':').next().expect("a port");
    for endpoint in [
        format!("http://user:TOPSECRET@127.0.0.1:{port}"),
        "http://user:TOPSECRET@127.0.0.1:9".to_owned(),
        "http://TOPSECRET@[::1".to_owned(),
        "user:TOPSECRET@host".to_owned(),
        "http://user:TOPSECRET@host:99999999".to_owned(),
        "http://127.0.0.1:9/?X-Sig=TOPSECRET".to_owned(),
    ] {
        let mut options = only(&["s3", "gs", "az"]);
        options.retries = 0;
        for (name, value) in [
            ("aws_endpoint", endpoint.as_str()),
            ("google_base_url", endpoint.as_str()),
            ("azure_storage_endpoint", endpoint.as_str()),
            ("azure_storage_account_name", "account"),
            ("azure_storage_account_key", "VE9QU0VDUkVU"),
            ("aws_region", "nowhere"),
            ("aws_access_key_id", "who"),
            ("aws_secret_access_key", "TOPSECRET"),
            ("allow_http", "true"),
            ("google_skip_signature", "true"),
        ] {
            options.store.insert(name.to_owned(), value.to_owned());
        }
        let hasher = match Hasher::new(options) {
            Ok(hasher) => hasher,
            Err(error) => {
                assert!(!error.to_string().contains("TOPSECRET"), "{error}");
                continue;
            }
        };
        for url in ["s3://b/k", "gs://b/k", "az://c/k"] {
            let answer =
                hasher.hash_rows(vec![Row::from_url(url)], &RunHandle::new()).expect("answers").remove(0);
            let failure = answer.result.expect_err("no digest");
            let error = Inventory::open(&hasher, &[url], Columns::default()).expect_err("no inventory");
            for words in [failure.words, error.to_string(), format!("{error:?} {hasher:?}")] {
                assert!(
                    !words.contains("TOPSECRET") && !words.contains("VE9QU0VDUkVU"),
                    "{endpoint}: {words}"
                );
            }
        }
    }
}
