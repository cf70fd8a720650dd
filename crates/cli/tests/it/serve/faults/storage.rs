//! A storage that fails: nothing is confirmed, reads go on, and it recovers without a restart.

use crate::serve::{Server, client, put, wait_for};
use crate::world::{World, hashmill};
use hashmill_repo::{DocumentId, SyncStatus};
use hashmill_testkit::Rng;
#[cfg(target_os = "linux")]
use hashmill_testkit::{skip, wait};
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

/// A small file system below the folder of the storage. It is unmounted with this value.
#[cfg(target_os = "linux")]
struct SmallDisk(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    /// The reason if the system refuses it.
    fn mount(world: &World) -> Result<SmallDisk, String> {
        use rustix::mount::{MountFlags, mount};

        let path = world.path("store");
        std::fs::create_dir(&path).expect("a new folder");
        let flags = MountFlags::NODEV | MountFlags::NOSUID;
        mount("none", &path, "tmpfs", flags, Some(c"size=8m,mode=700")).map_err(|error| error.to_string())?;
        Ok(SmallDisk(path))
    }

    fn resize(&self, data: &std::ffi::CStr) {
        use rustix::mount::{MountFlags, mount_remount};

        mount_remount(&self.0, MountFlags::NODEV | MountFlags::NOSUID, data).expect("its own mount");
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The server may still run if the test has failed.
        let _ = rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH);
    }
}

/// Clients write until a real file system is full. It gets room while the server runs, and is filled again until it does not.
#[test]
#[cfg(target_os = "linux")]
fn clients_fill_a_disk_and_lose_nothing_that_was_confirmed() {
    let world = World::new();
    let disk = match SmallDisk::mount(&world) {
        Ok(disk) => disk,
        Err(reason) => return skip("a file system that is full", &format!("mounting tmpfs: {reason}")),
    };
    let mut server = Server::start(&world);
    let ids = [1, 2, 3].map(|number| DocumentId::from_random_bytes([number; 16]));
    let mut rng = Rng::new(1);
    let mut clients = ids.each_ref().map(|id| client(&format!("of {id}"), id));
    let mut confirmed: [Vec<_>; 3] = Default::default();
    for (round, larger) in [c"size=24m", c"size=96m"].into_iter().enumerate() {
        let mut sockets = ids.each_ref().map(|_| server.connect());
        clients.iter_mut().for_each(|client| client.connect());
        wait::until("a full disk", || {
            for (number, (client, socket)) in clients.iter_mut().zip(&mut sockets).enumerate() {
                let has_all = client.status(&ids[number]) == Some(SyncStatus::InSync);
                if has_all || client.document(&ids[number]).expect("it was added").get_heads().is_empty() {
                    put(client, &ids[number], rng.bytes(60_000));
                }
                socket.exchange(client).expect("an open socket");
                let heads = client.conversation(&ids[number]).expect("it was added").their_heads();
                confirmed[number].extend(heads.unwrap_or_default().iter().copied());
            }
            ids.iter().zip(&clients).all(|(id, client)| client.status(id) == Some(SyncStatus::ReadOnlyPeer))
        });
        assert_eq!((server.status("/healthz"), server.status("/readyz")), (200, 503));
        if round == 0 {
            disk.resize(larger);
        } else {
            server.kill();
            disk.resize(larger);
            server = Server::start(&world);
            sockets = ids.each_ref().map(|_| server.connect());
            clients.iter_mut().for_each(|client| client.connect());
        }
        for ((id, confirmed), (client, socket)) in
            ids.iter().zip(&confirmed).zip(clients.iter_mut().zip(&mut sockets))
        {
            let mut reader = crate::serve::client("reader", id);
            let mut reading = server.connect();
            wait_for(&mut reading, &mut reader, id, SyncStatus::InSync);
            let missing = reader.document(id).expect("it was added").get_missing_deps(confirmed);
            assert_eq!(missing, [], "round {round}: of {} confirmed heads", confirmed.len());
            wait_for(socket, client, id, SyncStatus::InSync);
        }
        assert_eq!(server.status("/readyz"), 200);
    }
}
