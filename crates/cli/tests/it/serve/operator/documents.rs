//! Documents and connections as the operator sees them, and interventions.

use super::super::{Server, Socket, client, put, wait_for};
use super::{Operator, id, start, writer};
use crate::world::World;
use hashmill_doc::{CommitOptions, ROOT, Transactable as _};
use hashmill_repo::SyncStatus;
use hashmill_testkit::{Rng, wait};
use serde_json::{Value, json};

/// The ids of all pages of a list.
fn all_pages(operator: &Operator, query: &str) -> Vec<String> {
    let (mut ids, mut after) = (Vec::new(), String::new());
    loop {
        let page = operator.value(&format!("/admin/documents?limit=1&{query}{after}"));
        for row in page["documents"].as_array().expect("a list") {
            ids.push(row["document"].as_str().expect("an id").to_owned());
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return ids,
        }
        assert!(ids.len() < 10, "pages without end");
    }
}

#[test]
fn documents_are_listed_page_by_page() {
    let world = World::new();
    let server = Server::start(&world);
    let operator = Operator::new(&world);
    let clients: Vec<_> = (1..=3)
        .map(|number| writer(&server, "ann", &id(number), vec![7; usize::from(number) * 1000]))
        .collect();
    let mut sorted: Vec<String> = (1..=3).map(|number| id(number).to_string()).collect();
    let by_size: Vec<String> = sorted.iter().rev().cloned().collect();
    sorted.sort();
    assert_eq!(all_pages(&operator, "state=open&order=id"), sorted);
    assert_eq!(all_pages(&operator, "state=stored"), sorted);
    assert_eq!(all_pages(&operator, "state=open&order=size"), by_size);
    assert_eq!(all_pages(&operator, "state=stored&order=size"), by_size);
    assert_eq!(all_pages(&operator, "state=open&order=activity").len(), 3);
    assert!(all_pages(&operator, "state=deleted").is_empty());
    assert_eq!(
        operator.post(&format!("/admin/documents/{}/delete", id(2))),
        (200, json!({ "outcome": "done", "document": id(2).to_string() }))
    );
    let deleted = operator.value("/admin/documents?state=deleted");
    let row = &deleted["documents"][0];
    assert_eq!((&row["document"], &row["deleted"]["is_purged"]), (&json!(id(2).to_string()), &json!(false)));
    let time = |name: &str| row["deleted"][name].as_u64().expect("a time");
    assert_eq!(time("purged_from") - time("at"), 30 * 86_400);
    assert_eq!(all_pages(&operator, "state=stored").len(), 2);
    let details = operator.value(&format!("/admin/documents/{}", id(2)));
    assert_eq!((&details["state"], &details["heads"]), (&json!("deleted"), &Value::Null));
    drop(clients);
    server.kill();
}

#[test]
fn a_document_is_seen_with_its_clients_and_history() {
    let world = World::new();
    let server = Server::start(&world);
    let operator = Operator::new(&world);
    let (mut ann, mut to_ann) = writer(&server, "ann", &id(1), vec![1]);
    let doc = ann.document_mut(&id(1)).expect("it was added");
    let options = CommitOptions::default().with_message("a <b>message</b>").with_time(1_700_000_000);
    doc.transact_with(&options, |tx| {
        tx.put(ROOT, "a", 1_i64)?;
        tx.put(ROOT, "b", 2_i64)
    })
    .expect("there is room");
    let head = doc.get_heads()[0].to_string();
    wait_for(&mut to_ann, &mut ann, &id(1), SyncStatus::InSync);
    let (mut ben, mut to_ben) = (client("ben", &id(1)), server.connect());
    wait_for(&mut to_ben, &mut ben, &id(1), SyncStatus::InSync);
    ann.broadcast(&id(1), vec![0x40]);
    to_ann.exchange(&mut ann).expect("an open socket");
    let path = format!("/admin/documents/{}", id(1));
    wait::until("presence", || operator.value(&path)["participants"][0]["presence_messages"] == 1);
    let details = operator.value(&format!("{path}?changes=1"));
    assert_eq!((&details["state"], &details["heads"]), (&json!("open"), &json!([head])));
    assert_eq!(
        (&details["changes"], &details["operations"], &details["clients"]),
        (&json!(2), &json!(3), &json!(2))
    );
    assert_eq!(details["owner"], "anonymous");
    let history = details["history"].as_array().expect("a list");
    let [change] = &history[..] else { panic!("{history:?}") };
    assert_eq!(
        (&change["message"], &change["time"], &change["operations"], &change["seq"]),
        (&json!("a <b>message</b>"), &json!(1_700_000_000), &json!(2), &json!(2))
    );
    let seen: Vec<_> = details["participants"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| (&row["peer"], &row["access"]))
        .collect();
    assert_eq!(seen, [(&json!("ann"), &json!("write")), (&json!("ben"), &json!("write"))]);
    // The same from the storage, when it is not in memory.
    for connection in operator.value("/admin/connections")["connections"].as_array().expect("a list") {
        let path = format!("/admin/connections/{}/close", connection["connection"]);
        assert_eq!(operator.post(&path).0, 200);
    }
    to_ann.wait_for_close();
    to_ben.wait_for_close();
    assert_eq!(operator.post(&format!("{path}/evict")).0, 200);
    assert_eq!(operator.post(&format!("{path}/evict")).1["code"], "absent");
    let stored = operator.value(&format!("{path}?changes=1"));
    assert_eq!(stored["state"], "stored");
    for name in ["heads", "history", "changes", "operations", "bytes", "chunk_list", "owner"] {
        assert_eq!(stored[name], details[name], "{name}");
    }
    assert_eq!(operator.value("/admin/server")["usage"]["documents_open"], 0, "it is not loaded for that");
    assert_eq!(operator.post(&format!("{path}/compact")).0, 200);
    let compacted = operator.value(&path);
    assert_eq!((&compacted["chunks"], &compacted["heads"]), (&json!(1), &details["heads"]));
    server.kill();
}

