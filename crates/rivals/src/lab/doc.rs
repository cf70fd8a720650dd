//! Other engines in the document workloads.

use hashmill_lab::model::registry::Registry;
use hashmill_workloads::doc::{self, Texts as _, WorkloadName};

use crate::engines::official::Official;

pub(super) fn register(registry: &mut Registry) {
    doc::more_engines(registry, "automerge", Official::NAME, doc::sync_case::<Official>, |_| true);
    register_others(registry);
    super::recorded::register(registry);
    super::first_save::register(registry);
}

#[cfg(feature = "doc-engines")]
fn register_others(registry: &mut Registry) {
    use crate::engines::{diamond::Diamond, loro::Loro, yrs::Yrs};

    doc::more_engines(registry, "loro", Loro::NAME, doc::history_case::<Loro>, has_history);
    doc::more_engines(registry, "yrs", Yrs::NAME, doc::object_case::<Yrs>, has_objects);
    doc::more_engines(registry, "diamond-types", Diamond::NAME, doc::text_case::<Diamond>, has_texts);
}

/// The engines can be named. Their error names the build that has them.
#[cfg(not(feature = "doc-engines"))]
fn register_others(registry: &mut Registry) {
    doc::more_engines(registry, "loro", super::WITHOUT, |_, _| None, has_history);
    doc::more_engines(registry, "yrs", super::WITHOUT, |_, _| None, has_objects);
    doc::more_engines(registry, "diamond-types", super::WITHOUT, |_, _| None, has_texts);
}

fn has_history(workload: WorkloadName) -> bool {
    !workload.needs_automerge_format()
}

fn has_objects(workload: WorkloadName) -> bool {
    has_history(workload) && !matches!(workload, WorkloadName::GetAt | WorkloadName::TextAt)
}

fn has_texts(workload: WorkloadName) -> bool {
    matches!(workload, WorkloadName::TextRead | WorkloadName::TextSpliceAppend | WorkloadName::TextSpliceBulk)
}
