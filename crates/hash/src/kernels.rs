//! Common parts of all kernels: a table for each instruction set, the proof that one runs here, and the
//! choice of a plan's row for a processor.
//!
//! A [`Kernel`] exists only for a table whose instructions run on this CPU, because only this file makes one.
//! Holding one is the proof that makes the `unsafe` calls into its table sound.

use crate::isa::{Cpu, Features};
use core::fmt;
use core::ptr;

/// The compiled inner loops of one function for one instruction set. Each function of this crate has its own
/// table type.
pub trait Table: Sized + 'static {
    /// Every compiled table: first the portable one, which needs no CPU features.
    const ALL: &'static [&'static Self];

    /// The name of its kernel.
    fn name(&self) -> &'static str;

    /// The features that its instructions need.
    fn needs(&self) -> Features;
}

/// A table whose instructions run on this CPU.
pub struct Kernel<T: Table>(&'static T);

impl<T: Table> Kernel<T> {
    /// The kernels that run on this CPU, the most portable first.
    pub fn all() -> impl Iterator<Item = Kernel<T>> {
        let have = features();
        T::ALL.iter().copied().filter(move |table| have.covers(table.needs())).map(Kernel)
    }

    /// The names of the compiled kernels that cannot run on this CPU, each with the features that it needs.
    pub fn unavailable() -> impl Iterator<Item = (&'static str, Features)> {
        let have = features();
        let lacking = T::ALL.iter().filter(move |table| !have.covers(table.needs()));
        lacking.map(|table| (table.name(), table.needs()))
    }

    /// The kernel of this name, if it runs on this CPU.
    pub fn by_name(name: &str) -> Option<Kernel<T>> {
        Kernel::all().find(|kernel| kernel.name() == name)
    }

    /// The kernel that needs no CPU features.
    pub const fn portable() -> Kernel<T> {
        Kernel(T::ALL[0])
    }

    /// The name for [`by_name`](Kernel::by_name).
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The kernel of this table, if it runs on this CPU.
    pub(crate) fn from_table(table: &'static T) -> Option<Kernel<T>> {
        Kernel::all().find(|kernel| kernel.is(table))
    }

    pub(crate) fn is(self, table: &T) -> bool {
        ptr::eq(self.0, table)
    }

    pub(crate) const fn table(self) -> &'static T {
        self.0
    }
}

impl<T: Table> Clone for Kernel<T> {
    fn clone(&self) -> Kernel<T> {
        *self
    }
}

impl<T: Table> Copy for Kernel<T> {}

impl<T: Table> PartialEq for Kernel<T> {
    fn eq(&self, other: &Kernel<T>) -> bool {
        self.is(other.0)
    }
}

impl<T: Table> Eq for Kernel<T> {}

impl<T: Table> fmt::Debug for Kernel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The features of this CPU, detected once: under a hypervisor detection takes as long as hashing a few
/// kilobytes.
fn features() -> Features {
    Cpu::detect_once().features
}

/// Does a row of a plan fit a processor that has the features of its tables?
pub(crate) type Fits = fn(&Cpu) -> bool;

/// The number of the first row for this processor; `requirements` returns a row's features and its condition.
pub(crate) fn choose<R>(rows: &[R], requirements: impl Fn(&R) -> (Features, Fits)) -> usize {
    let cpu = Cpu::detect_once();
    let suits = |row| {
        let (needs, fits) = requirements(row);
        cpu.features.covers(needs) && fits(&cpu)
    };
    rows.iter().position(suits).expect("the portable row fits every processor")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn the_first_needs_nothing<T: Table>() {
        assert_eq!(T::ALL[0].needs(), Features::default());
        assert_eq!(T::ALL[0].name(), "portable");
    }

    #[test]
    fn portable_tables_need_no_features() {
        the_first_needs_nothing::<crate::blake3::Table>();
        the_first_needs_nothing::<crate::argon2::Table>();
    }
}
