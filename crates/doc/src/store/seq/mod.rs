//! Sequence: the elements of a list or text in list order, including tombstones, as spans in a B-tree that counts
//! visible units.
//!
//! A span is a run of elements with consecutive ids, each inserted after the one before, in the same state: all
//! visible, or all deleted by consecutive operations. Typing extends a span; deleting a range splits at most two.
//! Leaves hold spans and, once it was read, their visible text; [`LeafIndex`] finds the leaf of an element by its id. A
//! lookup by index or id costs O(log spans); typing at the position of the last edit costs O(1).

pub(crate) mod build;
mod check;
pub(crate) mod edit;
mod leaf_index;
mod revert;
pub(crate) mod tree;

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use crate::store::actors::Actors;
use crate::store::memory::byte_arena::{ByteArena, Bytes};
use crate::store::memory::cow_vec::CowVec;
use crate::store::memory::op_id_map::OpIdMap;
use crate::store::register::Values;
use crate::types::{ActorIdx, KeyOpIdx, LeafIdx, NodeIdx, OpId, RegIdx, SpanIdx, TextEncoding};

use leaf_index::LeafIndex;

/// Kind of a span's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One character each; `at` is the address of their text in the heap.
    Text,
    /// Other values; `at` is the number of the first in the log's values. In texts, one per span.
    Values,
    /// A mark boundary; `at` is its number. Never visible, never deleted.
    Mark,
}

/// A run of elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) id: OpId,
    pub(crate) len: u32,
    /// The element after which the first one was inserted.
    pub(crate) origin: OpId,
    pub(crate) at: u32,
    /// The operation that deleted the first element; those of the others are `step` apart. Counter 0: not deleted this
    /// way.
    pub(crate) deleted_by: OpId,
    /// Register of an element with its own history; such a span has one element.
    pub(crate) reg: Option<RegIdx>,
    /// Length in bytes of the text of all elements for [`Kind::Text`]; of the visible text for other kinds and elements
    /// with a register.
    pub(crate) bytes: u32,
    /// Width in units of the document's encoding, if visible.
    pub(crate) width: u32,
    pub(crate) kind: Kind,
    pub(crate) step: i8,
    pub(crate) visible: bool,
}

impl Span {
    pub(crate) fn last(&self) -> OpId {
        self.id.plus(self.len - 1)
    }

    #[inline]
    fn contains(&self, id: OpId) -> bool {
        self.id.actor == id.actor && id.ctr >= self.id.ctr && id.ctr - self.id.ctr < self.len
    }

    /// Width as counted by the tree.
    #[inline]
    pub(crate) fn units(&self) -> u32 {
        if self.visible { self.width } else { 0 }
    }

    /// Length of the visible text in bytes.
    #[inline]
    pub(crate) fn shown(&self) -> u32 {
        if self.visible { self.bytes } else { 0 }
    }

    /// Deletion of the `n`-th element.
    pub(crate) fn deletion_of(&self, n: u32) -> OpId {
        crate::store::log::stepped(self.deleted_by, self.step, n)
    }

    /// Width of the `n`-th element.
    #[inline]
    fn width_at(&self, n: u32, ctx: &SeqContext<'_>) -> u32 {
        match self.len {
            1 => self.width,
            len if len == self.width => 1,
            _ => self.measure(n + 1, ctx).1 - self.measure(n, ctx).1,
        }
    }

    /// Bytes and width of the first `n` elements.
    fn measure(&self, n: u32, ctx: &SeqContext<'_>) -> (u32, u32) {
        // An element that is no text counts as its placeholder character, whose bytes are not in the heap.
        if n == 0 {
            return (0, 0);
        }
        if self.kind != Kind::Text {
            // A list of values; spans of other elements are never split.
            return (0, n);
        }
        if self.bytes == self.len {
            return (n, n);
        }
        let text = ctx.heap.text(Bytes { at: self.at, len: self.bytes });
        let bytes = text.char_indices().nth(n as usize).map_or(text.len(), |(at, _)| at);
        let width = match ctx.encoding {
            TextEncoding::Utf8CodeUnit => bytes as u32,
            TextEncoding::Utf16CodeUnit => text[..bytes].chars().map(|c| c.len_utf16() as u32).sum(),
            TextEncoding::UnicodeCodePoint | TextEncoding::GraphemeCluster => n,
        };
        (bytes as u32, width)
    }

