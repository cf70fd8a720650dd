//! Clients behind a proxy: their addresses come from its headers, and from no others.

use super::start;
use crate::serve::{Server, Socket};
use crate::world::World;
use hashmill_testkit::wait;

const LIMIT: &str = "max-connections-per-address = 2\n";

/// Opens a socket with a header of a proxy. `Err`: the status.
fn open(server: &Server, header: &str, value: &str) -> Result<Socket, u16> {
    Socket::try_open(&server.address, "/", &[(header, value)]).map_err(|(status, _)| status)
}

#[test]
fn limits_count_clients_behind_a_trusted_proxy() {
    let world = World::new();
    let server = start(&world, &format!("{LIMIT}trusted-proxies = [\"127.0.0.0/8\", \"10.0.0.0/8\"]\n"));
    let first = open(&server, "x-forwarded-for", "198.51.100.7").expect("room");
    // The client wrote the first address, and a second proxy of ours the last one.
    let second = open(&server, "x-forwarded-for", "192.0.2.1, 198.51.100.7, 10.0.0.3").expect("room");
    assert_eq!(open(&server, "x-forwarded-for", "198.51.100.7").err(), Some(429));
    assert_eq!(open(&server, "forwarded", "for=\"198.51.100.7:4711\";proto=https").err(), Some(429));
    let other = open(&server, "forwarded", "for=\"[2001:db8::7]\"").expect("room");
    drop(first);
    wait::until("room", || open(&server, "x-forwarded-for", "198.51.100.7").is_ok());
    drop((second, other));
}

#[test]
fn headers_of_others_count_for_nothing() {
    let world = World::new();
    let server = start(&world, &format!("{LIMIT}trusted-proxies = [\"10.0.0.0/8\"]\n"));
    let _first = open(&server, "x-forwarded-for", "198.51.100.7").expect("room");
    let _second = open(&server, "forwarded", "for=198.51.100.8").expect("room");
    assert_eq!(open(&server, "x-forwarded-for", "198.51.100.9").err(), Some(429));
}

#[test]
#[cfg(unix)]
fn unreadable_headers_are_reported_and_messages_name_clients() {
    let world = World::new();
    let digest = "00".repeat(32);
    let settings = format!(
        "{LIMIT}trusted-proxies = [\"127.0.0.1\"]\nanonymous = \"read\"\n[[identity]]\nname = \"ann\"\ntoken-sha256 = \"{digest}\"\n"
    );
    let server = start(&world, &settings);
    // The address of the proxy counts.
    let _first = open(&server, "x-forwarded-for", "198.51.100").expect("room");
    let _second = open(&server, "forwarded", "for=\"").expect("room");
    let both = [("x-forwarded-for", "198.51.100.7"), ("forwarded", "for=192.0.2.1")];
    let refused = Socket::try_open(&server.address, "/", &both).err().expect("no room");
    assert_eq!(refused.0, 429);
    let token = [("x-forwarded-for", "198.51.100.7"), ("authorization", "Bearer wrong")];
    assert_eq!(Socket::try_open(&server.address, "/", &token).err().expect("no token").0, 401);
    let err = server.stop().err;
    let unclear = "the proxy at 127.0.0.1 does not name its client, and counts as one: ";
    for expected in [
        &format!("{unclear}the last address in X-Forwarded-For cannot be read\n"),
        &format!("{unclear}the last address in Forwarded cannot be read\n"),
        &format!("{unclear}X-Forwarded-For and Forwarded name different clients: let the proxy"),
        "the client at 198.51.100.7 was refused: the token is unknown",
    ] {
        assert_eq!(err.matches(expected).count(), 1, "{expected}: {err}");
    }
}
