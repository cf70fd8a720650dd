//! Blobs beside documents: requests as clients send them, damage on the disk, kills, and the examples of the documentation.

use super::{Server, client, put, wait_for};
use crate::world::{World, digest, hashmill};
use hashmill_repo::{DocumentId, SyncStatus};
use hashmill_testkit::{skip, wait};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = include_str!("../../../../../docs/serve-blobs.md");

/// An answer, with header names in lower case.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Answer {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// A request that was sent, perhaps without all of its body.
fn send(server: &Server, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).expect("a server");
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "content-length") {
        head += &format!("content-length: {}\r\n", body.len());
    }
    headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
    write!(stream, "{head}\r\n").expect("a server");
    // A server that refuses may not read all.
    let _ = stream.write_all(body);
    stream
}

fn receive(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A connection that is closed early is an answer, too.
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
    let pair =
        |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    Answer { status, headers: lines.filter_map(pair).collect(), body: bytes[end + 4..].to_vec() }
}

fn request(server: &Server, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    receive(send(server, method, path, headers, body))
}

fn status(server: &Server, method: &str, path: &str, token: &str) -> u16 {
    request(server, method, path, &[("authorization", &format!("Bearer {token}"))], b"").status
}

fn path_of(bytes: &[u8]) -> String {
    format!("/blobs/{}", digest(bytes))
}

/// The file of a blob in the storage.
fn file_of(world: &World, bytes: &[u8]) -> PathBuf {
    let hash = digest(bytes);
    world.path(format!("store/blobs/{}/{}", &hash[..2], &hash[2..]))
}

/// Number of files below a directory.
fn count_files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.map(|path| if path.is_dir() { count_files(&path) } else { 1 }).sum()
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * index / 7 + index) as u8).collect()
}

fn id(number: u8) -> DocumentId {
    DocumentId::from_random_bytes([number; 16])
}

fn start_with(world: &World, settings: &str) -> Server {
    world.write("settings.toml", settings);
    let arguments = ["--settings", "settings.toml"];
    Server::start_with(world, Command::new(hashmill()).arg("serve"), &arguments)
}

/// Stores a document, by an open server.
fn create_document(server: &Server, id: &DocumentId, token: &str) {
    let path = if token.is_empty() { "/".to_owned() } else { format!("/?token={token}").replace(' ', "%20") };
    let mut socket = super::Socket::try_open(&server.address, &path, &[]).expect("a known token");
    let mut author = client(&format!("author-{id}"), id);
    put(&mut author, id, vec![1]);
    wait_for(&mut socket, &mut author, id, SyncStatus::InSync);
}

