//! diamond-types: texts only.

use diamond_types::list::ListCRDT;
use diamond_types::list::encoding::{ENCODE_FULL, ENCODE_PATCH};

use hashmill_workloads::doc::{Patch, Shared, Texts};

/// A document of diamond-types.
#[derive(Debug)]
pub struct Diamond {
    doc: ListCRDT,
    agent: u32,
}

impl Diamond {
    fn from_document(mut doc: ListCRDT, actor: u8) -> Self {
        let agent = doc.get_or_create_agent_id(&format!("agent {actor}"));
        Self { doc, agent }
    }
}

impl Texts for Diamond {
    const NAME: &'static str = "diamond-types 1.0.0";

    fn blank(actor: u8) -> Self {
        Self::from_document(ListCRDT::new(), actor)
    }

    fn edit(&mut self, patches: &[Patch]) {
        for patch in patches {
            if patch.delete > 0 {
                self.doc.delete_without_content(self.agent, patch.at..patch.at + patch.delete);
            }
            if !patch.insert.is_empty() {
                self.doc.insert(self.agent, patch.at, &patch.insert);
            }
        }
    }

    fn complete_commits(&mut self) {}

    fn text(&mut self) -> String {
        self.doc.branch.content().to_string()
    }

    fn length(&mut self) -> usize {
        self.doc.branch.content().len_chars()
    }

    fn save(&mut self) -> Vec<u8> {
        self.doc.oplog.encode(ENCODE_FULL)
    }

    fn load(bytes: &[u8]) -> Self {
        Self::from_document(ListCRDT::load_from(bytes).expect("a saved document"), 9)
    }
}

impl Shared for Diamond {
    fn fork(&mut self, actor: u8) -> Self {
        let mut doc = ListCRDT::new();
        doc.merge_data_and_ff(&self.save()).expect("a saved document");
        Self::from_document(doc, actor)
    }

    fn edit_and_export(&mut self, patches: &[Patch]) -> Vec<u8> {
        let before = self.doc.oplog.local_version();
        self.edit(patches);
        self.doc.oplog.encode_from(ENCODE_PATCH, &before)
    }

    fn apply_updates(&mut self, updates: &[Vec<u8>]) {
        for update in updates {
            self.doc.oplog.decode_and_add(update).expect("an update");
        }
        let tip = self.doc.oplog.local_version();
        self.doc.branch.merge(&self.doc.oplog, &tip);
    }
}
