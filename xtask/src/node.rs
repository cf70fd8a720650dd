//! What the package for Node is tested with: the library, and the tests that others publish of the packages whose names ours has.
//! Nothing of them is kept here, and nothing of them is changed. The rest is `bindings/node/tests/run.mjs`.

use std::env::consts;
use std::path::Path;

use crate::checkout;
use crate::metadata;
use crate::steps::Cmd;

/// Where everything lies that this step makes, in the repository.
const FOLDER: &str = "target/node";

/// Tests of others: the package, its repository, a commit, and what of it is needed. Both are those of the newest release.
const THEIRS: [(&str, &str, &str, &[&str]); 2] = [
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

/// The package for this system, built as a release builds it: a folder that `npm install` takes.
pub(crate) fn package(root: &Path) -> anyhow::Result<()> {
    let folder = format!("{FOLDER}/package");
    let library = format!("here={}", library(root, "dist")?);
    Cmd::cargo(&["build", "--locked", "--profile", "dist", "-p", "hashmill-node"]).run(root)?;
    Cmd::new("node", &["bindings/node/package.mjs", &folder, &library]).run(root)?;
    println!("npm install {}", root.join(folder).display());
    Ok(())
}

/// Where cargo puts the library.
fn library(root: &Path, profile: &str) -> anyhow::Result<String> {
    let name = format!("{}hashmill_node{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
    Ok(metadata::target(root)?.join(profile).join(name).display().to_string())
}

/// The commands that build the library, and install and test the package. The profile is the one that everything else is tested with.
pub(crate) fn run(root: &Path, filter: &[String]) -> anyhow::Result<Vec<Cmd>> {
    let mut args =
        vec!["bindings/node/tests/run.mjs".to_owned(), format!("{FOLDER}/app"), library(root, "debug")?];
    args.extend(filter.iter().map(|part| format!("--name={part}")));
    let mut skipped = Vec::new();
    for (package, repository, commit, paths) in THEIRS.iter().filter(|_| filter.is_empty()) {
        let folder = root.join(FOLDER).join("suites").join(package);
        match checkout::fetched(&folder, repository, commit, paths) {
            Ok(()) => args.push(format!("{package}={}", folder.display())),
            Err(words) => {
                let say = "console.log(`SKIPPED: the tests of ${process.argv[1]}`)";
                skipped.push(Cmd::new("node", &["--eval", say, &format!("{package}: {words}")]));
            }
        }
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let build = Cmd::cargo(&["build", "--locked", "-p", "hashmill-node"]);
    Ok([build, Cmd::new("node", &args)].into_iter().chain(skipped).collect())
}