#[test]
fn a_blob_is_put_and_read_by_its_hash() {
    let world = World::new();
    let server = Server::start(&world);
    let hash_and_path = |blob: &[u8]| (digest(blob), path_of(blob));
    for blob in [bytes(0), bytes(1000), bytes(65_536), bytes(1_000_000)] {
        let (hash, path) = hash_and_path(&blob);
        assert_eq!(request(&server, "GET", &path, &[], b"").status, 404);
        let absent = request(&server, "HEAD", &path, &[], b"");
        assert_eq!((absent.status, absent.header("upload-offset")), (404, "0"));
        let created = request(&server, "PUT", &path, &[], &blob);
        assert_eq!((created.status, created.header("location")), (201, path.as_str()), "{created:?}");
        assert_eq!(created.text(), format!("{{\"bytes\":{},\"hash\":\"{hash}\"}}\n", blob.len()));
        let read = request(&server, "GET", &path, &[], b"");
        assert_eq!((read.status, &read.body), (200, &blob));
        let (tag, len) = (format!("\"{hash}\""), blob.len().to_string());
        for (name, expected) in [
            ("etag", tag.as_str()),
            ("content-length", &len),
            ("cache-control", "public, max-age=31536000, immutable"),
            ("content-type", "application/octet-stream"),
            ("x-content-type-options", "nosniff"),
            ("access-control-allow-origin", "*"),
            ("accept-ranges", "bytes"),
        ] {
            assert_eq!(read.header(name), expected, "{name}");
        }
        let head = request(&server, "HEAD", &path, &[], b"");
        assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, len.as_str(), 0));
        let same = request(&server, "GET", &path, &[("if-none-match", &tag)], b"");
        assert_eq!((same.status, same.body.len()), (304, 0));
        let image = request(&server, "GET", &format!("{path}?type=image/png"), &[], b"");
        assert_eq!(image.header("content-type"), "image/png");
        assert_eq!(fs::read(file_of(&world, &blob)).expect("a file"), blob);
    }
    let blob = bytes(1_000_000);
    let path = path_of(&blob);
    for (range, start, end) in [
        ("0-0", 0, 1),
        ("65535-65536", 65_535, 65_537),
        ("999990-", 999_990, 1_000_000),
        ("-600000", 400_000, 1_000_000),
    ] {
        let part = request(&server, "GET", &path, &[("range", &format!("bytes={range}"))], b"");
        assert_eq!((part.status, &part.body[..]), (206, &blob[start..end]), "{range}");
        assert_eq!(part.header("content-range"), format!("bytes {start}-{}/1000000", end - 1));
    }
    let outside = request(&server, "GET", &path, &[("range", "bytes=1000000-")], b"");
    assert_eq!((outside.status, outside.header("content-range")), (416, "bytes */1000000"));
    let other = request(&server, "GET", &path, &[("range", "bytes=0-1"), ("if-range", "\"x\"")], b"");
    assert_eq!((other.status, other.body.len()), (200, blob.len()));
    // Without a hash; and in chunks.
    let posted = request(&server, "POST", "/blobs", &[], b"posted");
    assert_eq!((posted.status, posted.header("location")), (201, path_of(b"posted").as_str()), "{posted:?}");
    let chunked = [("transfer-encoding", "chunked"), ("content-length", "")];
    let mut stream = TcpStream::connect(&server.address).expect("a server");
    write!(
        stream,
        "PUT {} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n",
        path_of(b"abcdef")
    )
    .expect("a server");
    write!(stream, "4\r\nabcd\r\n2\r\nef\r\n0\r\n\r\n").expect("a server");
    assert_eq!(receive(stream).status, 201, "{chunked:?}");
    assert_eq!(request(&server, "GET", &path_of(b"abcdef"), &[], b"").body, b"abcdef");
    let preflight = request(&server, "OPTIONS", &path, &[("origin", "https://example.org")], b"");
    assert_eq!(preflight.status, 204);
    assert!(preflight.header("access-control-allow-methods").contains("PATCH"), "{preflight:?}");
    let metrics = server.get("/metrics");
    assert!(metrics.contains("\nhashmill_blobs_stored_total 6\n"), "{metrics}");
}

