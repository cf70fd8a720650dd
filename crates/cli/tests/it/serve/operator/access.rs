//! Access to requests of the operator: tokens, addresses, pages of other sites.

use super::super::Server;
use super::{Operator, id, raw_get, start, writer};
use crate::world::{World, hashmill};
use std::io::Read as _;
#[cfg(unix)]
use std::process::Command;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn requests_of_pages_proxies_and_others_are_refused() {
    let world = World::new();
    let server = Server::start(&world);
    let operator = Operator::new(&world);
    let host = operator.address.clone();
    let status = |method: &str, path: &str, headers: &str| operator.send(method, path, headers, "").0;
    assert_eq!(status("GET", "/admin/server", ""), 200);
    assert_eq!(
        status("GET", "/admin/server", &format!("origin: http://{host}\r\nsec-fetch-site: same-origin\r\n")),
        200
    );
    for headers in [
        "origin: http://example.org\r\n",
        "origin: null\r\n",
        "sec-fetch-site: cross-site\r\n",
        "x-forwarded-for: 192.0.2.1\r\n",
    ] {
        assert_eq!(status("GET", "/admin/server", headers), 403, "{headers}");
        assert_eq!(status("POST", "/admin/server/stop", headers), 403, "{headers}");
    }
    // A page can have a name that leads to this machine.
    for wrong in ["example.org", "127.0.0.1.example.org", "192.0.2.1", ""] {
        let answer = raw_get(&server.address, "/admin/server", wrong, TOKEN);
        assert!(answer.starts_with("HTTP/1.1 403"), "{wrong}: {answer}");
        assert!(answer.contains("\"code\":\"wrong-host\""), "{answer}");
    }
    let answer = raw_get(&server.address, "/admin/server", &host, TOKEN);
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("\"code\":\"wrong-token\""), "{answer}");
    // The dashboard is there without a token, has no data, and no other page shows it.
    for path in ["/admin/", "/admin/page.js", "/admin/page.css"] {
        let answer = raw_get(&server.address, path, &host, TOKEN);
        let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
        assert!(head.starts_with("HTTP/1.1 200") && body.len() > 1000, "{path}");
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(header), "{path}: {header}: {head}");
        }
        assert!(!head.contains("access-control"), "{head}");
    }
    assert!(raw_get(&server.address, "/admin", &host, TOKEN).contains("location: /admin/"));
    assert!(raw_get(&server.address, "/admin/", "example.org", TOKEN).starts_with("HTTP/1.1 403"));
    server.kill();
}

/// Lets users of the machine read a file, or its owner alone.
#[cfg(unix)]
fn set_mode(world: &World, name: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(world.path(name), std::fs::Permissions::from_mode(mode)).expect("our file");
}

#[test]
#[cfg(unix)]
fn tokens_of_a_file_and_of_the_environment_stay_the_same() {
    let world = World::new();
    world.write("token", format!("{TOKEN}\n"));
    set_mode(&world, "token", 0o600);
    let in_environment = "environment-0123456789abcdef0123456789";
    world.write("settings.toml", "admin-token-file = \"token\"\n");
    for _ in 0..2 {
        let mut command = Command::new(hashmill());
        command.arg("serve").env("HASHMILL_ADMIN_TOKEN", in_environment);
        let server = Server::start_with(&world, &mut command, &["--settings", "settings.toml"]);
        let of_start = Operator::new(&world);
        for token in [TOKEN, in_environment, &of_start.token] {
            let operator = Operator { address: server.address.clone(), token: token.to_owned() };
            assert_eq!(operator.get("/admin/server").0, 200);
        }
        server.kill();
    }
    set_mode(&world, "token", 0o644);
    let refusal = |code, line: &str| {
        world.serve(&["--data", "store", "--settings", "settings.toml"]).failure(code, &[line]);
    };
    refusal(2, "token: every user of this machine may read its secrets: chmod 600 it");
    set_mode(&world, "token", 0o600);
    world.write("token", "short\n");
    refusal(
        2,
        "token: a token of the operator is one line of 32 or more letters, digits and signs, such as the output of openssl rand -hex 32",
    );
    world.write("settings.toml", "admin-token-file = \"none\"\n");
    refusal(1, "none: No such file or directory (os error 2)");
}

