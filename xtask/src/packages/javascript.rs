//! Build of the document engine for JavaScript with cargo, wasm-bindgen and, for the package, binaryen. Fetches tests of other projects.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

use crate::command::Cmd;
use crate::repository::checkout;
use crate::repository::metadata;

/// Build folder.
const FOLDER: &str = "target/javascript";
const CRATE: &str = "bindings/javascript-documents";
const TARGET: &str = "wasm32-unknown-unknown";
/// Version of the crate and of the tool, which must be equal.
const WASM_BINDGEN: &str = "0.2.130";
/// Lock file of the tool.
const LOCK: &str = include_str!("../../probes/bindgen.lock");
const BINARYEN: &str = "132.0.0";

/// WebAssembly features for the compiler and binaryen: every browser and Node 20 have them.
pub(crate) const FEATURES: [&str; 9] = [
    "bulk-memory",
    "bulk-memory-opt",
    "extended-const",
    "multivalue",
    "mutable-globals",
    "nontrapping-float-to-int",
    "reference-types",
    "sign-ext",
    "simd",
];

/// Tests of other projects that no package has.
const CHECKOUTS: [Checkout; 3] = [
    // Between releases 3.4.1 and 3.5.0 of the package: the tests of the package and of its module.
    Checkout {
        name: "automerge",
        commit: "47908d6c04a0ce3fea0fa1d6b7f5ce6ba3e5792e",
        paths: &["javascript/test", "rust/automerge-wasm/test"],
    },
    // Between alpha versions 2 and 3 of 2.6.0: the fuzz program, and what it imports of the tests.
    Checkout {
        name: "automerge-repo",
        commit: "281ebc0ef7a6a6c8e984da3831ddc1dba1fd401c",
        paths: &["packages/automerge-repo/fuzz", "packages/automerge-repo/test/helpers"],
    },
    // Version 0.3.0, which no registry has.
    Checkout {
        name: "automerge-repo-sync-server",
        commit: "f84335e229b2de5f37a6d97fcfacc83f1d372792",
        paths: &["test"],
    },
];

/// Paths of a repository of Automerge at a commit.
struct Checkout {
    name: &'static str,
    commit: &'static str,
    paths: &'static [&'static str],
}

/// Builds the engine for Node, fast or small, and returns the file that programs load. Cargo builds in the folder `target`.
pub(crate) fn engine(
    root: &Path,
    target: &Path,
    profile: &str,
    kind: &str,
) -> anyhow::Result<(Vec<Cmd>, String)> {
    let folder = root.join(FOLDER).join("bindgen");
    let source = root.join("xtask/probes/bindgen.rs");
    fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    let manifest = format!(
        "[package]\nname = \"bindgen\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\nwasm-bindgen-cli-support = \"={WASM_BINDGEN}\"\n\
         [profile.dev]\ndebug = false\n[[bin]]\nname = \"bindgen\"\npath = {:?}\n",
        source.display().to_string()
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("Cargo.lock"), LOCK)?;
    let out = format!("{FOLDER}/{profile}-{kind}");
    let module = target.join(TARGET).join(profile).join("hashmill_javascript_documents.wasm");
    let module = module.to_string_lossy();
    let build = ["build", "--locked", "--target", TARGET, "--profile", profile];
    let package = ["-p", "hashmill-javascript-documents"];
    let flags = "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS";
    let bindgen = format!("{FOLDER}/bindgen/Cargo.toml");
    let commands = vec![
        Cmd::cargo(&[&build[..], &package].concat()).with(flags, "-Dwarnings -Ctarget-feature=+simd128"),
        Cmd::cargo(&["run", "--locked", "--manifest-path", &bindgen, "--", &module, &out, kind]),
    ];
    Ok((commands, format!("{out}/engine.js")))
}