#[test]
fn what_cannot_be_carried_out_is_refused_with_a_reason() {
    let world = World::new();
    let server = start_with(&world, "max-blob-mib = 1\nmax-uploads-per-identity = 1\n");
    let path = path_of(b"right");
    let wrong = request(&server, "PUT", &path, &[], b"wrong");
    assert_eq!(wrong.status, 422);
    assert_eq!(wrong.text(), format!("the bytes have the hash {}: nothing was stored\n", digest(b"wrong")));
    for path in [&path, &path_of(b"wrong")] {
        assert_eq!(request(&server, "GET", path, &[], b"").status, 404);
    }
    assert_eq!(count_files(&world.path("store/blobs")), 0, "nothing is left");
    let large = bytes((1 << 20) + 1);
    let refused = request(&server, "PUT", &path_of(&large), &[("expect", "100-continue")], b"");
    assert_eq!(refused.status, 422, "an empty body has another hash");
    let refused = request(&server, "PUT", &path_of(&large), &[("content-length", "1048577")], b"");
    assert_eq!(
        (refused.status, refused.text().as_str()),
        (413, "a blob has at most 1048576 bytes on this server\n")
    );
    let first = [("upload-complete", "?0")];
    assert_eq!(request(&server, "PUT", &path, &first, b"ri").status, 204);
    let many = request(&server, "PUT", &path_of(b"other"), &[], b"other");
    assert_eq!((many.status, many.header("retry-after")), (429, "1"), "{many:?}");
    for (method, path, headers, status, text) in [
        ("GET", "/blobs/abc", &[][..], 400, "“abc” is not the BLAKE3 hash of a blob"),
        ("GET", "/blobs", &[], 405, "use POST"),
        ("DELETE", &path, &[], 405, "use GET"),
        ("PATCH", &path, &[], 400, "PATCH needs the header Upload-Offset"),
        ("PATCH", &path, &[("upload-offset", "2")], 400, "PATCH needs the header Upload-Complete"),
        ("PATCH", &path, &[("upload-offset", "3"), ("upload-complete", "?1")], 409, "the server has 2 bytes"),
        ("POST", "/blobs", &[("upload-complete", "?0")], 400, "an upload without a hash cannot be continued"),
        ("GET", &format!("{path}?type=text/html"), &[], 400, "type=text/html is none of"),
        ("PUT", "/documents/zzz/blobs/abc", &[], 400, "“abc” is not the BLAKE3 hash"),
    ] {
        let answer = request(&server, method, path, headers, b"");
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert!(answer.text().starts_with(text), "{method} {path}: {answer:?}");
    }
    assert_eq!(
        request(&server, "PATCH", &path, &[("upload-offset", "2"), ("upload-complete", "?1")], b"ght").status,
        201
    );
    server.kill();
    let server = start_with(&world, "blobs = false\n");
    assert_eq!(request(&server, "GET", &path, &[], b"").status, 404);
    let read_only = World::new();
    let server = start_with(&read_only, "read-only = true\n");
    assert_eq!(request(&server, "PUT", &path, &[], b"right").status, 403);
}

#[test]
fn an_interrupted_upload_continues() {
    let world = World::new();
    let server = Server::start(&world);
    let blob = bytes(3_000_000);
    let path = path_of(&blob);
    let offset = |server: &Server| -> usize {
        let head = request(server, "HEAD", &path, &[], b"");
        assert_eq!(head.status, 404);
        head.header("upload-offset").parse().expect("a number")
    };
    // The connection ends early.
    drop(send(&server, "PUT", &path, &[("content-length", "3000000")], &blob[..1_000_000]));
    wait::until("an unfinished upload", || offset(&server) == 1_000_000);
    assert_eq!(request(&server, "GET", &path, &[], b"").status, 404, "it is no blob yet");
    // A request that continues while the server still waits for the old one.
    let old = send(
        &server,
        "PATCH",
        &path,
        &[("upload-offset", "1000000"), ("upload-complete", "?0"), ("content-length", "2000000")],
        &blob[1_000_000..1_300_000],
    );
    wait::until("more bytes", || offset(&server) == 1_300_000);
    let part = [("upload-offset", "1300000"), ("upload-complete", "?0")];
    let next = request(&server, "PATCH", &path, &part, &blob[1_300_000..2_000_000]);
    assert_eq!((next.status, next.header("upload-offset")), (204, "2000000"), "{next:?}");
    let replaced = receive(old);
    assert_eq!((replaced.status, replaced.header("upload-offset")), (409, "1300000"));
    // What was answered survives the end of the process.
    server.kill();
    let server = Server::start(&world);
    assert_eq!(offset(&server), 2_000_000);
    let last = [("upload-offset", "2000000"), ("upload-complete", "?1")];
    assert_eq!(request(&server, "PATCH", &path, &last, &blob[2_000_000..]).status, 201);
    assert_eq!(request(&server, "GET", &path, &[], b"").body, blob);
    server.kill();
    let server = Server::start(&world);
    assert_eq!(request(&server, "GET", &path, &[], b"").body, blob);
    assert_eq!(fs::read_dir(world.path("store/blobs/uploads")).expect("a folder").count(), 0);
    // A whole PUT starts again.
    let other = bytes(500_000);
    let part = [("upload-complete", "?0")];
    assert_eq!(request(&server, "PUT", &path_of(&other), &part, b"something else").status, 204);
    assert_eq!(request(&server, "PUT", &path_of(&other), &[], &other).status, 201);
}

