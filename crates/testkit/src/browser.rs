//! Pages in a real browser: what a reader sees is asserted on what the browser made of them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A headless browser that answers to `--version`; nothing, and `what` is said to be skipped, where there is none.
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

/// Where a browser finds a file.
pub fn url(page: &Path) -> String {
    format!("file://{}", page.display())
}

/// Runs the browser on a page, with a folder of its own; its output.
///
/// # Panics
/// When it does not end well within a minute.
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
    let mut child =
        command.stdout(file).stderr(Stdio::null()).stdin(Stdio::null()).spawn().expect("it answered before");
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("ours") {
            assert!(status.success(), "{name} ended with {status}");
            return std::fs::read_to_string(output).expect("UTF-8");
        }
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().ok();
            child.wait().ok();
            panic!("{name} did not end within a minute");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
