//! Calls of the generator `crates/codegen`. It is a separate program, so that other commands need not compile it.

use std::path::Path;

use crate::command::Cmd;

/// The generator's exit status if NVIDIA's compiler cannot be downloaded.
const NO_COMPILER: i32 = 3;

/// A call of the generator.
pub(crate) fn call(arguments: &[&str]) -> Cmd {
    let cargo = ["run", "--quiet", "--locked", "--package", "hashmill-codegen", "--"];
    Cmd::cargo(&[&cargo, arguments].concat())
}

/// Downloads NVIDIA's compiler. Returns the reason if no registry has it; any other failure is left to the step that needs the compiler.
pub(crate) fn missing_compiler(root: &Path) -> Option<String> {
    let output = call(&["fatbin", "fetch"]).process(root).output().ok()?;
    let reason = || String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.code() == Some(NO_COMPILER)).then(reason)
}
