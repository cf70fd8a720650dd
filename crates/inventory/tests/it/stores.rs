//! Tests of failing stores and their errors.

use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_array::Int64Array;
use hashmill_hash::blake3::hash;
use hashmill_inventory::inventory::{Columns, Inventory, Row};
use hashmill_inventory::run::{PART_ROWS, run};
use hashmill_inventory::{
    AllowList, Error, Failure, FailureKind, Hasher, Options, RowResult, RunHandle, Shard,
};
use hashmill_testkit::wait::limit;

use crate::server::{Reply, Request, Server, all_servers};
use crate::{answers, listed, texts};

fn options() -> Options {
    let mut options = Options::default();
    options.threads = NonZero::new(2);
    options.retries = 2;
    // Results must not depend on the speed of the machine.
    options.timeout = Duration::from_secs(120);
    options.only = Some(AllowList::new(all_servers()).expect("a list"));
    options
}

fn s3(server: &Server) -> Options {
    let mut options = options();
    for (name, value) in [
        ("aws_endpoint", format!("http://{}", server.address)),
        ("aws_region", "nowhere".to_owned()),
        ("aws_access_key_id", "who".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
        ("allow_http", "true".to_owned()),
    ] {
        options.store.insert(name.to_owned(), value);
    }
    options
}

fn one(options: Options, row: Row) -> RowResult {
    let mut answers = answers(options, vec![row]);
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

fn kind(answer: &RowResult) -> FailureKind {
    answer.result.as_ref().expect_err("no digest").kind
}

#[test]
fn status_codes_map_to_failure_kinds() {
    for (status, expected) in [
        (404, FailureKind::Missing),
        (403, FailureKind::Denied),
        (401, FailureKind::Denied),
        (412, FailureKind::Changed),
        (400, FailureKind::Failed),
    ] {
        let server = Server::start(move |_, _| Reply::error(status));
        assert_eq!(kind(&one(s3(&server), Row::from_url("s3://b/k"))), expected, "{status}");
        assert_eq!(
            kind(&one(options(), Row::from_url(format!("http://{}/k", server.address)))),
            expected,
            "{status}"
        );
    }
}

#[test]
fn busy_server_is_retried() {
    let server = Server::start(|request, before| match before {
        0 | 1 => Reply::error(503),
        _ => Reply::object(request, b"late", "t"),
    });
    let found = one(s3(&server), Row::from_url("s3://b/k")).result.expect("a digest");
    assert_eq!((found.blake3, found.size), (*hash(b"late").as_bytes(), 4));
    assert_eq!(server.requests.lock().expect("a list").len(), 3);

    let server = Server::start(|_, _| Reply::error(503));
    assert_eq!(kind(&one(s3(&server), Row::from_url("s3://b/k"))), FailureKind::Failed);
    assert_eq!(server.requests.lock().expect("a list").len(), 3, "as often as was said");
}

#[test]
fn broken_body_is_resumed() {
    let body: Vec<u8> = (0..100_000_u32).map(|i| (i % 251) as u8).collect();
    let expected = *hash(&body).as_bytes();
    let server = Server::start(move |request, before| {
        let cut = (before == 0).then_some(70_000);
        Reply { cut, ..Reply::object(request, &body, "t") }
    });
    let found = one(s3(&server), Row::from_url("s3://b/k")).result.expect("a digest");
    assert_eq!((found.blake3, found.etag.as_deref()), (expected, Some("\"t\"")));
    assert_eq!(server.requests.lock().expect("a list").len(), 2);
}

#[test]
fn resumed_body_of_another_object_has_no_digest() {
    let server = Server::start(|request, before| {
        let (body, tag) = if before == 0 { (vec![1; 100_000], "one") } else { (vec![2; 100_000], "two") };
        Reply { cut: (before == 0).then_some(70_000), ..Reply::object(request, &body, tag) }
    });
    assert!(one(s3(&server), Row::from_url("s3://b/k")).result.is_err());
}

#[test]
fn always_broken_body_has_no_digest() {
    let server =
        Server::start(|request, _| Reply { cut: Some(5), ..Reply::object(request, &[7; 1000], "t") });
    assert_eq!(kind(&one(s3(&server), Row::from_url("s3://b/k"))), FailureKind::Failed);
}

#[test]
fn listed_properties_must_match() {
    let server = Server::start(|request, _| Reply::object(request, b"bytes", "now"));
    let row = |size: i64, tag: &str| {
        let columns = vec![
            ("bucket", texts(["b"])),
            ("key", texts(["k"])),
            ("size", Arc::new(Int64Array::from(vec![size])) as _),
            ("e_tag", texts([tag])),
        ];
        listed(columns).remove(0)
    };
    assert!(one(s3(&server), row(5, "now")).result.is_ok());
    assert!(one(s3(&server), row(5, "\"now\"")).result.is_ok());
    assert_eq!(kind(&one(s3(&server), row(6, "now"))), FailureKind::Changed);
    assert_eq!(kind(&one(s3(&server), row(5, "then"))), FailureKind::Changed);
    // A server that ignores a requested tag.
    let careless = Server::start(|request, _| {
        Reply::object(&Request { path: request.path.clone(), fields: [].into() }, b"bytes", "now")
    });
    assert_eq!(kind(&one(s3(&careless), row(5, "then"))), FailureKind::Changed);
}

/// A body of more than two parts.
fn large() -> Vec<u8> {
    (0..(33 << 20) + 12_345_u32).map(|i| (i % 251) as u8).collect()
}

fn of_size(body: &[u8]) -> Row {
    let size = Arc::new(Int64Array::from(vec![body.len() as i64])) as _;
    listed(vec![("url", texts(["s3://b/k"])), ("size", size)]).remove(0)
}

#[test]
fn large_object_is_fetched_in_parts() {
    let body = large();
    let (row, expected) = (of_size(&body), *hash(&body).as_bytes());
    let whole = body.clone();
    let server = Server::start(move |request, before| {
        // The connection of the second part breaks once.
        Reply { cut: (before == 1).then_some(1000), ..Reply::object(request, &whole, "t") }
    });
    for connections in [1, 4] {
        let mut options = s3(&server);
        options.split = 1;
        options.connections = NonZero::new(connections).expect("some");
        let found = one(options, row.clone()).result.expect("a digest");
        assert_eq!((found.blake3, found.size), (expected, body.len() as u64));
    }
    assert_eq!(server.requests.lock().expect("a list").len(), 3 + 1 + 3);

    let server = Server::start(move |request, before| {
        // From the third request on, another object of equal length.
        Reply::object(request, &body, if before < 2 { "one" } else { "two" })
    });
    let mut options = s3(&server);
    options.split = 1;
    assert_eq!(kind(&one(options, row)), FailureKind::Changed);
}

#[test]
fn parts_without_a_tag_are_not_combined() {
    let body = large();
    let (row, expected) = (of_size(&body), *hash(&body).as_bytes());
    let server = Server::start(move |request, _| {
        let mut reply = Reply::object(request, &body, "x");
        reply.fields.retain(|(name, _)| *name != "etag");
        reply.fields.push(("etag", "W/\"weak\"".to_owned()));
        reply
    });
    let mut options = s3(&server);
    options.split = 1;
    assert_eq!(one(options, row).result.expect("a digest").blake3, expected);
    assert_eq!(server.requests.lock().expect("a list").len(), 2, "a part, then the whole");
}

#[test]
fn parts_of_two_states_are_not_combined() {
    let body = large();
    let row = of_size(&body);
    for (first, later) in [(("one", "x"), ("two", "x")), (("one", "x"), ("one", "y"))] {
        let body = body.clone();
        let server = Server::start(move |request, before| {
            let (tag, version) = if before < 2 { first } else { later };
            let range = request.fields.get("range").map(|range| ("range".to_owned(), range.clone()));
            let careless = Request { path: request.path.clone(), fields: range.into_iter().collect() };
            let mut reply = Reply::object(&careless, &body, tag);
            reply.fields.push(("x-amz-version-id", version.to_owned()));
            reply
        });
        let mut options = s3(&server);
        options.split = 1;
        assert_eq!(kind(&one(options, row.clone())), FailureKind::Changed);
    }
}

#[test]
fn server_without_ranges_sends_the_whole() {
    let body = large();
    let (row, expected) = (of_size(&body), *hash(&body).as_bytes());
    let server = Server::start(move |request, _| {
        Reply::object(&Request { path: request.path.clone(), fields: [].into() }, &body, "t")
    });
    let mut options = s3(&server);
    options.split = 1;
    assert_eq!(one(options, row).result.expect("a digest").blake3, expected);
}

#[test]
fn body_with_a_weak_tag_is_not_resumed() {
    let server = Server::start(|request, before| {
        let mut reply = Reply::object(request, &[before as u8; 100_000], "x");
        reply.fields.retain(|(name, _)| *name != "etag");
        reply.fields.push(("etag", "W/\"weak\"".to_owned()));
        Reply { cut: (before < 2).then_some(70_000), ..reply }
    });
    assert_eq!(
        kind(&one(options(), Row::from_url(format!("http://{}/k", server.address)))),
        FailureKind::Failed
    );
}

#[test]
fn listed_version_must_match() {
    let server = Server::start(|request, _| {
        let mut reply = Reply::object(request, b"bytes", "t");
        reply.fields.push(("x-amz-version-id", "two".to_owned()));
        reply
    });
    let row = |url: &str, version: &str| {
        listed(vec![("url", texts([url])), ("version", texts([version]))]).remove(0)
    };
    assert!(one(s3(&server), row("s3://b/k", "two")).result.is_ok());
    assert_eq!(kind(&one(s3(&server), row("s3://b/k", "one"))), FailureKind::Changed);
    let url = format!("http://{}/k", server.address);
    assert_eq!(kind(&one(options(), row(&url, "two"))), FailureKind::Row);
}

#[test]
fn rejects_options_that_mix_up_buckets() {
    let server = Server::start(|request, _| Reply::object(request, b"x", "t"));
    let mut options = s3(&server);
    options.store.insert("aws_virtual_hosted_style_request".to_owned(), "false".to_owned());
    assert!(Hasher::new(options.clone()).is_ok());
    options.store.insert("AWS_VIRTUAL_HOSTED_STYLE_REQUEST".to_owned(), "true".to_owned());
    assert!(matches!(Hasher::new(options), Err(Error::Refused(_))));
}

#[test]
fn many_rows_have_one_result_each_in_order() {
    let server = Server::start(|request, _| match request.path.as_bytes().last() {
        Some(b'7') => Reply::error(404),
        _ => Reply::object(request, request.path.as_bytes(), "t"),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let files = crate::files(folder.path(), 200);
    let mut rows = Vec::new();
    for (index, (path, _)) in files.iter().enumerate() {
        rows.push(Row::from_url(path.to_string_lossy()));
        rows.push(Row::from_url(format!("s3://b/{index}")));
        rows.push(Row::from_url("s3://b"));
    }
    let answers = answers(s3(&server), rows);
    assert_eq!(answers.len(), 600);
    for (index, (three, (_, bytes))) in answers.chunks(3).zip(&files).enumerate() {
        assert_eq!(three[0].result.as_ref().expect("a digest").blake3, *hash(bytes).as_bytes());
        match &three[1].result {
            Err(Failure { kind: FailureKind::Missing, .. }) => assert_eq!(index % 10, 7),
            result => assert_eq!(
                result.as_ref().expect("a digest").blake3,
                *hash(format!("/b/{index}").as_bytes()).as_bytes()
            ),
        }
        assert_eq!(kind(&three[2]), FailureKind::Row);
    }
}

#[test]
fn request_to_a_silent_server_can_be_stopped() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/k", silent.local_addr().expect("an address"));
    let mut options = options();
    options.only = Some(AllowList::new([url.trim_end_matches("/k")]).expect("a list"));
    let hasher = Hasher::new(options).expect("a hasher");
    let stop = RunHandle::new();
    let _limit = limit("the end of work that was stopped");
    std::thread::scope(|scope| {
        let work = scope.spawn(|| hasher.hash_rows(vec![Row::from_url(url)], &stop));
        // The client has connected, so it waits now.
        let _connection = silent.accept().expect("a connection");
        stop.stop();
        assert!(matches!(work.join().expect("no panic"), Err(Error::Stopped)));
    });
}

#[test]
fn long_file_can_be_stopped() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    if file.as_file().set_len(1 << 40).is_err() {
        return hashmill_testkit::skip("a file of a tebibyte", "this file system has none");
    }
    let hasher = Hasher::new(options()).expect("a hasher");
    let stop = RunHandle::new();
    let _limit = limit("the end of work that was stopped");
    std::thread::scope(|scope| {
        let work =
            scope.spawn(|| hasher.hash_rows(vec![Row::from_url(file.path().to_string_lossy())], &stop));
        std::thread::sleep(Duration::from_millis(50));
        stop.stop();
        assert!(matches!(work.join().expect("no panic"), Err(Error::Stopped)));
    });
}

#[test]
fn rejects_unknown_options() {
    let mut options = options();
    options.store.insert("aws_endpiont".to_owned(), "x".to_owned());
    assert!(matches!(Hasher::new(options), Err(Error::Refused(what)) if what.contains("aws_endpiont")));
    assert!(Hasher::is_known_option("AWS_REGION") && !Hasher::is_known_option("HOME"));
}

/// A server that sends `body` for one request target, and otherwise repeats the request.
fn signed(end: &'static str, body: Vec<u8>) -> Server {
    Server::start(move |request, _| match request.path == end {
        true => Reply::object(request, &body, "t"),
        false => Reply { body: request.path.clone().into_bytes(), ..Reply::error(403) },
    })
}

#[test]
fn web_server_gets_the_url_as_written() {
    for end in ["/a%20b%2Fc//d/?X-Sig=%2Fse+cret&y=%C3%A4", "/", "/%ff%25", "/a?", "/a?b?c=/d//e"] {
        let server = signed(end, b"body".to_vec());
        let found =
            one(options(), Row::from_url(format!("http://{}{end}", server.address))).result.expect(end);
        assert_eq!(found.blake3, *hash(b"body").as_bytes());
    }
    let end = "/large?X-Sig=secret";
    let body = large();
    let (size, expected) = (body.len() as i64, *hash(&body).as_bytes());
    let server = signed(end, body);
    let url = format!("http://{}{end}", server.address);
    let size = Arc::new(Int64Array::from(vec![size])) as _;
    let mut options = options();
    options.split = 1;
    let row = listed(vec![("url", texts([url.as_str()])), ("size", size)]).remove(0);
    assert_eq!(one(options, row).result.expect("a digest").blake3, expected);
    assert_eq!(*server.requests.lock().expect("a list"), [end; 3], "each part by the whole URL");
}

#[test]
fn secret_query_is_in_no_error() {
    let server = signed("/other", Vec::new());
    let broken =
        Server::start(|request, _| Reply { cut: Some(5), ..Reply::object(request, &[7; 1000], "t") });
    let failing =
        Server::start(|request, _| Reply { body: request.path.clone().into_bytes(), ..Reply::error(503) });
    let hasty = || {
        let mut options = options();
        options.retries = 0;
        options
    };
    let closed = "127.0.0.1:9".to_owned();
    for address in [&server.address, &broken.address, &failing.address, &closed] {
        let url = format!("http://{address}/x?X-Sig=secret");
        let failure = one(hasty(), Row::from_url(&*url)).result.expect_err("no digest");
        assert!(!failure.words.contains("secret"), "{failure}");
        let hasher = Hasher::new(hasty()).expect("a hasher");
        let error = Inventory::open(&hasher, &[&url], Columns::default()).expect_err("no inventory");
        assert!(
            error.to_string().contains("/x") && !format!("{error} {error:?}").contains("secret"),
            "{error}"
        );
    }
    for url in
        ["http://h/x?secret#part", "http://u:secret@h/x", "http://h:secret/x?y", "x?y=secret&z=http://h"]
    {
        let failure = one(hasty(), Row::from_url(url)).result.expect_err("no digest");
        assert!(failure.kind == FailureKind::Row && !failure.words.contains("secret"), "{failure}");
    }
}

#[test]
fn secret_query_is_not_sent_on_redirects() {
    let came = Arc::new(Mutex::new(Vec::new()));
    let recorder = Arc::clone(&came);
    let last = Server::start(move |request, _| {
        recorder.lock().expect("a list").push(request.fields.contains_key("referer"));
        if request.path.starts_with("/good") {
            return Reply::object(request, b"body", "t");
        }
        Reply { body: request.path.clone().into_bytes(), ..Reply::error(403) }
    });
    let to = last.address;
    let first = Server::start(move |request, _| {
        let end = request.path.split('?').next().unwrap_or_default();
        let fields = vec![("location", format!("http://{to}{end}?X-Sig=secret"))];
        Reply { fields, ..Reply::error(302) }
    });
    let at = |end: &str| one(options(), Row::from_url(format!("http://{}{end}", first.address))).result;
    assert_eq!(at("/good?X-Sig=mine").expect("a digest").blake3, *hash(b"body").as_bytes());
    let failure = at("/bad").expect_err("no digest");
    assert!(failure.kind == FailureKind::Denied && !failure.words.contains("secret"), "{failure}");
    assert_eq!(*came.lock().expect("a list"), [false, false], "no request has a Referer");
}

#[test]
fn web_client_options_take_effect() {
    let server =
        Server::start(|request, _| Reply::object(request, request.fields["user-agent"].as_bytes(), "t"));
    let of = |name: &str, value: &str| {
        let mut options = options();
        options.store.insert(name.to_owned(), value.to_owned());
        one(options, Row::from_url(format!("http://{}/k", server.address))).result
    };
    assert_eq!(of("user_agent", "me").expect("a digest").blake3, *hash(b"me").as_bytes());
    assert!(of("proxy_url", "http://127.0.0.1:9").is_err());
    assert!(of("timeout", "no time").is_err());
    assert!(of("timeout", "1m 30s").is_ok());
}

#[test]
fn reads_an_inventory_by_signed_url() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("inventory.parquet");
    let names: Vec<String> = (0..1000).map(|index| format!("file {index}")).collect();
    crate::write(&path, &crate::table(vec![("url", texts(names.iter().map(String::as_str)))]), 100);
    let hasher = Hasher::new(options()).expect("a hasher");
    let body = std::fs::read(&path).expect("a file");
    let server = signed("/x.parquet?X-Sig=secret", body.clone());
    let url = format!("http://{}/x.parquet?X-Sig=secret", server.address);
    let inventory = Inventory::open(&hasher, &[url], Columns::default()).expect("an inventory");
    let own = Inventory::open(&hasher, &[path], Columns::default()).expect("an inventory");
    let rows =
        |inventory: &Inventory| inventory.rows(250..777).collect::<Result<Vec<Row>, _>>().expect("rows");
    assert_eq!((inventory.len(), rows(&inventory)), (1000, rows(&own)));

    // A file that is replaced by one of equal length after it was opened.
    let changing = Server::start(move |request, before| {
        Reply::object(request, &body, if before < 2 { "one" } else { "two" })
    });
    let url = format!("http://{}/x", changing.address);
    let inventory = Inventory::open(&hasher, &[url], Columns::default()).expect("an inventory");
    let error = inventory.rows(0..1).next().expect("a row").expect_err("another file");
    assert!(matches!(error, Error::Io(..)), "{error}");
}

#[test]
fn failed_conditional_write_is_not_repeated_unconditionally() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("inventory.parquet");
    crate::write(&path, &crate::table(vec![("url", texts(["nothing here"]))]), 1);
    let conditions = Arc::new(Mutex::new(Vec::new()));
    let recorder = Arc::clone(&conditions);
    let server = Server::start(move |request, _| {
        let condition = request.fields.get("if-none-match").cloned();
        if request.fields.contains_key("content-length") {
            recorder.lock().expect("a list").push(condition.clone());
        }
        Reply::error(if condition.is_some() { 400 } else { 404 })
    });
    let try_it = |options: Options| {
        let hasher = Hasher::new(options).expect("a hasher");
        let inventory = Inventory::open(&hasher, &[&path], Columns::default()).expect("an inventory");
        let out = std::path::Path::new("s3://b/out");
        let error =
            run(&hasher, &inventory, out, Shard::ALL, PART_ROWS, &RunHandle::new()).expect_err("no folder");
        assert!(matches!(error, Error::Io(..)), "{error}");
        std::mem::take(&mut *conditions.lock().expect("a list"))
    };
    assert_eq!(try_it(s3(&server)), [Some("*".to_owned())]);
    // With conditional writes switched off, it is written without a condition.
    let mut without = s3(&server);
    without.store.insert("aws_conditional_put".to_owned(), "disabled".to_owned());
    assert_eq!(try_it(without), [None]);
}