    /// Keeps the first `n` elements.
    pub(crate) fn cut(&mut self, n: u32, ctx: &SeqContext<'_>) {
        self.split_off(n, ctx);
    }

    /// Splits the span between neighbours with different `fate`.
    pub(crate) fn divided<T: PartialEq>(
        self,
        ctx: &SeqContext<'_>,
        fate: impl Fn(&Span, u32) -> T,
    ) -> SmallVec<[Span; 3]> {
        let mut parts = SmallVec::new();
        let mut rest = self;
        loop {
            let first = fate(&rest, 0);
            let Some(n) = (1..rest.len).find(|n| fate(&rest, *n) != first) else { break };
            let right = rest.split_off(n, ctx);
            parts.push(std::mem::replace(&mut rest, right));
        }
        parts.push(rest);
        parts
    }

    /// Splits the span between neighbours whose deletions differ in `apart`.
    pub(crate) fn divided_by_deletion(
        self,
        ctx: &SeqContext<'_>,
        apart: impl Fn(OpId) -> bool,
    ) -> SmallVec<[Span; 3]> {
        let mut parts = SmallVec::new();
        let mut rest = self;
        if !self.deleted_by.is_none() && self.len > 1 {
            let mut n = 1;
            while n < rest.len {
                if apart(rest.deletion_of(n)) == apart(rest.deletion_of(n - 1)) {
                    n += 1;
                    continue;
                }
                let right = rest.split_off(n, ctx);
                parts.push(std::mem::replace(&mut rest, right));
                n = 1;
            }
        }
        parts.push(rest);
        parts
    }

    /// Splits off the elements from `n` on.
    pub(crate) fn split_off(&mut self, n: u32, ctx: &SeqContext<'_>) -> Span {
        let (bytes, width) = self.measure(n, ctx);
        let mut right = *self;
        right.id = self.id.plus(n);
        right.origin = self.id.plus(n - 1);
        right.len -= n;
        right.bytes -= bytes;
        right.width -= width;
        right.at += if self.kind == Kind::Text { bytes } else { n };
        if !self.deleted_by.is_none() {
            right.deleted_by = self.deletion_of(n);
        }
        self.len = n;
        self.bytes = bytes;
        self.width = width;
        right
    }
}

/// Data of the document that a sequence needs.
#[derive(Clone, Copy)]
pub(crate) struct SeqContext<'a> {
    pub(crate) heap: &'a ByteArena,
    pub(crate) actors: &'a Actors,
    pub(crate) encoding: TextEncoding,
}

/// Register of an element with updates, or with several deletions.
#[derive(Clone, Debug, Default)]
pub(crate) struct ElemReg {
    pub(crate) values: Values,
    /// Newest operation on the element in the log.
    pub(crate) last: Option<KeyOpIdx>,
    /// Deletions of the inserted value besides [`Span::deleted_by`].
    pub(crate) dels: SmallVec<[OpId; 2]>,
}

#[derive(Debug, Default)]
struct Leaf {
    spans: Vec<Span>,
    width: u32,
    /// Visible text of the leaf, cached on first request until the next change.
    text: OnceLock<Box<str>>,
}

/// A leaf is cloned only to be changed.
impl Clone for Leaf {
    fn clone(&self) -> Self {
        Self { spans: self.spans.clone(), width: self.width, text: OnceLock::new() }
    }
}

#[derive(Clone, Debug)]
struct LeafRef {
    leaf: Arc<Leaf>,
    parent: NodeIdx,
    next: Option<LeafIdx>,
}

#[derive(Clone, Copy, Debug)]
struct Child {
    /// Number of a leaf or a node: [`Inner::bottom`].
    number: u32,
    width: u32,
}

impl Child {
    fn leaf(leaf: LeafIdx, width: u32) -> Self {
        Self { number: leaf.get(), width }
    }

    fn node(node: NodeIdx, width: u32) -> Self {
        Self { number: node.get(), width }
    }
}

#[derive(Clone, Debug)]
struct Inner {
    /// `None` for the root.
    parent: Option<NodeIdx>,
    /// Are its children leaves?
    bottom: bool,
    kids: SmallVec<[Child; tree::KIDS]>,
}

/// Position of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ElementPos {
    leaf: LeafIdx,
    span: SpanIdx,
    /// Index of the element in its span.
    pub(crate) off: u32,
}

