//! Typed text read by two threads: one reads the first rows, the other finds where the rest begins and reads on from
//! there. The columns hold differences, so rows have to be passed over to know what a later one says; that is a third of
//! the work of reading them.

use super::seq::{Builder, Kind, SPAN_TEXT, Span};
use crate::codec::limits::Meter;
use crate::codec::ops::OpReader;
use crate::codec::stretch::{Steady, Stretch};
use crate::error::LimitError;

/// What another thread read of a text, from somewhere in the middle on.
pub(super) struct Ahead<'a> {
    /// Where it stopped.
    pub(super) reader: OpReader<'a>,
    /// The rows that wait there.
    pub(super) steady: Steady,
    /// What it read.
    pub(super) text: Builder,
    /// What it could not place, behind that.
    pub(super) stretch: Option<Stretch>,
    /// What it might cost.
    meter: Meter,
}

impl<'a> Ahead<'a> {
    /// Reads `steady`, which begins `rows` rows behind `reader`, as far as characters of one byte go. None where something
    /// is wrong: whoever reads these rows again says what.
    pub(super) fn read(mut reader: OpReader<'a>, rows: u64, mut steady: Steady) -> Option<Self> {
        let (meter, mut text, mut rest) = (reader.meter, Builder::new(true), None);
        if !reader.pass(rows).ok()? {
            return None;
        }
        while let Some(stretch) = reader.stretch(&mut steady).ok()? {
            let at = reader.raw_offset() as u32;
            let later = stretch.ends().into_iter().flatten().all(|(id, succ)| succ.ctr > id.ctr);
            let Some(typed) = (if later { reader.ascii(stretch.len).ok()? } else { None }) else {
                rest = Some(stretch);
                break;
            };
            reader.meter.rows(1).ok()?;
            type_into(&mut text, &stretch, at, typed);
        }
        Some(Self { reader, steady, text, stretch: rest, meter })
    }

    /// What reading may cost from here on, when `before` is what is left after the first rows.
    pub(super) fn meter(&self, before: Meter) -> Result<Meter, LimitError> {
        before.less(self.meter, self.reader.meter)
    }
}

/// Adds typed characters of one byte each, which lie at `at` in the heap.
#[inline]
pub(super) fn type_into(builder: &mut Builder, stretch: &Stretch, at: u32, text: &str) {
    let mut n = 0;
    while n < stretch.len {
        let len = (stretch.len - n).min(SPAN_TEXT as u32);
        let gone = stretch.succ.map(|id| super::log::stepped(id, stretch.step, n)).unwrap_or_default();
        let span = Span {
            id: stretch.id.plus(n),
            len,
            origin: if n == 0 { stretch.origin } else { stretch.id.plus(n - 1) },
            at: at + n,
            gone,
            reg: 0,
            bytes: len,
            width: len,
            kind: Kind::Text,
            step: if len == 1 { 0 } else { stretch.step },
            visible: gone.is_none(),
        };
        builder.push(span, if span.visible { &text[n as usize..][..len as usize] } else { "" });
        n += len;
    }
}
