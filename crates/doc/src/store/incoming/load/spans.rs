//! Spans of the sequence that is being read.

use crate::codec::ops::runs::InsertRun;
use crate::store::log::stepped;
use crate::store::memory::byte_arena::Bytes;
use crate::store::seq::build::Builder;
use crate::store::seq::tree::SPAN_TEXT;
use crate::store::seq::{Kind, SeqContext, Span};
use crate::types::TextEncoding;

/// Adds typed characters of one byte each, at address `at` of the heap.
#[inline]
pub(super) fn type_into(builder: &mut Builder, insert_run: &InsertRun, at: u32, text: &str) {
    let mut n = 0;
    while n < insert_run.len {
        let len = (insert_run.len - n).min(SPAN_TEXT as u32);
        let gone = insert_run.succ.map(|id| stepped(id, insert_run.step, n)).unwrap_or_default();
        let span = Span {
            id: insert_run.id.plus(n),
            len,
            origin: if n == 0 { insert_run.origin } else { insert_run.id.plus(n - 1) },
            at: at + n,
            deleted_by: gone,
            reg: None,
            bytes: len,
            width: len,
            kind: Kind::Text,
            step: if len == 1 { 0 } else { insert_run.step },
            visible: gone.is_none(),
        };
        builder.push(span, if span.visible { &text[n as usize..][..len as usize] } else { "" });
        n += len;
    }
}

/// Width of a span's text in units.
pub(super) fn text_width(span: &Span, ctx: &SeqContext<'_>) -> u32 {
    let text = ctx.heap.text(Bytes { at: span.at, len: span.bytes });
    match ctx.encoding {
        TextEncoding::UnicodeCodePoint | TextEncoding::GraphemeCluster => span.len,
        encoding => encoding.width(text) as u32,
    }
}