impl ElementPos {
    /// The element `n` after this one in the same span.
    pub(crate) fn on(self, n: u32) -> Self {
        Self { off: self.off + n, ..self }
    }

    /// The element `n` before this one in the same span.
    pub(crate) fn minus(self, n: u32) -> Self {
        Self { off: self.off - n, ..self }
    }
}

/// A position between elements: before element `off` of span `span`, which may be one past the last of its leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InsertPos {
    leaf: LeafIdx,
    span: SpanIdx,
    off: u32,
}

/// Sequence of elements.
#[derive(Clone, Debug)]
pub(crate) struct Seq {
    pub(crate) is_text: bool,
    leaves: Vec<LeafRef>,
    inner: Vec<Inner>,
    root: NodeIdx,
    /// Leaf of each element.
    ids: LeafIndex,
    pub(crate) regs: CowVec<ElemReg, RegIdx>,
    width: u32,
    /// Number of mark boundaries.
    pub(crate) marks: u32,
    /// How often a leaf became empty. Some may have elements again.
    emptied: u32,
    hot: EditFinger,
    leaf_path: LeafPath,
    touched: [LastTouched; AUTHORS],
}

/// Number of actors with a cached position in [`Seq::touched`].
const AUTHORS: usize = 4;

/// Leaf and span where an element of an actor was last inserted or changed; lookups for that actor start here. The
/// element may have moved since.
#[derive(Clone, Copy, Debug, Default)]
struct LastTouched {
    leaf: LeafIdx,
    span: SpanIdx,
}

/// Path to the widths above a leaf, so that typing there does not search it again: each node above the leaf and the
/// child index taken there, from the root down.
#[derive(Clone, Debug, Default)]
struct LeafPath {
    leaf: Option<LeafIdx>,
    nodes: SmallVec<[(NodeIdx, u32); 4]>,
}

/// Position of the last edit: a leaf and the units before it, and a span of it and the units before that in the leaf.
/// All zeros is always valid.
#[derive(Clone, Copy, Debug, Default)]
struct EditFinger {
    leaf: LeafIdx,
    base: u32,
    span: SpanIdx,
    units: u32,
    /// The span ends with the newest element of its actor, and the next one would be looked up in this leaf.
    newest: bool,
}

impl Seq {
    pub(crate) fn new(is_text: bool) -> Self {
        let leaf = LeafRef { leaf: Arc::default(), parent: NodeIdx::default(), next: None };
        let root =
            Inner { parent: None, bottom: true, kids: smallvec::smallvec![Child::leaf(LeafIdx::FIRST, 0)] };
        Self {
            is_text,
            leaves: vec![leaf],
            inner: vec![root],
            root: NodeIdx::default(),
            ids: LeafIndex::default(),
            regs: CowVec::default(),
            width: 0,
            marks: 0,
            emptied: 0,
            hot: EditFinger::default(),
            leaf_path: LeafPath::default(),
            touched: [LastTouched::default(); AUTHORS],
        }
    }

    /// Length in units of the encoding; of a list, in elements.
    pub(crate) fn width(&self) -> usize {
        self.width as usize
    }

    #[inline]
    pub(crate) fn span(&self, at: ElementPos) -> &Span {
        &self.leaves[at.leaf.index()].leaf.spans[at.span.index()]
    }

    /// Register of an element that has one.
    #[inline]
    pub(crate) fn reg(&self, span: &Span) -> Option<&ElemReg> {
        self.regs.get(span.reg?)
    }

    /// The leaf with unit `index`, and the units before the leaf. Calls `step` with each node on the path and the index
    /// of its next child.
    #[inline]
    fn leaf_of(&self, index: u32, mut step: impl FnMut(NodeIdx, u32)) -> (LeafIdx, u32) {
        let (mut number, mut base) = (self.root, 0);
        loop {
            let node = &self.inner[number.index()];
            let mut kids = (0..).zip(&node.kids);
            let (at, kid) = loop {
                let (at, kid) = kids.next().expect("the index is below the width");
                if index - base < kid.width {
                    break (at, kid.number);
                }
                base += kid.width;
            };
            step(number, at);
            if node.bottom {
                return (LeafIdx::from_u32(kid), base);
            }
            number = NodeIdx::from_u32(kid);
        }
    }

    /// Is unit `index` in the leaf of the last edit?
    #[inline]
    fn is_near(&self, index: u32) -> bool {
        let EditFinger { leaf, base, .. } = self.hot;
        index >= base && index - base < self.leaves[leaf.index()].leaf.width
    }

