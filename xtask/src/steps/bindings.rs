//! Steps of other languages: C, Python, Node, browsers, and Automerge for JavaScript.

use super::graphs;
use super::step::{Graph, Setting, Step, everywhere, on_linux};
use super::whole;
use crate::command::{Cmd, Selection};
use crate::packages::{javascript as javascript_package, node, python, web};
use crate::repository::metadata;
use crate::steps::kind::Kind;
use crate::steps::needs::Need;

const WASM: Need = Need::Std("wasm32-unknown-unknown");

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "c",
        about: "the libraries for C: installed, linked by programs in C and C++, and run under sanitizers",
        kind: Kind::Bindings,
        graph: Graph::Whole,
        filters: true,
        applies: on_linux,
        needs: &[
            Need::Program { name: "cc", package: "gcc" },
            Need::Program { name: "g++", package: "g++" },
            Need::Program { name: "objcopy", package: "binutils" },
        ],
        runner: None,
        commands: c,
    },
    Step {
        name: "javascript",
        about: "documents beside Automerge for JavaScript, its servers, and its clients with our server; its own tests on our engine",
        kind: Kind::Bindings,
        graph: Graph::Whole,
        filters: true,
        applies: everywhere,
        needs: &[Need::Node, Need::NpmRegistry, WASM],
        runner: None,
        commands: javascript,
    },
    Step {
        name: "node",
        about: "the package for Node: its tests, and those of argon2 and blake3 on it",
        kind: Kind::Bindings,
        graph: Graph::Own("library for Node"),
        filters: true,
        applies: on_linux,
        needs: &[Need::Node, Need::NpmRegistry],
        runner: None,
        commands: |setting| node::run(setting.root, setting.filter),
    },
    Step {
        name: "web",
        about: "the package of hashes for browsers: in Node beside others, in a browser, and its types",
        kind: Kind::Bindings,
        graph: Graph::Own("module for browsers"),
        filters: false,
        applies: everywhere,
        needs: &[Need::Node, Need::NpmRegistry, WASM],
        runner: None,
        commands: |setting| web::commands(setting.root),
    },
    Step {
        name: "python",
        about: "the package for Python, as a wheel in an environment of its own: its tests, types and examples",
        kind: Kind::Bindings,
        graph: Graph::Own("wheel"),
        filters: true,
        applies: on_linux,
        needs: &[Need::Python],
        runner: None,
        commands: |setting| python::run(setting.root, setting.filter),
    },
    Step {
        name: "free-threads",
        about: "the package for Python without the global lock",
        kind: Kind::Bindings,
        graph: Graph::Own("wheel without lock"),
        filters: true,
        applies: on_linux,
        needs: &[Need::Tool {
            name: python::FREE_THREADED,
            install: "Python 3.14, configured with --disable-gil",
        }],
        runner: None,
        commands: |setting| python::run_free_threaded(setting.root, setting.filter),
    },
];

/// Tests the Rust side, installs the archive that those tests were built with, and tests the installed libraries.
fn c(setting: &Setting<'_>) -> anyhow::Result<Vec<Cmd>> {
    let target = metadata::target(setting.root)?;
    let (prefix, archive) = (target.join("c"), target.join("debug/libhashmill_c.a"));
    let (prefix, archive) = (prefix.to_string_lossy(), archive.to_string_lossy());
    let build = graphs::in_whole(setting.root, &["build"], &[], &["--lib", "--test", "it"])?;
    let install = Cmd::new("bindings/c/install", &[&prefix, &archive]);
    let features = ["hashmill-c/installed"];
    let installed = graphs::in_whole(setting.root, &["test"], &features, &["--test", "c"])?;
    let installed = installed.with("HASHMILL_C", &prefix);
    let mut commands = whole::tests(setting, &["bindings/c"])?;
    commands.extend([build, install, setting.tests(installed, Selection::default())]);
    Ok(commands)
}

/// Builds our engine for JavaScript, and runs the tests with it.
fn javascript(setting: &Setting<'_>) -> anyhow::Result<Vec<Cmd>> {
    let target = metadata::target(setting.root)?;
    let (mut commands, engine) = javascript_package::engine(setting.root, &target, "wasm-test", "nodejs")?;
    let (for_browsers, script) = javascript_package::engine(setting.root, &target, "wasm-test", "web")?;
    commands.extend(for_browsers);
    let engine = setting.root.join(engine);
    let folder = setting.root.join(script).with_file_name("");
    let features = ["hashmill-rivals/javascript"];
    let mut test = graphs::in_whole(setting.root, &["test"], &features, &["--test", "javascript"])?
        .with("HASHMILL_ENGINE", &engine.to_string_lossy())
        .with("HASHMILL_ENGINE_FOR_BROWSERS", &folder.to_string_lossy());
    for (name, value) in javascript_package::checkouts(setting.root) {
        test = test.with(&name, &value);
    }
    let test = setting.tests(test, Selection::default());
    commands.extend([javascript_package::install_packages(), whole::program(setting.root, &features)?, test]);
    Ok(commands)
}
