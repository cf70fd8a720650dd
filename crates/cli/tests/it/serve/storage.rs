//! A storage that fails: nothing is confirmed, reads go on, and it recovers without a restart.

use super::{Server, client, put, wait_for};
use crate::world::{World, hashmill};
use hashmill_repo::{DocumentId, SyncStatus};
use hashmill_testkit::Rng;
use std::process::Command;

/// The file may not grow beyond a limit, as on a full disk, until the limit is lifted.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_refuses_changes_until_there_is_room() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    let world = World::new();
    let mut shell = Command::new("sh");
    // The signal of the limit is ignored, so that writes fail instead.
    let limited = "trap '' XFSZ; ulimit -S -f 8192; exec \"$0\" serve \"$@\"";
    let server = Server::start_with(&world, shell.args(["-c", limited]).arg(hashmill()), &[]);
    let ids = [1, 2].map(|number| DocumentId::from_random_bytes([number; 16]));
    let mut rng = Rng::new(1);
    let (mut first, mut second) = (client("first", &ids[0]), client("second", &ids[1]));
    let (mut to_first, mut to_second) = (server.connect(), server.connect());
    put(&mut second, &ids[1], vec![1]);
    wait_for(&mut to_second, &mut second, &ids[1], SyncStatus::InSync);
    put(&mut first, &ids[0], vec![1]);
    wait_for(&mut to_first, &mut first, &ids[0], SyncStatus::InSync);
    put(&mut first, &ids[0], rng.bytes(8 << 20));
    wait_for(&mut to_first, &mut first, &ids[0], SyncStatus::ReadOnlyPeer);
    assert_eq!((server.status("/healthz"), server.status("/readyz")), (200, 503));
    // Both documents can be read, one of them with an older state.
    for id in &ids {
        let mut reader = client("reader", id);
        let mut socket = server.connect();
        wait_for(&mut socket, &mut reader, id, SyncStatus::InSync);
        assert_eq!(reader.document(id).expect("it was added").stats().changes, 1);
    }
    let none = Rlimit { current: None, maximum: None };
    prlimit(Some(Pid::from_child(&server.child)), Resource::Fsize, none).expect("its own process");
    wait_for(&mut to_first, &mut first, &ids[0], SyncStatus::InSync);
    assert_eq!(server.status("/readyz"), 200);
    server.kill();
    let server = Server::start(&world);
    let mut reader = client("reader", &ids[0]);
    let mut socket = server.connect();
    wait_for(&mut socket, &mut reader, &ids[0], SyncStatus::InSync);
    assert_eq!(reader.document(&ids[0]).expect("it was added").stats().changes, 2);
}
