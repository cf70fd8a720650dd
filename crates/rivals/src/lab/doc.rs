//! Other engines in the document workloads.

use hashmill_lab::model::registry::Registry;
use hashmill_workloads::doc::{self, Texts as _, WorkloadName};

use crate::engines::official::Official;

pub(super) fn register(registry: &mut Registry) {
    doc::more_engines(registry, "automerge", Official::NAME, doc::synced::<Official>, |_| true);
    others(registry);
    super::recorded::register(registry);
    super::first_save::register(registry);
}

#[cfg(feature = "doc-engines")]
fn others(registry: &mut Registry) {
    use crate::engines::{diamond::Diamond, loro::Loro, yrs::Yrs};

    doc::more_engines(registry, "loro", Loro::NAME, doc::all::<Loro>, has_past);
    doc::more_engines(registry, "yrs", Yrs::NAME, doc::present::<Yrs>, has_objects);
    doc::more_engines(registry, "diamond-types", Diamond::NAME, doc::words::<Diamond>, has_texts);
}

/// They can be named, and say which build has them.
#[cfg(not(feature = "doc-engines"))]
fn others(registry: &mut Registry) {
    doc::more_engines(registry, "loro", super::WITHOUT, |_, _| None, has_past);
    doc::more_engines(registry, "yrs", super::WITHOUT, |_, _| None, has_objects);
    doc::more_engines(registry, "diamond-types", super::WITHOUT, |_, _| None, has_texts);
}

fn has_past(named: WorkloadName) -> bool {
    !named.is_of_the_format()
}

fn has_objects(named: WorkloadName) -> bool {
    has_past(named) && !matches!(named, WorkloadName::GetAt | WorkloadName::TextAt)
}

fn has_texts(named: WorkloadName) -> bool {
    matches!(named, WorkloadName::TextRead | WorkloadName::TextSpliceAppend | WorkloadName::TextSpliceBulk)
}