    /// The child of the node above the last edited leaf that holds unit `index`, and the units before it, if one does:
    /// most jumps are short.
    #[inline]
    fn beside(&self, index: u32) -> Option<(u32, u32)> {
        let EditFinger { leaf, mut base, .. } = self.hot;
        let (node, mut at) = *self.leaf_path.nodes.last().filter(|_| self.leaf_path.leaf == Some(leaf))?;
        let kids = &self.inner[node.index()].kids;
        while index < base {
            at = at.checked_sub(1)?;
            base -= kids[at as usize].width;
        }
        while index - base >= kids.get(at as usize)?.width {
            base += kids[at as usize].width;
            at += 1;
        }
        Some((at, base))
    }

    /// The visible element that covers unit `index`, and the unit at which it starts.
    #[inline]
    pub(crate) fn locate(&self, index: u32, ctx: &SeqContext<'_>) -> Option<(ElementPos, u32)> {
        if index >= self.width {
            return None;
        }
        let (leaf, base) = match self.is_near(index) {
            true => (self.hot.leaf, self.hot.base),
            false => self.leaf_of(index, |_, _| ()),
        };
        self.scan(leaf, base, index, ctx).map(|(at, start, _)| (at, start))
    }

    /// The span of the visible element that covers unit `index`, and the element's index in it.
    #[inline]
    pub(crate) fn element(&self, index: u32, ctx: &SeqContext<'_>) -> Option<(&Span, u32)> {
        if index >= self.width {
            return None;
        }
        let (number, base) = self.leaf_of(index, |_, _| ());
        let spans = &self.leaves[number.index()].leaf.spans;
        let known = number == self.hot.leaf && index >= base + self.hot.units;
        let (first, units) = if known { (self.hot.span.index(), self.hot.units) } else { (0, 0) };
        let mut unit = index - base - units;
        for span in &spans[first..] {
            if unit < span.units() {
                return Some((span, element_at(span, unit, ctx).0));
            }
            unit -= span.units();
        }
        None
    }

    /// The element of a leaf that covers unit `index`, the unit at which it starts, and the position of its span.
    #[inline]
    fn scan(
        &self,
        leaf: LeafIdx,
        base: u32,
        index: u32,
        ctx: &SeqContext<'_>,
    ) -> Option<(ElementPos, u32, EditFinger)> {
        let spans = &self.leaves[leaf.index()].leaf.spans;
        let (mut first, mut units) =
            if leaf == self.hot.leaf { (self.hot.span.index(), self.hot.units) } else { (0, 0) };
        while index < base + units {
            first -= 1;
            units -= spans[first].units();
        }
        for (i, span) in (first as u32..).map(SpanIdx::from_u32).zip(&spans[first..]) {
            let width = span.units();
            if index - base - units < width {
                let (off, start) = element_at(span, index - base - units, ctx);
                let hot = EditFinger { leaf, base, span: i, units, newest: false };
                return Some((ElementPos { leaf, span: i, off }, base + units + start, hot));
            }
            units += width;
        }
        None
    }

    /// As [`Self::locate`]; caches the position for the next call.
    #[inline]
    pub(crate) fn locate_hot(&mut self, index: u32, ctx: &SeqContext<'_>) -> Option<(ElementPos, u32)> {
        if index >= self.width {
            return None;
        }
        let EditFinger { leaf, base, span, units, .. } = self.hot;
        let unit = index.wrapping_sub(base + units);
        if let Some(hot) = self.leaves[leaf.index()].leaf.spans.get(span.index())
            && unit < hot.units()
            && hot.width == hot.len
        {
            return Some((ElementPos { leaf, span, off: unit }, index));
        }
        let (leaf, base) = if self.is_near(index) {
            (leaf, base)
        } else if let Some((kid, base)) = self.beside(index) {
            let (node, at) = self.leaf_path.nodes.last_mut().expect("every leaf has a path");
            *at = kid;
            let leaf = LeafIdx::from_u32(self.inner[node.index()].kids[kid as usize].number);
            self.leaf_path.leaf = Some(leaf);
            (leaf, base)
        } else {
            let mut path = std::mem::take(&mut self.leaf_path);
            path.nodes.clear();
            let (leaf, base) = self.leaf_of(index, |node, kid| path.nodes.push((node, kid)));
            self.leaf_path = LeafPath { leaf: Some(leaf), ..path };
            (leaf, base)
        };
        let (at, start, hot) = self.scan(leaf, base, index, ctx)?;
        self.hot = hot;
        Some((at, start))
    }

