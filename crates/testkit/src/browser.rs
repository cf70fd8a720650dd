//! Pages in a headless browser: tests check the rendered document.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::wait;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// An installed headless browser; `None` if there is none, and `what` is reported as skipped.
pub fn find(what: &str) -> Option<&'static str> {
    let answers = |name: &&str| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    let found = BROWSERS.into_iter().find(answers);
    if found.is_none() {
        crate::skip(what, "no chromium here; Debian: apt-get install chromium");
    }
    found
}

/// URL of a file.
pub fn url(page: &Path) -> String {
    format!("file://{}", page.display())
}

/// Runs the browser on a page with its own profile folder, and returns its output.
///
/// # Panics
/// If the browser fails.
pub fn browse(name: &str, profile: &Path, arguments: &[&str], url: &str) -> String {
    let output = profile.join("output");
    let mut command = Command::new(name);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ]);
    command.arg(format!("--user-data-dir={}", profile.display())).args(arguments).arg(url);
    std::fs::create_dir_all(profile).expect("a temporary folder");
    let file = std::fs::File::create(&output).expect("a writable folder");
    command.stdout(file).stderr(Stdio::null()).stdin(Stdio::null());
    let status = wait::start(&mut command).expect("it answered before").wait().expect("ours");
    assert!(status.success(), "{name} ended with {status}");
    std::fs::read_to_string(output).expect("UTF-8")
}
