//! Other engines in the workloads on documents.

use hashmill_lab::model::registry::Registry;
use hashmill_workloads::doc::{self, Texts as _};

use crate::doc::engines::official::Official;

pub(super) fn register(registry: &mut Registry) {
    doc::more_engines(registry, "automerge", Official::NAME, doc::synced::<Official>, |_| true);
    #[cfg(feature = "doc-engines")]
    others(registry);
}

#[cfg(feature = "doc-engines")]
fn others(registry: &mut Registry) {
    use crate::doc::engines::{diamond::Diamond, loro::Loro, yrs::Yrs};
    use hashmill_workloads::doc::Named;

    doc::more_engines(registry, "loro", Loro::NAME, doc::all::<Loro>, |named| !named.is_of_the_format());
    let present = |named: Named| !named.is_of_the_format() && !matches!(named, Named::GetAt | Named::TextAt);
    doc::more_engines(registry, "yrs", Yrs::NAME, doc::present::<Yrs>, present);
    let words =
        |named: Named| matches!(named, Named::TextRead | Named::TextSpliceAppend | Named::TextSpliceBulk);
    doc::more_engines(registry, "diamond-types", Diamond::NAME, doc::words::<Diamond>, words);
}
