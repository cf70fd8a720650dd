//! Link to the folder of the newest run; address of a page, and opening it in a browser.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name of the link beside the folders of runs.
const LATEST: &str = "latest";

/// Points the link beside `folder` at it, and returns the link. None if links cannot be created or the name is in
/// use: the link is only a convenience.
pub(crate) fn point_at(folder: &Path) -> Option<PathBuf> {
    let (parent, name) = (folder.parent()?, folder.file_name()?);
    let link = parent.join(LATEST);
    match link.symlink_metadata() {
        Ok(about) if !about.is_symlink() => return None,
        _ => {}
    }
    // Created under another name and renamed, so that the link is always valid.
    let aside = parent.join(format!(".{LATEST}-{}", std::process::id()));
    let linked = hashmill_machine::link_directory(Path::new(name), &aside)
        .and_then(|()| std::fs::rename(&aside, &link));
    if linked.is_err() {
        std::fs::remove_file(&aside).ok();
    }
    linked.ok().map(|()| link)
}

/// The link beside `folder`, if it points to it.
pub(crate) fn find(folder: &Path) -> Option<PathBuf> {
    let link = folder.parent()?.join(LATEST);
    let target = std::fs::read_link(&link).ok()?;
    (target.as_os_str() == folder.file_name()?).then_some(link)
}

/// Address of a file for terminals and browsers.
pub(crate) fn address(file: &Path) -> io::Result<String> {
    let file = std::path::absolute(file)?;
    let path = file.to_string_lossy().replace('\\', "/");
    let mut address = String::from(if path.starts_with('/') { "file://" } else { "file:///" });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' | b':' => {
                address.push(char::from(byte));
            }
            _ => address += &format!("%{byte:02X}"),
        }
    }
    Ok(address)
}

/// Opens a page in the user's browser without waiting. A missing browser is only reported on standard error.
pub(crate) fn open(address: &str) {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        writeln!(io::stderr(), "--open: cannot start {program}: {error}; the page is {address}").ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("lab-latest-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    #[cfg(unix)]
    #[test]
    fn the_link_leads_to_the_newest_run() {
        let results = folder("link");
        for run in ["first", "second"] {
            fs::create_dir_all(results.join(run)).expect("a folder");
            fs::write(results.join(run).join("report.html"), run).expect("a file");
            let link = point_at(&results.join(run)).expect("a link");
            assert_eq!((&link, find(&results.join(run))), (&results.join("latest"), Some(link.clone())));
            assert_eq!(fs::read_to_string(link.join("report.html")).expect("a page"), run);
        }
        assert_eq!(fs::read_dir(&results).expect("a folder").count(), 3, "nothing is left aside");
        fs::remove_dir_all(&results).expect("a folder");
    }

    #[test]
    fn does_not_replace_files_with_links() {
        let results = folder("taken");
        fs::create_dir_all(results.join("run")).expect("a folder");
        fs::write(results.join("latest"), "mine").expect("a file");
        assert_eq!(point_at(&results.join("run")), None);
        assert_eq!(find(&results.join("run")), None);
        assert_eq!(fs::read_to_string(results.join("latest")).expect("a file"), "mine");
        fs::remove_dir_all(&results).expect("a folder");
    }

    #[cfg(unix)]
    #[test]
    fn addresses_have_no_blanks() {
        let address = address(Path::new("/tmp/a b/ü#%.html")).expect("an address");
        assert_eq!(address, "file:///tmp/a%20b/%C3%BC%23%25.html");
    }
}
