//! Tests that others wrote for sync servers and clients, with `hashmill serve` as the server.

use crate::node::Generation::{Newest, Next};
use crate::node::{Generation, Server, checkout, program_path, said};
use hashmill_testkit::size;
use serde_json::json;
use std::path::Path;

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of Unicode")
}

#[test]
fn tests_of_the_official_server_pass_with_ours() {
    let what = "the tests of Automerge's sync server";
    let Some(checkout) = checkout("AUTOMERGE_REPO_SYNC_SERVER", what) else { return };
    let data = tempfile::tempdir().expect("a directory");
    let tests = checkout.join("test");
    let said = said("suites/sync-server.mjs", [text(&tests), text(&program_path()), text(data.path())]);
    let passed = [
        "runs the server correctly",
        "can sync a document with the server and get back the same document",
        "withholds existing documents from new peers until they request them",
    ];
    assert_eq!(said, json!({"passed": passed, "failed": {}}));
}

/// Runs the acceptance tests of a generation of the library.
fn accept_adapters(generation: Generation) {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::ours(data.path(), None);
    let said = generation.said("suites/acceptance.mjs", [&server.url()]);
    let passed = ["can sync 2 repos", "can sync 3 repos", "should support reconnecting after disconnect"];
    assert_eq!(said, json!({"passed": passed, "failed": {}}));
}

#[test]
fn acceptance_tests_of_network_adapters_pass_through_our_server() {
    accept_adapters(Newest);
}

#[test]
fn acceptance_tests_of_the_next_network_adapters_pass_through_our_server() {
    accept_adapters(Next);
}

#[test]
fn acceptance_tests_of_storage_adapters_pass_on_exported_directories() {
    let folder = tempfile::tempdir().expect("a directory");
    let said = said("suites/storage.mjs", [text(&program_path()), text(folder.path())]);
    assert_eq!((&said["failed"], said["passed"].as_array().map(Vec::len)), (&json!({}), Some(10)), "{said}");
}

#[test]
fn fuzz_program_of_the_library_finds_nothing_with_our_servers_between_its_peers() {
    let what = "the fuzz program of automerge-repo";
    let Some(checkout) = checkout("AUTOMERGE_REPO", what) else { return };
    let data = tempfile::tempdir().expect("a directory");
    let rounds = size::of(40, 2000).to_string();
    let program = program_path();
    let args = [text(&checkout), text(&program), text(data.path()), &rounds];
    let said = Next.said("suites/fuzz.mjs", args);
    assert_eq!(said["compared"].to_string(), rounds);
}