/// Installs exactly the packages of the lock file, without their scripts, below the crate that compares engines.
pub(crate) fn install_packages() -> Cmd {
    let options = ["--ignore-scripts", "--no-audit", "--no-fund", "--cache", "target/npm"];
    Cmd::new("npm", &[&["ci", "--prefix", "crates/rivals/js"], &options[..]].concat())
}

/// Fetches [`CHECKOUTS`]. Returns variables for the tests with their folders, or with the reasons why they are missing.
pub(crate) fn checkouts(root: &Path) -> Vec<(String, String)> {
    let variable = |Checkout { name, commit, paths }: &Checkout| {
        let folder = root.join(FOLDER).join(name);
        let repository = format!("https://github.com/automerge/{name}");
        let variable = name.replace('-', "_").to_uppercase();
        match checkout::ensure_fetched(&folder, &repository, commit, paths) {
            Ok(()) => (format!("HASHMILL_{variable}_TESTS"), folder.to_string_lossy().into_owned()),
            Err(reason) => (format!("HASHMILL_NO_{variable}_TESTS"), reason),
        }
    };
    CHECKOUTS.iter().map(variable).collect()
}

/// Writes the package for publication; returns whether that succeeded.
pub(crate) fn package(root: &Path) -> anyhow::Result<bool> {
    let out = root.join(FOLDER).join("package");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let tools = format!("{FOLDER}/tools");
    fs::create_dir_all(root.join(&tools))?;
    let binaryen = format!("binaryen@{BINARYEN}");
    Cmd::new("npm", &["install", "--prefix", &tools, "--no-audit", "--no-fund", &binaryen]).run(root)?;
    fs::create_dir_all(&out)?;
    let target = metadata::target(root)?;
    for (kind, name) in [("nodejs", "engine.cjs"), ("web", "engine.js")] {
        let (commands, file) = engine(root, &target, "wasm", kind)?;
        commands.iter().try_for_each(|command| command.run(root))?;
        fs::copy(root.join(&file), out.join(name)).with_context(|| file)?;
    }
    // Both kinds load the same module.
    let module = |kind| format!("{FOLDER}/wasm-{kind}/engine_bg.wasm");
    let same = fs::read(root.join(module("nodejs")))? == fs::read(root.join(module("web")))?;
    ensure!(same, "the modules for Node and for browsers differ");
    let small = out.join("engine_bg.wasm");
    let optimise = format!("{tools}/node_modules/binaryen/bin/wasm-opt");
    let features = FEATURES.map(|feature| format!("--enable-{feature}"));
    let mut arguments = vec![optimise.as_str(), "-O3", "--strip-debug", "--strip-producers"];
    arguments.extend(features.iter().map(String::as_str));
    let (small_file, module) = (small.to_string_lossy(), module("web"));
    arguments.extend(["-o", &small_file, &module]);
    Cmd::new("node", &arguments).run(root)?;
    println!("{}: {} bytes", small.display(), fs::metadata(&small)?.len());
    for name in ["package.json", "README.md", "index.d.ts", "LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(root.join(CRATE).join(name), out.join(name)).with_context(|| name.to_owned())?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;

    #[test]
    fn the_module_is_read_from_the_build_folder_of_cargo() {
        let root = env::current_exe().expect("a program").with_extension("engine");
        let (commands, _) = engine(&root, Path::new("/elsewhere"), "wasm", "web").expect("a folder");
        let module = commands[1].args.iter().find(|argument| argument.ends_with(".wasm")).expect("a module");
        assert!(Path::new(module).starts_with(Path::new("/elsewhere").join(TARGET)), "{module}");
        // The tool is built from its lock file, in the version of the crate.
        assert!(commands[1].args.iter().any(|argument| argument == "--locked"));
        let lock = fs::read_to_string(root.join(FOLDER).join("bindgen/Cargo.lock")).expect("a lock file");
        let pinned = format!("name = \"wasm-bindgen-cli-support\"\nversion = \"{WASM_BINDGEN}\"\n");
        assert!(lock.contains(&pinned));
        fs::remove_dir_all(root).expect("a folder");
    }
}