fn identity(name: &str, documents: &str) -> String {
    let token = data_encoding::HEXLOWER.encode(&Sha256::digest(token(name)));
    format!("[[identity]]\nname = \"{name}\"\ntoken-sha256 = \"{token}\"\ndocuments = {{ {documents} }}\n")
}

fn token(name: &str) -> String {
    format!("the token of {name}")
}

#[test]
fn rights_on_a_document_are_rights_on_its_blobs() {
    let world = World::new();
    let (first, second) = (id(1), id(2));
    let settings = [
        identity("ann", &format!("\"{first}\" = \"write\"")),
        identity("ben", &format!("\"{first}\" = \"read\"")),
        identity("eve", &format!("\"{second}\" = \"write\"")),
    ];
    let server = start_with(&world, &settings.concat());
    let [ann, ben, eve] = ["ann", "ben", "eve"].map(token);
    create_document(&server, &first, &ann);
    create_document(&server, &second, &eve);
    let blob = path_of(b"blob");
    let headers = |token: &str| ("authorization".to_owned(), format!("Bearer {token}"));
    let put_blob = |token: &str| {
        let (name, value) = headers(token);
        request(&server, "PUT", &blob, &[(&name, &value)], b"blob").status
    };
    assert_eq!(request(&server, "PUT", &blob, &[], b"blob").status, 401, "without a token");
    assert_eq!(put_blob(&ben), 403, "a client that may change no document");
    assert_eq!(put_blob(&ann), 201);
    let in_document = |document: &DocumentId| format!("/documents/{document}{blob}");
    let list = |token: &str| {
        let (name, value) = headers(token);
        request(&server, "GET", &format!("/documents/{first}/blobs"), &[(&name, &value)], b"")
    };
    assert_eq!((status(&server, "GET", &blob, &ann), status(&server, "GET", &blob, &ben)), (200, 404));
    // Denied and absent have one answer.
    for (method, path) in [("GET", blob.clone()), ("PUT", in_document(&second))] {
        let (name, value) = headers(&eve);
        let denied = request(&server, method, &path, &[(&name, &value)], b"");
        let path = path.replace(&digest(b"blob"), &digest(b"absent"));
        let absent = request(&server, method, &path, &[(&name, &value)], b"");
        assert_eq!((denied.status, &denied.body), (404, &absent.body));
    }
    assert_eq!(status(&server, "PUT", &in_document(&first), &eve), 404, "her rights");
    assert_eq!(status(&server, "PUT", &in_document(&first), &ben), 403);
    assert_eq!(status(&server, "PUT", &in_document(&id(3)), &ann), 404);
    assert_eq!(status(&server, "PUT", &in_document(&first), &ann), 204);
    assert_eq!((status(&server, "GET", &blob, &ben), status(&server, "GET", &blob, &eve)), (200, 404));
    assert_eq!(
        list(&ben).text(),
        format!("{{\"blobs\":[{{\"bytes\":4,\"hash\":\"{}\"}}]}}\n", digest(b"blob"))
    );
    assert_eq!(list(&eve).status, 404);
    assert_eq!(status(&server, "DELETE", &in_document(&first), &ben), 403);
    // Deletion of the document takes the rights away, and undelete gives them back.
    world.serve(&["delete", &first.to_string(), "--data", "store"]).quiet_success();
    assert_eq!((status(&server, "GET", &blob, &ben), list(&ben).status), (404, 404));
    world.serve(&["undelete", &first.to_string(), "--data", "store"]).quiet_success();
    assert_eq!(status(&server, "GET", &blob, &ben), 200);
    // She needs the bytes, and then has rights of her own.
    assert_eq!(put_blob(&eve), 201);
    assert_eq!(status(&server, "PUT", &in_document(&second), &eve), 204);
    assert_eq!(status(&server, "DELETE", &in_document(&first), &ann), 204);
    assert_eq!(status(&server, "DELETE", &in_document(&first), &ann), 404);
    assert_eq!((status(&server, "GET", &blob, &ben), status(&server, "GET", &blob, &eve)), (404, 200));
}