    /// The gap to insert before unit `index`, which is at most the width; the element before it; and the actual unit,
    /// because elements are never split. Caches the position for the next call.
    #[inline]
    pub(crate) fn gap_hot(&mut self, index: u32, ctx: &SeqContext<'_>) -> Option<(InsertPos, OpId, u32)> {
        let Some(before) = index.checked_sub(1) else { return Some((self.front(), OpId::NONE, 0)) };
        let (at, start) = self.locate_hot(before, ctx)?;
        let span = self.span(at);
        Some((self.gap_after(at), span.id.plus(at.off), start + span.width_at(at.off, ctx)))
    }

    /// Width of one visible element.
    pub(crate) fn width_at(&self, at: ElementPos, ctx: &SeqContext<'_>) -> usize {
        self.span(at).width_at(at.off, ctx) as usize
    }

    /// Position of the element inserted by operation `id`.
    pub(crate) fn find(&self, id: OpId) -> Option<ElementPos> {
        let LastTouched { leaf, span } = self.touched[id.actor.index() % AUTHORS];
        let there = self.leaves.get(leaf.index()).and_then(|leaf| leaf.leaf.spans.get(span.index()));
        if let Some(found) = there.filter(|span| span.contains(id)) {
            return Some(ElementPos { leaf, span, off: id.ctr - found.id.ctr });
        }
        let leaf = self.ids.leaf(id, &self.leaves)?;
        let spans = &self.leaves.get(leaf.index())?.leaf.spans;
        let span = spans.iter().position(|span| span.contains(id))?;
        Some(ElementPos { leaf, span: SpanIdx::from_u32(span as u32), off: id.ctr - spans[span].id.ctr })
    }

    /// As [`Self::find`], but tries the position of the last edit first.
    #[inline]
    pub(crate) fn find_near(&self, id: OpId) -> Option<ElementPos> {
        let EditFinger { leaf, span, .. } = self.hot;
        match self.leaves[leaf.index()].leaf.spans.get(span.index()) {
            Some(found) if found.contains(id) => Some(ElementPos { leaf, span, off: id.ctr - found.id.ctr }),
            _ => self.find(id),
        }
    }

    /// Caches the position of an actor's element.
    #[inline]
    fn touch(&mut self, actor: ActorIdx, leaf: LeafIdx, span: SpanIdx) {
        self.touched[actor.index() % AUTHORS] = LastTouched { leaf, span };
    }

    /// Number of units before an element. Costs O(1) at the last edit.
    pub(crate) fn units_before(&self, at: ElementPos, ctx: &SeqContext<'_>) -> usize {
        let leaf = &self.leaves[at.leaf.index()];
        let span = self.span(at);
        let mut units = if span.visible { span.measure(at.off, ctx).1 } else { 0 };
        let hot = self.hot;
        if at.leaf == hot.leaf && at.span >= hot.span {
            let spans = &leaf.leaf.spans[hot.span.index()..at.span.index()];
            return (hot.base + hot.units + units + spans.iter().map(Span::units).sum::<u32>()) as usize;
        }
        let spans = &leaf.leaf.spans[..at.span.index()];
        units += spans.iter().map(Span::units).sum::<u32>();
        let (mut kid, mut parent) = (at.leaf.get(), Some(leaf.parent));
        while let Some(number) = parent {
            let node = &self.inner[number.index()];
            let before = node.kids.iter().take_while(|other| other.number != kid);
            units += before.map(|kid| kid.width).sum::<u32>();
            (kid, parent) = (number.get(), node.parent);
        }
        units as usize
    }

    /// Does the element at `a` precede the one at `b`?
    pub(crate) fn before(&self, a: ElementPos, b: ElementPos) -> bool {
        if a.leaf == b.leaf {
            return (a.span, a.off) < (b.span, b.off);
        }
        self.path(a.leaf) < self.path(b.leaf)
    }

