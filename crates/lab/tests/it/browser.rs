//! The HTML report in a real browser: what a reader sees is asserted on the page that the browser made of it.

use crate::program::Folder;
use hashmill_testkit::browser::{self, browse};
use std::path::Path;

#[test]
fn a_browser_shows_the_report() {
    let Some(name) = browser::find("lab: the HTML report in a browser") else { return };
    let folder = Folder::new("browser");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/report.html");
    let dom = browse(name, &folder.join("dom"), &["--dump-dom"], &browser::url(&page));
    let count = |what: &str| dom.matches(what).count();
    assert!(dom.contains("<h1>lab compare 20260131-120000-0000</h1>"), "{dom}");
    assert_eq!(count("<tbody>"), 2, "duels and rows alone");
    assert_eq!(count("<figure>"), 5, "a strip for each comparison, and the curve");
    assert_eq!(count("<svg"), 5);
    assert_eq!(count("</svg>"), 5, "the browser understood them as pictures");
    assert!(dom.contains("<td class=\"good\">faster</td>"), "{dom}");
    assert!(dom.contains("<td class=\"bad\">slower</td>"), "{dom}");
    assert!(dom.contains("<td class=\"bad\">WRONG RESULT</td>"), "{dom}");
    assert!(dom.contains("<td>open &lt;&amp;|&gt;</td>"), "names stay words: {dom}");
    assert_eq!(count("<script"), 0);
    assert_eq!(count("src=") + count("<link"), 0, "nothing is loaded from anywhere");

    // On a phone the tables scroll in boxes of their own, and the page itself does not.
    let measure =
        "<script>document.body.dataset.wide=document.documentElement.scrollWidth>innerWidth</script></body>";
    let text = std::fs::read_to_string(&page).expect("a page").replace("</body>", measure);
    let narrow = folder.join("narrow.html");
    std::fs::write(&narrow, text).expect("a writable folder");
    let dom = browse(
        name,
        &folder.join("narrow"),
        &["--dump-dom", "--window-size=390,800"],
        &browser::url(&narrow),
    );
    assert!(dom.contains("<body data-wide=\"false\">"), "{dom}");
    assert!(dom.contains("/<wbr>"), "names break at their slashes: {dom}");

    let picture = folder.join("report.png");
    let to = format!("--screenshot={}", picture.display());
    browse(name, &folder.join("picture"), &[&to, "--window-size=1100,2600"], &browser::url(&page));
    let bytes = std::fs::read(&picture).expect("a screenshot");
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000, "{} bytes: an empty page", bytes.len());
    if let Some(keep) = std::env::var_os("LAB_SCREENSHOT") {
        std::fs::copy(&picture, keep).expect("a writable place");
    }
}