#[test]
fn blobs_count_for_the_quota() {
    let world = World::new();
    let settings = format!("max-stored-mib-per-identity = 1\n{}", identity("ann", "\"*\" = \"write\""));
    let server = start_with(&world, &settings);
    let ann = token("ann");
    create_document(&server, &id(1), &ann);
    let (name, value) = ("authorization", format!("Bearer {ann}"));
    let put_blob = |blob: &[u8]| request(&server, "PUT", &path_of(blob), &[(name, &value)], blob).status;
    let (large, small) = (bytes(900_000), bytes(200_000));
    assert_eq!((put_blob(&large), put_blob(&small)), (201, 507));
    assert_eq!(put_blob(&large), 201, "it counts once");
    assert_eq!(status(&server, "PUT", &format!("/documents/{}{}", id(1), path_of(&large)), &ann), 204);
    assert_eq!(put_blob(&small), 507, "also when a document has it");
    assert_eq!(count_files(&world.path("store/blobs")), 2, "the blob and its tree");
}

#[test]
fn damage_on_the_disk_is_found_and_repaired() {
    let world = World::new();
    let server = Server::start(&world);
    let (large, small) = (bytes(2_000_000), bytes(1000));
    for blob in [&large, &small] {
        assert_eq!(request(&server, "PUT", &path_of(blob), &[], blob).status, 201);
    }
    let rot = |blob: &[u8], place: usize| {
        let mut rotten = blob.to_vec();
        rotten[place] ^= 1;
        fs::write(file_of(&world, blob), rotten).expect("a file");
    };
    rot(&large, 1_500_000);
    let part = request(&server, "GET", &path_of(&large), &[("range", "bytes=0-99999")], b"");
    assert_eq!((part.status, &part.body[..]), (206, &large[..100_000]), "other parts are sound");
    let whole = request(&server, "GET", &path_of(&large), &[], b"");
    assert!(whole.body.len() < 1_500_000 && large.starts_with(&whole.body), "sound bytes alone are sent");
    for method in ["GET", "HEAD"] {
        assert_eq!(request(&server, method, &path_of(&large), &[], b"").status, 500, "{method}");
    }
    let part = request(&server, "GET", &path_of(&large), &[("range", "bytes=1500000-1500001")], b"");
    assert_eq!(part.status, 500);
    assert_eq!(request(&server, "GET", &path_of(&small), &[], b"").body, small, "others are unharmed");
    assert_eq!(request(&server, "PUT", &path_of(&large), &[], &large).status, 201);
    assert_eq!(request(&server, "GET", &path_of(&large), &[], b"").body, large);
    // A tree is made again from sound bytes.
    let tree = file_of(&world, &large).with_extension("tree");
    for contents in [&b"short"[..], &[7; 1984]] {
        fs::write(&tree, contents).expect("a file");
        assert_eq!(request(&server, "GET", &path_of(&large), &[], b"").body, large);
    }
    fs::remove_file(&tree).expect("a file");
    assert_eq!(request(&server, "GET", &path_of(&large), &[("range", "bytes=-5")], b"").status, 206);
    // A short file, and none.
    fs::write(file_of(&world, &small), &small[..999]).expect("a file");
    assert_eq!(request(&server, "GET", &path_of(&small), &[], b"").status, 500);
    assert_eq!(request(&server, "PUT", &path_of(&small), &[], &small).status, 201);
    fs::remove_file(file_of(&world, &small)).expect("a file");
    assert_eq!(request(&server, "GET", &path_of(&small), &[], b"").status, 500);
    assert_eq!(request(&server, "PUT", &path_of(&small), &[], &small).status, 201);
    rot(&small, 0);
    let done = world.serve(&["check", "--data", "none"]);
    assert_eq!(done.code(), 1, "{done:?}");
    let errors = server.end();
    let message = format!("blob {} is damaged on the disk until it is put again", digest(&large));
    assert_eq!(errors.matches(&message).count(), 1, "{errors}");
    let done = world.serve(&["check", "--data", "store"]);
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.err.contains("its bytes have another hash") && done.err.lines().count() == 1, "{done:?}");
    assert_eq!(
        done.text(),
        "checked store: 0 documents, 0 chunks, 0 bytes, 1 blobs, 2000000 bytes, 1 damaged\n"
    );
}

