//! Build and tests of the package of BLAKE3 and Argon2 for browsers. Cargo builds the module, binaryen reduces it; tests run in Node
//! and, if there is one, in a browser.

use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::command::Cmd;
use crate::packages::javascript::FEATURES;
use crate::repository::metadata;

/// Build folder.
const FOLDER: &str = "target/web";
const CRATE: &str = "bindings/web";
const TARGET: &str = "wasm32-unknown-unknown";

const TESTS: [&str; 3] = [
    "bindings/web/tests/argon2.test.mjs",
    "bindings/web/tests/blake3.test.mjs",
    "bindings/web/tests/readme.test.mjs",
];

/// SIMD for the kernels, and a small stack instead of a megabyte.
const FLAGS: &str = "-Dwarnings -Ctarget-feature=+simd128 -Clink-arg=-zstack-size=262144";

/// Builds the package, installs exactly the packages of the lock file without their scripts, and tests it.
pub(crate) fn commands(root: &Path) -> anyhow::Result<Vec<Cmd>> {
    let (package, rivals) = (root.join(FOLDER).join("package"), root.join(FOLDER).join("rivals"));
    copy(&root.join(CRATE).join("js"), &package)?;
    copy(&root.join(CRATE).join("tests/types"), &rivals)?;
    for name in ["package.json", "README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(root.join(CRATE).join(name), package.join(name)).with_context(|| name.to_owned())?;
    }
    for name in ["package.json", "package-lock.json"] {
        fs::copy(root.join(CRATE).join("tests").join(name), rivals.join(name))
            .with_context(|| name.to_owned())?;
    }
    let module = metadata::target(root)?.join(TARGET).join("wasm/hashmill_web.wasm");
    let (module, package, rivals) = (text(&module), text(&package), text(&rivals));

    let build = ["build", "--locked", "--target", TARGET, "--profile", "wasm", "-p", "hashmill-web"];
    let build = Cmd::cargo(&build).with("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", FLAGS);
    let options = ["--ignore-scripts", "--no-audit", "--no-fund", "--cache", "target/npm"];
    let install = Cmd::new("npm", &[&["ci", "--prefix", &rivals], &options[..]].concat());
    let link = format!("{rivals}/node_modules/@hashmill/web");
    let link = Cmd::new("node", &["-e", LINK, &package, &link]);
    let optimise = format!("{rivals}/node_modules/binaryen/bin/wasm-opt");
    let features = FEATURES.map(|feature| format!("--enable-{feature}"));
    let mut arguments = vec![optimise.as_str(), "-O3", "--strip-debug", "--strip-producers"];
    arguments.extend(features.iter().map(String::as_str));
    let small = format!("{package}/hashmill.wasm");
    arguments.extend(["-o", &small, &module]);
    let optimise = Cmd::new("node", &arguments);
    let swizzle = Cmd::new("node", &["xtask/probes/swizzle.mjs", &small]);
    let compiler = format!("{rivals}/node_modules/typescript/bin/tsc");
    let types = Cmd::new("node", &[&compiler, "--project", &rivals]);
    let with_folders = |cmd: Cmd| cmd.with("WEB_PACKAGE", &package).with("WEB_RIVALS", &rivals);
    let report = ["--expose-gc", "--test-reporter=./bindings/web/tests/reporter.mjs"];
    let destination = ["--test-reporter-destination=stdout", "--test"];
    let tests = with_folders(Cmd::new("node", &[&report[..], &destination[..], &TESTS[..]].concat()));
    let browser = with_folders(Cmd::new("node", &["bindings/web/tests/browser.mjs"]));
    Ok(vec![build, install, link, optimise, swizzle, types, tests, browser])
}

/// Script that links the package into `node_modules`, for programs that import it by name.
const LINK: &str = "const fs = require('fs'), path = require('path'), [, from, to] = process.argv; \
    fs.mkdirSync(path.dirname(to), { recursive: true }); fs.rmSync(to, { recursive: true, force: true }); fs.symlinkSync(from, to)";

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Copies a folder into another one and replaces existing files.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| text(to))?;
    for entry in fs::read_dir(from).with_context(|| text(from))? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to)?;
        } else {
            fs::copy(&path, to).with_context(|| text(&path))?;
        }
    }
    Ok(())
}
