//! `lab report sign` and `lab check --signers` compared with `ssh-keygen`: each verifies the other's signatures.

use crate::program::{CommandResult, Folder, lab, result_of};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder with a report, keys of two people, and a file of signers with one of them.
struct Fixture(Folder);

impl Fixture {
    /// None if `ssh-keygen` is missing or cannot sign.
    fn new(test: &str) -> Option<Self> {
        let signs = Command::new("ssh-keygen").args(["-Y", "sign"]).stdin(Stdio::null()).output();
        if !signs.is_ok_and(|answer| !String::from_utf8_lossy(&answer.stderr).contains("unknown option")) {
            let reason = "no ssh-keygen that signs; Debian: apt-get install openssh-client";
            hashmill_testkit::skip(&format!("lab: signatures, {test}"), reason);
            return None;
        }
        let fixture = Fixture(Folder::new("signed"));
        let short = ["--sessions", "2", "--rounds", "2", "--sample-ms", "0.02", "--out"];
        let mut run = lab();
        run.args(["run", "chain/plain/kernel/100/t1"]).args(short).arg(fixture.path("run"));
        let measured = result_of(&mut run);
        assert_eq!(measured.code, Some(0), "{measured:?}");
        fs::copy(fixture.path("run/report.json"), fixture.path("r.json")).expect("it was written");
        for who in ["ann", "eve"] {
            fixture.keygen(&["-q", "-t", "ed25519", "-N", "", "-C", who, "-f", who], None);
        }
        fixture.allow(&format!("ann@example.org {}", fixture.public("ann")));
        Some(fixture)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn public(&self, who: &str) -> String {
        fs::read_to_string(self.path(&format!("{who}.pub"))).expect("a key was made")
    }

    fn allow(&self, line: &str) {
        fs::write(self.path("signers"), line).expect("a writable folder");
    }

    fn keygen(&self, args: &[&str], input: Option<&str>) -> CommandResult {
        let mut command = Command::new("ssh-keygen");
        let input = input.map_or_else(Stdio::null, |file| File::open(self.path(file)).expect("there").into());
        result_of(command.current_dir(self.path("")).args(args).stdin(input))
    }

    fn sign(&self, who: &str) -> CommandResult {
        result_of(lab().current_dir(self.path("")).args(["report", "sign", "r.json", "--key", who]))
    }

    fn check(&self, more: &[&str]) -> CommandResult {
        result_of(
            lab().current_dir(self.path("")).args(["check", "r.json", "--signers", "signers"]).args(more),
        )
    }

    /// Checks the reason on the line after `rejected`, and the exit code.
    fn refuses(&self, more: &[&str], reason: &str) {
        let result = self.check(more);
        assert_eq!((result.code, result.err.as_str()), (Some(1), ""), "{result:?}");
        let found: Vec<&str> = result.out.lines().filter(|line| line.contains("signature: ")).collect();
        assert!(matches!(found[..], [line] if line.contains(reason)), "{reason}: {}", result.out);
    }
}

#[test]
fn lab_and_ssh_keygen_verify_each_others_signatures() {
    let Some(fixture) = Fixture::new("both ways") else { return };
    let signed = fixture.sign("ann");
    assert_eq!(signed.code, Some(0), "{signed:?}");
    assert!(signed.out.starts_with("r.json.sig: signed with ED25519 key SHA256:"), "{}", signed.out);
    let plain =
        ["-Y", "verify", "-f", "signers", "-I", "ann@example.org", "-n", "hashmill-lab", "-s", "r.json.sig"];
    let verified = fixture.keygen(&plain, Some("r.json"));
    assert_eq!(verified.code, Some(0), "{verified:?}");

    fs::remove_file(fixture.path("r.json.sig")).expect("it was written");
    let sign = fixture.keygen(&["-Y", "sign", "-f", "ann", "-n", "hashmill-lab", "r.json"], None);
    assert_eq!(sign.code, Some(0), "{sign:?}");
    let named: [&[&str]; 2] = [&[], &["--identity", "ann@example.org"]];
    for more in named {
        let checked = fixture.check(more);
        assert_eq!(checked.code, Some(0), "{checked:?}");
        let who = "computed again, signed by ann@example.org with ED25519 key SHA256:";
        assert!(checked.out.contains(who), "{}", checked.out);
    }
}

#[test]
fn unsigned_reports_are_refused_in_one_line() {
    let Some(fixture) = Fixture::new("refusals") else { return };
    fixture.refuses(&[], "there is no r.json.sig");

    assert_eq!(fixture.sign("eve").code, Some(0));
    fixture.refuses(&[], "no signer in signers has the ED25519 key SHA256:");
    fixture.refuses(&["--identity", "ann@example.org"], "is not one of ann@example.org in signers");

    assert_eq!(fixture.sign("ann").code, Some(0), "the signature of before is replaced");
    fixture.refuses(&["--identity", "eve@example.org"], "is not one of eve@example.org in signers");
    fixture.allow(&format!("ann@example.org namespaces=\"git\" {}", fixture.public("ann")));
    fixture.refuses(&[], "does not count: signers:1: key is not permitted");

    fs::remove_file(fixture.path("r.json.sig")).expect("it was written");
    fixture.keygen(&["-Y", "sign", "-f", "ann", "-n", "git", "r.json"], None);
    fixture.refuses(&[], "its namespace is not hashmill-lab");
    fs::write(fixture.path("r.json.sig"), "signed, Ann\n").expect("a writable folder");
    fixture.refuses(&[], "is not a signature: ");
}

#[test]
fn a_report_that_was_sealed_again_has_lost_its_signature() {
    let Some(fixture) = Fixture::new("a change") else { return };
    assert_eq!(fixture.sign("ann").code, Some(0));
    let text = fs::read_to_string(fixture.path("r.json")).expect("copied");
    fs::write(fixture.path("r.json"), text + "\n").expect("a writable folder");
    let unsigned = result_of(lab().current_dir(fixture.path("")).args(["check", "r.json"]));
    assert_eq!(unsigned.code, Some(0), "it still follows from its sessions: {unsigned:?}");
    fixture.refuses(&[], "r.json.sig is for other data: the report was changed");
}

#[test]
fn errors_of_signing_are_one_line_and_leave_no_signature() {
    let Some(fixture) = Fixture::new("mistakes") else { return };
    let in_world = |args: &[&str]| result_of(lab().current_dir(fixture.path("")).args(args));
    let broken = fs::read_to_string(fixture.path("r.json")).expect("copied").replacen(
        "\"created\": \"2",
        "\"created\": \"3",
        1,
    );
    fs::write(fixture.path("broken.json"), broken).expect("a writable folder");
    let cases: [(&[&str], i32, &str); 6] = [
        (&["report", "sign", "nonesuch.json", "--key", "ann"], 2, "cannot read nonesuch.json"),
        (&["report", "sign", "r.json", "--key", "nonesuch"], 2, "r.json is not signed: "),
        (&["report", "sign", "r.json"], 2, "--key <FILE>"),
        (
            &["report", "sign", "broken.json", "--key", "ann"],
            4,
            "broken.json is not signed, because it has an error: ",
        ),
        (&["check", "r.json", "--signers", "nonesuch"], 2, "cannot read nonesuch: "),
        (&["check", "r.json", "--identity", "ann@example.org"], 2, "--signers <FILE>"),
    ];
    for (args, code, message) in cases {
        let refused = in_world(args);
        assert_eq!(refused.code, Some(code), "{args:?}: {refused:?}");
        assert!(refused.err.contains(message), "{args:?}: {}", refused.err);
        assert_eq!(refused.err.trim_end().lines().count(), 1, "{}", refused.err);
        assert!(!fixture.path("r.json.sig").exists() && !fixture.path("broken.json.sig").exists());
    }
}

#[test]
fn without_ssh_keygen_no_signature_is_valid() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/report.json");
    let folder = Folder::new("bare");
    let report = folder.join("r.json");
    fs::copy(golden, &report).expect("a writable folder");
    let refused = result_of(
        lab().env("PATH", folder.join("")).args(["report", "sign"]).arg(&report).args(["--key", "k"]),
    );
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.err.contains("signatures need ssh-keygen, which is not installed"), "{}", refused.err);
}
