//! A document without its history.

use std::collections::HashMap;

use crate::document::Document;
use crate::edit::CommitOptions;
use crate::error::EditError;
use crate::legacy::OpType;
use crate::mark::{ExpandMark, Span, UpdateSpansConfig};
use crate::read::ReadDoc as _;
use crate::store::state::State;
use crate::transaction::{Transactable as _, Transaction};
use crate::types::{ActorId, ObjId, ObjType, ROOT, Value};
use crate::view::View;

impl Document {
    /// A new document with what is in this one, as a single change by `actor`.
    ///
    /// The history goes, and with it what was overwritten and deleted, the values that lost a conflict, and who wrote what;
    /// counters are what they have grown to. Marks and blocks stay. What a text holds that is neither character nor
    /// block becomes U+FFFC, and a table a map. The new document has nothing in common with this one: the two are not to be merged.
    pub fn squash(&self, actor: ActorId, options: &CommitOptions) -> Result<Self, EditError> {
        let mut doc = Self::of(State::new(self.state.encoding), self.limits).with_actor(actor);
        let values = self.hydrate(ROOT)?;
        doc.transact_with(options, |tx| {
            tx.init_root(&values)?;
            self.enrich(tx)
        })?;
        Ok(doc)
    }

    /// Puts marks and blocks into the texts of a transaction that has the same values.
    fn enrich(&self, tx: &mut Transaction<'_>) -> Result<(), EditError> {
        let from = self.view();
        let mut config = None;
        let mut todo = vec![(ROOT, ROOT)];
        while let Some((old, new)) = todo.pop() {
            let mut blocks = true;
            if from.object_type(&old)? == ObjType::Text {
                let spans: Vec<Span<'_>> = from.spans(&old)?.collect();
                blocks = spans.iter().any(|span| matches!(span, Span::Block(_)));
                let marks =
                    spans.iter().any(|span| matches!(span, Span::Text { marks, .. } if !marks.is_empty()));
                if blocks || marks {
                    let config = config.get_or_insert_with(|| self.mark_expands());
                    tx.update_spans(&new, config, spans)?;
                }
            }
            if blocks {
                todo.extend(pairs(&from, &old, &tx.view(), &new));
            }
        }
        Ok(())
    }

    /// How marks were made to grow, by their names: as the last one of each.
    fn mark_expands(&self) -> UpdateSpansConfig {
        let mut expands = HashMap::new();
        for change in self.get_changes(&[]) {
            let mut begun = None;
            for op in change.decode().operations {
                match (op.action, begun.take()) {
                    (OpType::MarkBegin(mark), _) => begun = Some(mark),
                    (OpType::MarkEnd(after), Some(mark)) => {
                        let expand = match (mark.expand, after) {
                            (true, true) => ExpandMark::Both,
                            (true, false) => ExpandMark::Before,
                            (false, true) => ExpandMark::After,
                            (false, false) => ExpandMark::None,
                        };
                        expands.insert(mark.name, expand);
                    }
                    _ => {}
                }
            }
        }
        UpdateSpansConfig { per_mark_expands: expands, ..UpdateSpansConfig::default() }
    }
}

/// The objects in an object beside those at the same places in its copy.
fn pairs(from: &View<'_>, old: &ObjId, to: &View<'_>, new: &ObjId) -> Vec<(ObjId, ObjId)> {
    let both = from.values_of(old).into_iter().zip(to.values_of(new));
    let objects = both.filter_map(|((a, old), (b, new))| match (a, b) {
        (Value::Object(_), Value::Object(_)) => Some((old, new)),
        _ => None,
    });
    objects.collect()
}