    /// Path from the root to a leaf: the child index at each level.
    fn path(&self, leaf: LeafIdx) -> SmallVec<[u32; 8]> {
        let mut path = SmallVec::new();
        let (mut kid, mut parent) = (leaf.get(), Some(self.leaves[leaf.index()].parent));
        while let Some(number) = parent {
            let node = &self.inner[number.index()];
            let at = node.kids.iter().position(|other| other.number == kid);
            path.push(at.expect("a parent lists its children") as u32);
            (kid, parent) = (number.get(), node.parent);
        }
        path.reverse();
        path
    }

    /// Announces local typing: no lookups by id are expected.
    #[inline]
    pub(crate) fn put_off(&mut self) {
        self.ids.put_off();
    }

    /// Corrects the index.
    #[inline]
    pub(crate) fn update_index(&mut self) {
        self.ids.update(&self.leaves);
    }

    /// Sets the index that was built in parallel.
    pub(crate) fn set_index(&mut self, index: OpIdMap) {
        self.ids = LeafIndex::new(index);
    }

    /// Number of leaves: visiting one costs about as much as finding an element.
    pub(crate) fn size(&self) -> usize {
        self.leaves.len()
    }

    /// All leaves in list order.
    fn leaves(&self) -> Leaves<'_> {
        Leaves { seq: self, next: Some(LeafIdx::FIRST) }
    }

    /// All spans in list order, one slice per leaf.
    pub(crate) fn pages(&self) -> Pages<'_> {
        Pages(self.leaves())
    }

    /// All spans in list order.
    pub(crate) fn spans(&self) -> impl Iterator<Item = &Span> {
        self.leaves().flat_map(|leaf| &leaf.spans)
    }

    /// The visible text; `shown` returns the text of a visible span. Each leaf caches its part until it changes.
    pub(crate) fn text<'a>(&'a self, shown: impl Fn(&'a Span) -> &'a str) -> String {
        if let [only] = &self.leaves[..]
            && let Some(known) = only.leaf.text.get()
        {
            return str::to_owned(known);
        }
        let bytes = |leaf: &Leaf| match leaf.text.get() {
            Some(text) => text.len(),
            None => leaf.spans.iter().map(|span| span.shown() as usize).sum(),
        };
        let mut text = String::with_capacity(self.leaves().map(bytes).sum());
        for leaf in self.leaves() {
            if let Some(known) = leaf.text.get() {
                text.push_str(known);
                continue;
            }
            let from = text.len();
            leaf.spans.iter().filter(|span| span.visible).for_each(|span| text.push_str(shown(span)));
            // Another thread may have stored the same text first.
            let _ = leaf.text.set(text[from..].into());
        }
        text
    }
}

struct Leaves<'a> {
    seq: &'a Seq,
    next: Option<LeafIdx>,
}

impl<'a> Iterator for Leaves<'a> {
    type Item = &'a Leaf;

    fn next(&mut self) -> Option<&'a Leaf> {
        let leaf = self.seq.leaves.get(self.next?.index())?;
        self.next = leaf.next;
        Some(&leaf.leaf)
    }
}

/// The spans of a sequence, leaf by leaf.
pub(crate) struct Pages<'a>(Leaves<'a>);

impl<'a> Iterator for Pages<'a> {
    type Item = &'a [Span];

    #[inline]
    fn next(&mut self) -> Option<&'a [Span]> {
        self.0.next().map(|leaf| &leaf.spans[..])
    }
}

/// The element of a visible span that covers `unit`, and the unit at which it starts, both relative to the span.
#[inline]
fn element_at(span: &Span, unit: u32, ctx: &SeqContext<'_>) -> (u32, u32) {
    match span.kind {
        _ if span.len == 1 => (0, 0),
        Kind::Text if span.width == span.len => (unit, unit),
        Kind::Text => char_at(span, unit, ctx),
        Kind::Values | Kind::Mark => (unit, unit),
    }
}

/// As [`element_at`], for characters of any width.
fn char_at(span: &Span, unit: u32, ctx: &SeqContext<'_>) -> (u32, u32) {
    let text = ctx.heap.text(Bytes { at: span.at, len: span.bytes });
    let mut start = 0;
    for (n, c) in text.chars().enumerate() {
        let width = match ctx.encoding {
            TextEncoding::Utf8CodeUnit => c.len_utf8(),
            TextEncoding::Utf16CodeUnit => c.len_utf16(),
            TextEncoding::UnicodeCodePoint | TextEncoding::GraphemeCluster => 1,
        } as u32;
        if unit < start + width {
            return (n as u32, start);
        }
        start += width;
    }
    (span.len - 1, start)
}