#[test]
fn an_own_listener_takes_the_requests_of_the_operator_alone() {
    let world = World::new();
    let server = start(&world, "admin-listen = \"127.0.0.1:0\"\nadmin-hosts = [\"admin.example.org\"]\n");
    let operator = Operator::new(&world);
    assert_ne!(operator.address, server.address);
    assert_eq!(operator.value("/admin/server")["address"], server.address);
    let (status, head, _) = operator.send("GET", "/admin/server", "x-forwarded-for: 192.0.2.1\r\n", "");
    assert_eq!(status, 200, "{head}");
    assert!(server.get("/admin/server").starts_with("HTTP/1.1 404"));
    assert_eq!(operator.send("GET", "/metrics", "", "").0, 404);
    let upgrade =
        "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    assert_eq!(operator.send("GET", "/", upgrade, "").0, 404);
    // The local commands find it.
    let (_client, _socket) = writer(&server, "ann", &id(1), vec![1]);
    world.serve(&["delete", &id(1).to_string(), "--data", "store"]).quiet_success();
    server.kill();
    world.write("settings.toml", "admin-listen = \"0.0.0.0:0\"\n");
    let done = world.serve(&["--data", "store", "--settings", "settings.toml"]);
    let line = "admin-listen: other machines may reach this address: set admin-token-file or HASHMILL_ADMIN_TOKEN, or an address of this \
                machine alone such as 127.0.0.1:3031";
    done.failure(2, &[line]);
}

#[test]
fn requests_that_are_not_sound_are_named() {
    let world = World::new();
    let server = Server::start(&world);
    let operator = Operator::new(&world);
    // Pages of any size are bounded, and marks behind the end are the end.
    for query in ["limit=99999999999999999999999", "after=99999999&order=size", "state=stored&after=zzzz"] {
        let value = operator.value(&format!("/admin/documents?{query}"));
        assert_eq!(value["documents"].as_array().map(Vec::len), Some(0), "{query}");
    }
    let absent = id(9);
    for (method, path, status, code) in [
        ("GET", "/admin/nothing".to_owned(), 404, "unknown-path"),
        ("GET", "/admin/documents/zzz".to_owned(), 400, "wrong-document"),
        ("GET", format!("/admin/documents/{absent}"), 404, "absent"),
        ("POST", format!("/admin/documents/{absent}"), 405, "wrong-method"),
        ("DELETE", format!("/admin/documents/{absent}"), 405, "wrong-method"),
        ("POST", format!("/admin/documents/{absent}/delete"), 404, "absent"),
        ("POST", format!("/admin/documents/{absent}/undelete"), 404, "absent"),
        ("POST", format!("/admin/documents/{absent}/compact"), 404, "absent"),
        ("POST", format!("/admin/documents/{absent}/end-quarantine"), 409, "not-due"),
        ("POST", "/admin/connections/77/close".to_owned(), 404, "absent"),
        ("POST", "/admin/connections/18446744073709551616/close".to_owned(), 400, "wrong-connection"),
        ("GET", "/admin/documents?limit=-1".to_owned(), 400, "wrong-parameter"),
        ("GET", "/admin/documents?order=size&after=x".to_owned(), 400, "wrong-parameter"),
        ("GET", "/admin/documents?state=quarantined&after=x".to_owned(), 400, "wrong-parameter"),
        ("GET", "/admin/documents?unknown=1".to_owned(), 400, "unknown-parameter"),
        ("GET", "/admin/documents?state=deleted&order=size".to_owned(), 400, "unknown-order"),
    ] {
        let (found, value) = operator.request(method, &path);
        assert_eq!((found, &value["code"]), (status, &code.into()), "{method} {path}: {value}");
        assert!(value["error"].is_string(), "{value}");
    }
    // A body of any size is not read.
    let mut stream =
        operator.start("POST", "/admin/server/stop", "expect: nothing\r\n", &"x".repeat(1 << 20));
    let mut answer = String::new();
    // The server closes a connection with unread data.
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.contains("413") && answer.contains("body-too-large"), "{answer}");
    assert_eq!(operator.send("POST", "/admin/server/stop", "", "{}").0, 413);
    assert_eq!(operator.get("/admin/server").0, 200, "it runs");
    server.kill();
}

#[test]
#[cfg(unix)]
fn a_server_stops_at_the_operators_word() {
    use crate::world::finish;
    let world = World::new();
    let server = Server::start(&world);
    let (_client, _socket) = writer(&server, "ann", &id(1), vec![1]);
    assert_eq!(Operator::new(&world).post("/admin/server/stop").0, 202);
    let done = finish(server.child);
    assert_eq!(done.code(), 0, "{done:?}");
    let done = world.serve(&["check", "--data", "store"]);
    assert!(done.quiet_success().starts_with("checked store: 1 documents"));
}