#[test]
fn bucket_is_an_inventory() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("inventory.parquet");
    crate::write(&path, &crate::table(vec![("url", texts(["one", "two"]))]), 2);
    let body = std::fs::read(&path).expect("a file");
    let server = Server::start(move |request, _| match &*request.path {
        "/b/a~1.parquet" | "/b/a%2520b.parquet" => Reply::object(request, &body, "t"),
        path if path.contains("list-type=2") => {
            let files = ["a~1.parquet", "a%20b.parquet", "notes"].map(|key| {
                format!(
                    "<Contents><Key>{key}</Key><LastModified>2026-11-27T00:00:00.000Z</LastModified>\
                     <ETag>&quot;t&quot;</ETag><Size>{}</Size></Contents>",
                    body.len()
                )
            });
            let list = format!("<ListBucketResult>{}</ListBucketResult>", files.concat());
            Reply { status: 200, fields: Vec::new(), body: list.into_bytes(), cut: None }
        }
        _ => Reply::error(404),
    });
    let hasher = Hasher::new(s3(&server)).expect("a hasher");
    for url in ["s3://b", "s3://b/"] {
        let inventory = Inventory::open(&hasher, &[url], Columns::default()).expect("an inventory");
        assert_eq!(inventory.len(), 4);
    }
    let requests = server.requests.lock().expect("a list");
    assert!(!requests.iter().any(|path| path == "/b" || path == "/b/"), "{requests:?}");
}
