//! Content of a document in the JSON form of `js/say.mjs`.

use hashmill_doc::json::{Layout, ScalarEncoding, write};
use hashmill_doc::{
    Document, Literal, LoadOptions, ObjType, ROOT, ReadDoc as _, ScalarValue, Span, TextEncoding,
    Value as Read,
};
use serde_json::{Value, json};
use std::path::Path;

/// The document in a file. JavaScript counts texts in units of UTF-16.
pub(crate) fn load(path: &Path) -> Document {
    let bytes = std::fs::read(path).expect("a file");
    Document::load_with(&bytes, LoadOptions::new().text_encoding(TextEncoding::Utf16CodeUnit))
        .expect("a document")
}

fn tagged(doc: &Document, value: Read<'_>, id: hashmill_doc::ObjId) -> Value {
    let mut out = Vec::new();
    write(&doc.view(), (value, id), ScalarEncoding::Tagged, Layout::Compact, &mut out).expect("memory");
    serde_json::from_slice(&out).expect("JSON")
}

fn scalar(value: &ScalarValue<'_>) -> Value {
    match value {
        ScalarValue::Str(text) => json!(text),
        ScalarValue::Int(number) => json!(number),
        ScalarValue::Uint(number) => json!(number),
        ScalarValue::Boolean(is) => json!(is),
        value => panic!("no test has the value {value:?}"),
    }
}

fn literal(value: &Literal) -> Value {
    match value {
        Literal::Scalar(value) => scalar(value),
        Literal::Map(entries) => entries.iter().map(|(key, value)| (key.clone(), literal(value))).collect(),
        Literal::List(elements) => elements.iter().map(literal).collect(),
        Literal::Text(text) => json!({"__type": "text", "value": text}),
    }
}

/// The content of a document as JSON.
pub(crate) fn say(path: &Path) -> Value {
    let doc = load(path);
    let heads: Vec<String> = doc.get_heads().iter().map(ToString::to_string).collect();
    let titles = doc.get_all(ROOT, "title").expect("a map").into_iter();
    let mut titles: Vec<String> = titles.map(|(value, id)| tagged(&doc, value, id).to_string()).collect();
    titles.sort_unstable();
    let (mut marks, mut spans) = (Vec::new(), Vec::new());
    if let Some((Read::Object(ObjType::Text), body)) = doc.get(ROOT, "body").expect("a map") {
        for mark in doc.marks(&body).expect("a text") {
            marks.push(json!([mark.name, scalar(&mark.value), mark.start, mark.end]));
        }
        for span in doc.spans(&body).expect("a text") {
            spans.push(match span {
                Span::Block(entries) => json!({"block": literal(&Literal::Map(entries))}),
                Span::Text { text, marks } => {
                    let marks: Value =
                        marks.iter().map(|(name, value)| (name.to_owned(), scalar(value))).collect();
                    json!({"text": text, "marks": marks})
                }
            });
        }
    }
    let value = tagged(&doc, Read::Object(ObjType::Map), ROOT);
    json!({"heads": heads, "value": value, "title": titles, "marks": marks, "spans": spans})
}
