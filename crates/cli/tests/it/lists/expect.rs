//! `--expect`: one file and a published digest.

use crate::world::{World, digest};

const FOO_SHA256: &str = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
const FOO_MD5: &str = "acbd18db4cc2f85cedef654fccc4a4d8";

#[test]
fn compares_digests_of_any_function_and_form() {
    let world = World::new();
    world.write("f", "foo").write("d/f", "foo");
    let blake3 = digest(b"foo");
    for expected in [
        blake3.clone(),
        blake3.to_uppercase(),
        format!(" {blake3}\n"),
        format!("blake3:{blake3}"),
        FOO_SHA256.to_owned(),
        format!("sha256:{FOO_SHA256}"),
        format!("SHA-256: {FOO_SHA256}"),
        FOO_MD5.to_owned(),
    ] {
        assert_eq!(world.sum(["--expect", &expected, "f"]).quiet_success(), "f: OK\n", "{expected}");
        assert_eq!(world.sum(["--expect", &expected, "-q", "f"]).quiet_success(), "");
    }
    assert_eq!(world.sum_with(["--expect", &blake3], b"foo").quiet_success(), "-: OK\n");
    assert_eq!(
        world.sum_with(["--expect", &format!("sha256:{FOO_SHA256}"), "-"], b"foo").quiet_success(),
        "-: OK\n"
    );
    let tree = world.sum(["--tree", "--no-names", "d"]).quiet_success();
    assert_eq!(world.sum(["--tree", "--expect", &tree, "d"]).quiet_success(), "d: OK\n");
    let long = world.sum(["-l", "50", "--no-names", "f"]).quiet_success();
    assert_eq!(world.sum(["-l", "50", "--expect", &long, "f"]).quiet_success(), "f: OK\n");
}

#[test]
fn shows_found_and_expected_digest() {
    let world = World::new();
    world.write("f", "foo").write("d/g", "");
    let (foo, bar) = (digest(b"foo"), digest(b"bar"));
    let found = format!("f: expected {bar}, found {foo} (BLAKE3), {FOO_SHA256} (SHA-256)");
    assert_eq!(world.sum(["--expect", &bar, "f"]).failure(1, &[&found]), "f: FAILED\n");
    let found = format!("f: expected {bar}, found {FOO_SHA256} (SHA-256)");
    let out = world.sum(["--expect", &bar, "--algorithm", "sha256", "f"]).failure(1, &[&found]);
    assert_eq!(out, "f: FAILED\n");
    // Standard input can be read once.
    let found = format!("-: expected {FOO_SHA256}, found {foo} (BLAKE3)");
    let hint = "standard input was taken as BLAKE3; see --algorithm";
    world.sum_with(["--expect", FOO_SHA256], b"foo").failure(1, &[&found, hint]);
    world.sum(["--expect", &bar, "none"]).failure(1, &["none: No such file or directory (os error 2)"]);
    world.sum(["--expect", &bar, "d"]).failure(1, &["d: Is a directory (os error 21)"]);
    let text = world.sum(["--json", "--expect", &foo, "f"]).quiet_success();
    let object: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let expected = serde_json::json!({ "path": "f", "status": "ok", "algorithm": "blake3", "expected": foo });
    assert_eq!(object, expected);
    let done = world.sum(["--json", "--expect", &bar, "f"]);
    assert_eq!(done.code(), 1);
    assert!(done.text().contains(r#""status":"failed""#), "{}", done.text());
}