#[test]
fn blobs_that_nothing_needs_are_removed() {
    let world = World::new();
    let server = Server::start(&world);
    create_document(&server, &id(1), "");
    for blob in ["referred", "unused"] {
        assert_eq!(request(&server, "PUT", &path_of(blob.as_bytes()), &[], blob.as_bytes()).status, 201);
    }
    let reference = format!("/documents/{}{}", id(1), path_of(b"referred"));
    assert_eq!(request(&server, "PUT", &reference, &[], b"").status, 204);
    assert_eq!(
        request(&server, "PUT", &path_of(b"unfinished"), &[("upload-complete", "?0")], b"unf").status,
        204
    );
    server.kill();
    // What a crash may leave.
    world.write("store/blobs/uploads/leftover", "text");
    world.write(format!("store/blobs/00/{}", "0".repeat(62)), "text");
    let server = start_with(&world, "unused-blob-days = 0\n");
    wait::until("one blob", || count_files(&world.path("store/blobs")) == 1);
    assert_eq!(request(&server, "GET", &path_of(b"referred"), &[], b"").body, b"referred");
    assert_eq!(request(&server, "GET", &path_of(b"unused"), &[], b"").status, 404);
    let unfinished = request(&server, "HEAD", &path_of(b"unfinished"), &[], b"");
    assert_eq!(unfinished.header("upload-offset"), "0");
}

#[test]
fn exports_have_the_blobs() {
    let world = World::new();
    let server = Server::start(&world);
    create_document(&server, &id(1), "");
    let large = bytes(200_000);
    for blob in [&large[..], b"unused", b"rotten"] {
        assert_eq!(request(&server, "PUT", &path_of(blob), &[], blob).status, 201);
    }
    for blob in [&large[..], b"rotten"] {
        let reference = format!("/documents/{}{}", id(1), path_of(blob));
        assert_eq!(request(&server, "PUT", &reference, &[], b"").status, 204);
    }
    server.kill();
    fs::write(file_of(&world, b"rotten"), "otten").expect("a file");
    let done = world.serve(&["export", "copy", "--data", "store"]);
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.text().ends_with(", 2 blobs, 200006 bytes, 1 damaged\n"), "{done:?}");
    let hash = digest(&large);
    let copied = world.path(format!("copy/blobs/{}/{}", &hash[..2], &hash[2..]));
    assert_eq!(fs::read(copied).expect("a file"), large);
    let done = world.serve(&["import", "copy", "--data", "other"]);
    let text = done.quiet_success();
    assert!(text.ends_with(", 2 blobs, 200006 bytes\n"), "{text}");
    let mut command = Command::new(hashmill());
    let child = world.start(command.args(["serve", "--listen", "127.0.0.1:0", "--data", "other"]));
    drop(child);
}