#[test]
fn connections_have_their_origin() {
    let world = World::new();
    let server = Server::start(&world);
    let operator = Operator::new(&world);
    let long = "x".repeat(5000);
    let mut sockets = Vec::new();
    for agent in ["samod/1", &long] {
        sockets.push(Socket::try_open(&server.address, "/", &[("user-agent", agent)]).expect("a socket"));
        // Each has its number only now.
        wait::until("the connection", || {
            let rows = operator.value("/admin/connections")["connections"].as_array().map(Vec::len);
            rows == Some(sockets.len())
        });
    }
    let first = operator.value("/admin/connections?limit=1");
    let row = &first["connections"][0];
    assert_eq!(
        (&row["agent"], &row["address"], &row["peer"]),
        (&json!("samod/1"), &json!("127.0.0.1"), &Value::Null)
    );
    let next = first["next"].as_str().expect("a second page");
    let second = operator.value(&format!("/admin/connections?limit=1&after={next}"));
    assert_eq!(second["connections"][0]["agent"].as_str().map(str::len), Some(200));
    assert_eq!(second["next"], Value::Null);
    server.kill();
}

#[test]
fn a_quarantine_is_seen_and_ended() {
    let world = World::new();
    let server = start(&world, "max-document-mib = 1\n");
    let operator = Operator::new(&world);
    let (mut ann, mut socket) = writer(&server, "ann", &id(1), vec![1]);
    put(&mut ann, &id(1), Rng::new(1).bytes(2 << 20));
    wait_for(&mut socket, &mut ann, &id(1), SyncStatus::ReadOnlyPeer);
    let list = operator.value("/admin/documents?state=quarantined");
    let reason = list["documents"][0]["quarantine"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("larger than 1048576 bytes"), "{reason}");
    let open = operator.value("/admin/documents");
    assert_eq!(open["documents"][0]["is_quarantined"], true);
    let path = format!("/admin/documents/{}", id(1));
    assert_eq!(operator.value(&path)["quarantine"]["reason"], list["documents"][0]["quarantine"]["reason"]);
    assert_eq!(operator.post(&format!("{path}/end-quarantine")).0, 200);
    assert_eq!(operator.value("/admin/server")["usage"]["documents_quarantined"], 0);
    drop(socket);
    server.kill();
}

/// `list` and `show` say the same about a running server and about its storage.
#[test]
fn lists_are_the_same_with_and_without_a_server() {
    let world = World::new();
    world.serve(&["list", "--data", "none"]).failure(1, &["none: no storage of hashmill serve is there"]);
    let server = Server::start(&world);
    for number in 1..=3 {
        drop(writer(&server, "ann", &id(number), vec![number; 100]));
    }
    world.serve(&["delete", &id(3).to_string(), "--data", "store"]).quiet_success();
    let run = |args: &[&str]| world.serve(&[args, &["--data", "store"]].concat()).quiet_success();
    let shown = id(1).to_string();
    let arguments: [&[&str]; 4] =
        [&["list"], &["list", "--json"], &["list", "--deleted", "--json"], &["show", &shown, "--json"]];
    let running = arguments.map(run);
    let text = run(&["show", &shown]);
    let deleted = run(&["list", "--deleted"]);
    server.kill();
    let offline = arguments.map(run);
    assert_eq!(running[..2], offline[..2]);
    assert_eq!(running[0].lines().count(), 2, "{}", running[0]);
    assert!(running[0].lines().all(|line| line.ends_with("1 parts  anonymous")), "{}", running[0]);
    let parse = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let (mut before, after) = (parse(&running[2]), parse(&offline[2]));
    assert!(before["deleted"]["purged_from"].is_number());
    before["deleted"]["purged_from"] = Value::Null;
    assert_eq!(before["deleted"], after["deleted"]);
    let (before, after) = (parse(&running[3]), parse(&offline[3]));
    for name in ["document", "bytes", "heads", "changes", "history", "owner", "chunk_list"] {
        assert_eq!(before[name], after[name], "{name}");
    }
    assert!(text.starts_with(&format!("document   {}\nstate      ", id(1))), "{text}");
    assert!(text.contains("\nchanges    1 with 1 operations of 1 actors\nhead       "), "{text}");
    assert!(
        deleted.starts_with(&format!("{}  deleted 2", id(3))) && deleted.contains("removed from"),
        "{deleted}"
    );
    world.serve(&["show", "zzz", "--data", "store"]).failure(2, &["zzz: not the id or URL of a document"]);
    let absent = format!("{}: there is no such document", id(9));
    world.serve(&["show", &id(9).to_string(), "--data", "store"]).failure(1, &[&absent]);
}
