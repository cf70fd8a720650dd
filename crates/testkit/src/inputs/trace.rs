//! Recordings of real typing, in the format of github.com/josephg/editing-traces, and a generator of similar ones.
//!
//! Positions and lengths count Unicode scalar values.

use std::io::Read as _;

use flate2::read::GzDecoder;
use serde::Deserialize;

use crate::Rng;
use crate::inputs::data;

/// The typing of one or several users.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The text before the first transaction.
    pub start: String,
    /// The text after the last one. With several users it depends on how ties are broken.
    pub end: String,
    /// Number of users.
    pub agents: usize,
    /// Transactions, each after its parents.
    pub txns: Vec<Txn>,
}

/// Edits that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Txn {
    /// Index of the user.
    pub agent: usize,
    /// The last transactions that its author had seen; empty for the start text.
    pub parents: Vec<usize>,
    /// Edits, in order.
    pub patches: Vec<Patch>,
}

/// One edit.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// Position.
    pub at: usize,
    /// Number of characters to delete.
    pub delete: usize,
    /// Text to insert.
    pub insert: String,
}

impl Trace {
    /// Reads `traces/<name>.json.gz` of the data folder, or says why not.
    pub fn read(name: &str) -> Result<Self, String> {
        let packed = data::read(&format!("traces/{name}.json.gz"))?;
        let mut json = Vec::new();
        GzDecoder::new(&*packed).read_to_end(&mut json).map_err(|error| format!("{name}: {error}"))?;
        Self::parse(&json).map_err(|error| format!("{name}: {error}"))
    }

    /// Reads a recording, of one person or of several.
    pub fn parse(json: &[u8]) -> Result<Self, String> {
        let file: File = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let concurrent = file.kind.as_deref() == Some("concurrent");
        let txns = file.txns.into_iter().enumerate().map(|(index, txn)| Txn {
            agent: txn.agent,
            parents: if concurrent { txn.parents } else { index.checked_sub(1).into_iter().collect() },
            patches: txn
                .patches
                .into_iter()
                .map(|(at, delete, insert)| Patch { at, delete, insert })
                .collect(),
        });
        let trace = Self {
            start: file.start_content,
            end: file.end_content,
            agents: file.num_agents.unwrap_or(1),
            txns: txns.collect(),
        };
        let sound = |(index, txn): (usize, &Txn)| {
            txn.agent < trace.agents && txn.parents.iter().all(|&parent| parent < index)
        };
        match trace.txns.iter().enumerate().position(|txn| !sound(txn)) {
            Some(index) => Err(format!("transaction {index} names a person or a parent that there is not")),
            None => Ok(trace),
        }
    }

    /// A person who types, corrects, jumps, and now and then pastes or cuts: `edits` transactions of one edit each.
    pub fn typed(seed: u64, edits: usize) -> Self {
        let mut rng = Rng::new(seed);
        let mut text: Vec<char> = Vec::new();
        let mut at = 0;
        let mut txns = Vec::with_capacity(edits);
        for index in 0..edits {
            if rng.below(20) == 0 {
                at = rng.below(text.len() + 1);
            }
            let patch = stroke(&mut rng, &text, at);
            at = patch.at + patch.insert.chars().count();
            apply(&mut text, &patch);
            let parents = index.checked_sub(1).into_iter().collect();
            txns.push(Txn { agent: 0, parents, patches: vec![patch] });
        }
        Self { start: String::new(), end: text.into_iter().collect(), agents: 1, txns }
    }

    /// All edits in order, without the borders of transactions.
    pub fn patches(&self) -> impl Iterator<Item = &Patch> {
        self.txns.iter().flat_map(|txn| &txn.patches)
    }
}

/// Effect of the next key at `at`.
fn stroke(rng: &mut Rng, text: &[char], at: usize) -> Patch {
    // Letters of one to four bytes, and one that needs two units of UTF-16.
    const LETTERS: [char; 9] = ['e', 't', 'a', ' ', 'n', 'ß', '字', '😀', '\n'];
    let letter = |rng: &mut Rng| LETTERS[rng.below(LETTERS.len())];
    match rng.below(40) {
        0 => {
            let delete = rng.below(20).min(text.len() - at);
            Patch { at, delete, insert: String::new() }
        }
        1 => {
            let insert = (0..rng.below(30)).map(|_| letter(rng)).collect();
            Patch { at, delete: usize::from(at < text.len()), insert }
        }
        2..9 if at > 0 => Patch { at: at - 1, delete: 1, insert: String::new() },
        _ => Patch { at, delete: 0, insert: letter(rng).to_string() },
    }
}

/// Does to a plain text what an engine is asked to do.
///
/// # Panics
/// When the edit reaches past the text.
pub fn apply(text: &mut Vec<char>, patch: &Patch) {
    text.splice(patch.at..patch.at + patch.delete, patch.insert.chars());
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    kind: Option<String>,
    #[serde(default)]
    start_content: String,
    end_content: String,
    num_agents: Option<usize>,
    txns: Vec<FileTxn>,
}

#[derive(Deserialize)]
struct FileTxn {
    #[serde(default)]
    parents: Vec<usize>,
    #[serde(default)]
    agent: usize,
    patches: Vec<(usize, usize, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plain text that a recording of one person gives.
    fn replay(trace: &Trace) -> String {
        let mut text: Vec<char> = trace.start.chars().collect();
        trace.patches().for_each(|patch| apply(&mut text, patch));
        text.into_iter().collect()
    }

    #[test]
    fn one_person_depends_on_what_came_before() {
        let json = r#"{"startContent":"ab","endContent":"aXc","txns":[
            {"time":"x","patches":[[1,1,"X"]]},{"time":"x","patches":[[2,0,"c"]]}]}"#;
        let trace = Trace::parse(json.as_bytes()).expect("a recording");
        assert_eq!(
            (trace.agents, &trace.txns[0].parents[..], &trace.txns[1].parents[..]),
            (1, &[][..], &[0][..])
        );
        assert_eq!(replay(&trace), trace.end);
    }

    #[test]
    fn several_people_depend_on_what_they_say() {
        let json = r#"{"kind":"concurrent","endContent":"ab","numAgents":2,"txns":[
            {"parents":[],"agent":0,"patches":[[0,0,"a"]]},{"parents":[],"agent":1,"patches":[[0,0,"b"]]}]}"#;
        let trace = Trace::parse(json.as_bytes()).expect("a recording");
        assert_eq!((trace.agents, trace.txns[1].agent, trace.txns[1].parents.len()), (2, 1, 0));
    }

    #[test]
    fn a_recording_that_refers_to_the_future_is_refused() {
        let json = r#"{"kind":"concurrent","endContent":"","numAgents":1,"txns":[
            {"parents":[0],"agent":0,"patches":[]}]}"#;
        assert!(Trace::parse(json.as_bytes()).expect_err("a circle").contains("transaction 0"));
    }

    #[test]
    fn the_typist_ends_where_a_plain_text_ends() {
        for seed in 0..20 {
            let trace = Trace::typed(seed, 500);
            assert_eq!(replay(&trace), trace.end, "seed {seed}");
            assert!(trace.end.chars().count() > 100, "seed {seed}");
        }
    }

    #[test]
    fn real_recordings_end_where_a_plain_text_ends() {
        for name in ["sveltecomponent", "friendsforever_flat"] {
            match Trace::read(name) {
                Ok(trace) => assert_eq!(replay(&trace), trace.end, "{name}"),
                Err(reason) => crate::skip(&format!("the recording {name}"), &reason),
            }
        }
    }
}
