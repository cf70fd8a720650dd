//! The HTML report in a real browser: assertions about the page that the browser builds.

use crate::program::{Folder, lab, result_of};
use hashmill_testkit::browser::{self, browse};
use hashmill_testkit::size;
use std::path::Path;

#[test]
fn a_browser_shows_the_report() {
    let Some(name) = browser::find("lab: the HTML report in a browser") else { return };
    let folder = Folder::new("browser");
    let report = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/report.json");
    let rendered = result_of(lab().arg("report").arg(report).args(["--format", "html"]));
    assert_eq!(rendered.code, Some(0), "{}", rendered.err);
    let page = folder.join("report.html");
    std::fs::write(&page, &rendered.out).expect("a writable folder");
    let dom = browse(name, &folder.join("dom"), &["--dump-dom"], &browser::url(&page));
    let count = |what: &str| dom.matches(what).count();
    assert!(dom.contains("<h1>lab compare 20260131-120000-0000</h1>"), "{dom}");
    let banner = dom.find("WRONG RESULT: hash/ours/oneshot/1MiB/t1").expect("a banner");
    assert!(banner < dom.find("<h2>").expect("a heading"), "it stands before everything else");
    assert_eq!(count("<tbody>"), 2, "duels and rows alone");
    assert_eq!(count("class=\"track ticks\""), 1, "all comparisons share one axis");
    assert_eq!(count("<summary class=\"line\">"), 7, "whatever has sessions opens to them");
    assert_eq!(count("<svg"), 8, "the sessions of each line, and the curve");
    assert_eq!(count("</svg>"), 8, "the browser understood them as pictures");
    assert!(dom.contains("← rival faster") && dom.contains("ours faster →"), "{dom}");
    assert!(dom.contains("within ±1 %: the same"), "{dom}");
    assert!(dom.contains("<td class=\"good\">faster</td>"), "{dom}");
    assert!(dom.contains("<td class=\"bad\">slower</td>"), "{dom}");
    assert!(dom.contains("<td class=\"bad\">WRONG RESULT</td>"), "{dom}");
    assert!(dom.contains("<td>open &lt;&amp;|&gt;</td>"), "names stay words: {dom}");
    assert_eq!(count("<script"), 0);
    assert_eq!(count("src=") + count("<link") + count("url("), 0, "nothing is loaded from anywhere");

    // On a phone the tables scroll in their own boxes, and the page itself does not.
    let measure =
        "<script>document.body.dataset.wide=document.documentElement.scrollWidth>innerWidth</script></body>";
    let text = std::fs::read_to_string(&page).expect("a page").replace("</body>", measure);
    let narrow = folder.join("narrow.html");
    std::fs::write(&narrow, text).expect("a writable folder");
    let dom = browse(
        name,
        &folder.join("narrow"),
        &["--dump-dom", "--window-size=400,800"],
        &browser::url(&narrow),
    );
    assert!(dom.contains("<body data-wide=\"false\">"), "{dom}");
    assert!(dom.contains("/<wbr>"), "names break at their slashes: {dom}");

    // Every start of the browser takes a second of processor time.
    if !size::is_full() {
        return size::skip("lab: take a picture of the report");
    }
    let picture = folder.join("report.png");
    let to = format!("--screenshot={}", picture.display());
    browse(name, &folder.join("picture"), &[&to, "--window-size=1100,2600"], &browser::url(&page));
    let bytes = std::fs::read(&picture).expect("a screenshot");
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 15_000, "{} bytes: an empty page", bytes.len());
    if let Some(keep) = std::env::var_os("LAB_SCREENSHOT") {
        std::fs::copy(&picture, keep).expect("a writable place");
    }
}
