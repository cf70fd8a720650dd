//! `hashmill doc view`: the page in a real browser, compared with the library at every version.

use crate::world::{World, hashmill};
use hashmill_doc::json::{Layout, ScalarEncoding, write};
use hashmill_doc::{
    ActorId, AutoCommit, Change, ChangeHash, CommitOptions, Document, ExpandMark, Mark, ObjType, ROOT,
    ReadDoc as _, ScalarValue, Transactable as _, Value, literal,
};
use hashmill_testkit::browser::{self, browse};
use hashmill_testkit::{Rng, size};
use serde_json::Value as Json;

/// Three actors edit everything concurrently and merge from time to time.
fn document() -> Document {
    let mut rng = Rng::new(7);
    let mut first = AutoCommit::from(Document::new().with_actor(ActorId::from([2])));
    first.put(ROOT, "title", "</script><b>&amp;").unwrap();
    let text = first.put_object(ROOT, "text", ObjType::Text).unwrap();
    let list = first.put_object(ROOT, "list", ObjType::List).unwrap();
    first.splice_text(&text, 0, 0, "één 😀").unwrap();
    first.put(ROOT, "n", ScalarValue::Counter(5)).unwrap();
    first.commit();
    let copy = |doc: &mut AutoCommit, actor| AutoCommit::from(doc.document().fork().with_actor(actor));
    let second = copy(&mut first, ActorId::from([1]));
    let third = copy(&mut first, ActorId::from([3, 3]));
    let mut people = [first, second, third];
    for _ in 0..60 {
        let who = rng.below(3);
        let doc = &mut people[who];
        let (at, index) = (rng.below(doc.length(&text) + 1), rng.below(doc.length(&list) + 1));
        match rng.below(9) {
            0 | 1 => doc.splice_text(&text, at, 0, ["word", "字", "\n<i>"][rng.below(3)]).unwrap(),
            2 => drop(doc.splice_text(&text, at, 2, "")),
            3 => doc.increment(ROOT, "n", who as i64 - 1).unwrap(),
            4 => doc.insert(&list, index, at as i64).unwrap(),
            5 => drop(doc.put(&list, index, "other")),
            6 => drop(doc.delete(&list, index)),
            7 => drop(
                doc.put_literal(ROOT, ["a", "b"][rng.below(2)], literal!({ "x": [(who as i64), true] }))
                    .unwrap(),
            ),
            _ => {
                let mut from = copy(&mut people[rng.below(3)], ActorId::from([9]));
                people[who].merge(&mut from).unwrap();
            }
        }
        people[who].commit_with(&CommitOptions::default().with_time(86_400));
    }
    let [mut all, mut second, mut third] = people;
    all.put(ROOT, "both", 1).unwrap();
    second.put(ROOT, "both", 2).unwrap();
    all.merge(&mut second).unwrap();
    all.merge(&mut third).unwrap();
    all.splice_text(&text, 0, 0, "bold ").unwrap();
    all.mark(&text, Mark::new("strong", true, 0, 4), ExpandMark::After).unwrap();
    let block = all.split_block(&text, 5).unwrap();
    all.put(&block, "type", "paragraph").unwrap();
    all.commit_with(&CommitOptions::default().with_message("the last"));
    all.into_document()
}

fn json(doc: &Document, heads: &[ChangeHash]) -> Json {
    let mut out = vec![];
    let view = doc.at(heads).unwrap();
    write(&view, (Value::Object(ObjType::Map), ROOT), ScalarEncoding::Plain, Layout::Compact, &mut out)
        .unwrap();
    serde_json::from_slice(&out).unwrap()
}

/// The heads of these changes.
fn heads(changes: &[Change]) -> Vec<ChangeHash> {
    let is_head = |change: &&Change| !changes.iter().any(|other| other.deps().contains(&change.hash()));
    changes.iter().filter(is_head).map(Change::hash).collect()
}

/// The unescaped text of the page between two markers.
fn between<'d>(dom: &'d str, begin: &str, end: &str) -> &'d str {
    let (_, rest) = dom.split_once(begin).unwrap_or_else(|| panic!("{begin} in {dom}"));
    rest.split_once(end).unwrap_or_else(|| panic!("{end} in {rest}")).0
}

#[test]
fn page_shows_every_version() {
    let world = World::new();
    let mut doc = document();
    world.write("a&b.amrg", doc.save());
    world.run(&hashmill(), ["doc", "view", "a&b.amrg", "-o", "page.html"], b"").quiet_success();
    let page = std::fs::read_to_string(world.path("page.html")).expect("a page");
    assert!(
        !page.contains("{{")
            && !page.contains("</script><b>")
            && page.contains("<title>a&amp;b.amrg</title>")
    );
    let there = "page.html: it exists already";
    world.run(&hashmill(), ["doc", "view", "a&b.amrg", "-o", "page.html"], b"").failure(1, &[there]);

    let Some(name) = browser::find("hashmill doc view: the page in a browser") else { return };
    let open = |moment: &str| {
        let url = browser::url(&world.path("page.html")) + moment;
        browse(name, &world.path("profile"), &["--dump-dom"], &url)
    };
    let shown = |dom: &str| -> Json {
        let text = between(dom, "<pre id=\"json\">", "</pre>");
        let text =
            text.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let changes = doc.get_changes(&[]);
    let moments = [0, 1, 2, changes.len() / 3, changes.len() / 2, changes.len() - 1];
    // Each case starts the browser.
    for &count in size::of(&moments[3..4], &moments) {
        let dom = open(&format!("#{count}"));
        assert_eq!(shown(&dom), json(&doc, &heads(&changes[..count])), "after {count} changes");
        assert!(dom.contains(&format!(">{count} of {}</output>", changes.len())), "{dom}");
    }
    let middle = changes[changes.len() / 2].hash();
    let dom = open(&format!("#{middle}"));
    assert_eq!(shown(&dom), json(&doc, &[middle]));
    assert!(dom.contains(">as its maker saw it: "), "{dom}");

    let dom = open("");
    assert_eq!(shown(&dom), json(&doc, &doc.get_heads()));
    assert_eq!(dom.matches("<circle").count(), changes.len());
    assert!(dom.contains("2 values at the same time</span>") && dom.contains("class=\"lost\""), "{dom}");
    assert!(dom.contains("class=\"marked strong\"") && dom.contains("strong: true"), "{dom}");
    assert!(dom.contains(">¶ {\"type\":\"paragraph\"}</span>"), "{dom}");
    assert!(between(&dom, "<p id=\"change\">", "</p>").ends_with(": the last"), "{dom}");
    assert!(dom.contains("</circle>") && dom.contains("1970-01-02T00:00:00Z"), "{dom}");
    assert!(dom.matches("background: rgb(").count() > 5, "authors have colours: {dom}");
    assert_eq!(
        dom.matches("src=").count() + dom.matches("<link").count(),
        0,
        "nothing is loaded from anywhere"
    );
    // Content of a document is text, even if it looks like HTML.
    assert_eq!(dom.matches("<b>").count() + dom.matches("<i>").count(), 0, "{dom}");

    // On a phone the page fits the screen width.
    let measure = "<script>document.title=document.documentElement.scrollWidth>innerWidth</script></body>";
    let csp = between(&page, "<meta http-equiv", ">");
    let narrow = page.replace(&format!("<meta http-equiv{csp}>"), "") + measure;
    world.write("narrow.html", narrow);
    let url = browser::url(&world.path("narrow.html"));
    let dom = browse(name, &world.path("narrow"), &["--dump-dom", "--window-size=390,800"], &url);
    assert!(dom.contains("<title>false</title>"), "{dom}");
}
