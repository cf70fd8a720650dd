//! Tests of the package for Node: builds the library, and fetches the unchanged tests of the packages argon2 and blake3.
//! `bindings/node/tests/run.mjs` runs them.

use std::env::consts;
use std::path::Path;

use crate::command::Cmd;
use crate::repository::checkout;
use crate::repository::metadata;

/// Build folder of this step.
const FOLDER: &str = "target/node";

/// Published tests of other packages: the package, its repository, the commit of the newest release, and the needed paths.
const PUBLISHED_TESTS: [(&str, &str, &str, &[&str]); 2] = [
    (
        "argon2",
        "https://github.com/ranisalt/node-argon2",
        "60e11efeab37cf8c74eda8e4d0949ca2b3f98943",
        &["test.cjs"],
    ),
    (
        "blake3",
        "https://github.com/connor4312/blake3",
        "8605a2a2f30d1c430b9aa5b37c44ec2fef4e199d",
        &["test-input.txt", "blake3/node.test.cts", "blake3/test-helpers.cts"],
    ),
];

/// Builds the package for this system as a release does: a folder for `npm install`.
pub(crate) fn package(root: &Path) -> anyhow::Result<()> {
    let folder = format!("{FOLDER}/package");
    let library = format!("here={}", library(root, "dist")?);
    Cmd::cargo(&["build", "--locked", "--profile", "dist", "-p", "hashmill-node"]).run(root)?;
    Cmd::new("node", &["bindings/node/package.mjs", &folder, &library]).run(root)?;
    println!("npm install {}", root.join(folder).display());
    Ok(())
}

/// Path of the built library.
fn library(root: &Path, profile: &str) -> anyhow::Result<String> {
    let name = format!("{}hashmill_node{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
    Ok(metadata::target(root)?.join(profile).join(name).display().to_string())
}

/// Commands that build the library, and install and test the package, in the profile of all tests.
pub(crate) fn run(root: &Path, filter: &[String]) -> anyhow::Result<Vec<Cmd>> {
    let mut args =
        vec!["bindings/node/tests/run.mjs".to_owned(), format!("{FOLDER}/app"), library(root, "debug")?];
    args.extend(filter.iter().map(|part| format!("--name={part}")));
    let mut skipped = Vec::new();
    for (package, repository, commit, paths) in PUBLISHED_TESTS.iter().filter(|_| filter.is_empty()) {
        let folder = root.join(FOLDER).join("suites").join(package);
        match checkout::ensure_fetched(&folder, repository, commit, paths) {
            Ok(()) => args.push(format!("{package}={}", folder.display())),
            Err(reason) => {
                let script = "console.log(`SKIPPED: the tests of ${process.argv[1]}`)";
                skipped.push(Cmd::new("node", &["--eval", script, &format!("{package}: {reason}")]));
            }
        }
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // With devices: tests of engines use software Vulkan where it is installed.
    let build = Cmd::cargo(&["build", "--locked", "-p", "hashmill-node", "--features", "gpu"]);
    Ok([build, Cmd::new("node", &args)].into_iter().chain(skipped).collect())
}