/// The examples of the page run as a reader runs them.
#[test]
fn the_examples_of_the_documentation_work() {
    let world = World::new();
    let server = start_with(&world, &identity("ann", "\"*\" = \"write\""));
    create_document(&server, &id(1), &token("ann"));
    let block = |language: &str| {
        let start = PAGE.find(&format!("```{language}\n")).expect("a block") + language.len() + 4;
        &PAGE[start..start + PAGE[start..].find("```").expect("its end")]
    };
    world.write("photo.jpg", bytes(300_000));
    let commands = block("sh").replace("https://sync.example.org", &format!("http://{}", server.address));
    let prelude = format!(
        "set -e\nTOKEN='{}'\nDOC={}\nexport PATH=\"{}:$PATH\"\n",
        token("ann"),
        id(1),
        hashmill().parent().expect("a folder").display()
    );
    if Command::new("curl").arg("--version").output().is_ok() {
        let done = world.run(Path::new("bash"), ["-c", &format!("{prelude}{commands}")], b"");
        assert_eq!(done.code(), 0, "{done:?}");
        assert_eq!(fs::read(world.path("copy.jpg")).expect("a file"), bytes(300_000));
    } else {
        skip("the examples of blobs with curl", "it is not installed");
    }
    if Command::new("node").arg("--version").output().is_ok() {
        let blob = bytes(1_500_000);
        world.write("blob", &blob);
        // The server has a part of it from an interrupted upload.
        let (name, value) = ("authorization", format!("Bearer {}", token("ann")));
        let part = [(name, value.as_str()), ("upload-complete", "?0")];
        assert_eq!(request(&server, "PUT", &path_of(&blob), &part, &blob[..700_000]).status, 204);
        let call = format!(
            "{}\nimport {{ readFileSync }} from \"node:fs\";\nconst bytes = new Uint8Array(readFileSync(\"blob\"));\n\
             await putBlob(\"http://{}\", {:?}, \"{}\", {:?}, bytes);\n\
             const back = await getBlob(\"http://{}\", {:?}, {:?});\nif (Buffer.compare(back, bytes) !== 0) throw 1;\n",
            block("js"),
            server.address,
            token("ann"),
            id(1),
            digest(&blob),
            server.address,
            token("ann"),
            digest(&blob),
        );
        world.write("example.mjs", call);
        let done = world.run(Path::new("node"), ["example.mjs"], b"");
        assert_eq!((done.code(), done.err.as_str()), (0, ""), "{done:?}");
        let reference = format!("/documents/{}/blobs", id(1));
        let list = request(&server, "GET", &reference, &[(name, &value)], b"");
        assert!(list.text().contains(&digest(&blob)), "{list:?}");
    } else {
        skip("the example of blobs in JavaScript", "node is not installed");
    }
}

#[cfg(unix)]
#[test]
fn links_in_the_storage_are_not_followed() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    world.write("secret", "secret");
    let server = Server::start(&world);
    assert_eq!(request(&server, "PUT", &path_of(b"secret"), &[], b"secret").status, 201);
    let file = file_of(&world, b"secret");
    fs::remove_file(&file).expect("a file");
    symlink(world.path("secret"), &file).expect("a link");
    assert_eq!(request(&server, "GET", &path_of(b"secret"), &[], b"").status, 500);
    assert_eq!(request(&server, "PUT", &path_of(b"secret"), &[], b"secret").status, 503);
    assert_eq!(fs::read(world.path("secret")).expect("a file"), b"secret");
    server.kill();
    fs::rename(world.path("store/blobs"), world.path("elsewhere")).expect("a folder");
    symlink(world.path("elsewhere"), world.path("store/blobs")).expect("a link");
    let mut command = Command::new(hashmill());
    let child = world.start(command.args(["serve", "--listen", "127.0.0.1:0", "--data", "store"]));
    let done = crate::world::finish(child);
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.err.contains("it is a symbolic link"), "{done:?}");
}
