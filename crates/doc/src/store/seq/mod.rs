//! A list or a text: elements in list order, deleted ones included, as spans in a B-tree that counts what is visible.
//!
//! A span is a run of elements with consecutive ids, each inserted after the one before, that share one fate: all
//! visible, or all deleted by consecutive operations. Typing extends a span; deleting a range splits at most two.
//! Leaves hold spans and, once it was read, the text they show; [`Ids`] finds the leaf of an element by its id.
//! Finding by index or by id costs O(log spans); typing where the last edit was costs O(1).

mod back;
mod build;
mod check;
mod edit;
mod ids;
mod tree;

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use crate::store::actors::Actors;
use crate::store::memory::byte_arena::{ByteArena, Bytes};
use crate::store::memory::cow_vec::CowVec;
use crate::store::memory::op_id_map::OpIdMap;
use crate::store::register::Values;
use crate::types::{ActorIdx, KeyOpIdx, LeafIdx, NodeIdx, OpId, RegIdx, SpanIdx, TextEncoding};

pub(crate) use build::{Builder, Unsorted};
pub(crate) use edit::Shown;
pub(crate) use tree::SPAN_TEXT;

use ids::Ids;

/// What a span's elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One character each; `at` is where their text lies in the heap.
    Text,
    /// Other values; `at` is the number of the first in the log's values. In texts one a span.
    Values,
    /// A boundary of a mark, `at` is its number. Never visible, never deleted.
    Mark,
}

/// A run of elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) id: OpId,
    pub(crate) len: u32,
    /// What the first element was inserted after.
    pub(crate) origin: OpId,
    pub(crate) at: u32,
    /// The operation that deleted the first element; the others' are `step` apart. Counter 0: not deleted so.
    pub(crate) deleted_by: OpId,
    /// The register of an element with a history of its own; such spans have one element.
    pub(crate) reg: Option<RegIdx>,
    /// Bytes of the text: of all elements of [`Kind::Text`]; of what is shown for others and those with a register.
    pub(crate) bytes: u32,
    /// Width in units of the document's encoding if visible.
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

    /// Width that counts.
    #[inline]
    pub(crate) fn units(&self) -> u32 {
        if self.visible { self.width } else { 0 }
    }

    /// Bytes of the text it shows.
    #[inline]
    pub(crate) fn shown(&self) -> u32 {
        if self.visible { self.bytes } else { 0 }
    }

    /// The deletion of the `n`-th element.
    pub(crate) fn deletion_of(&self, n: u32) -> OpId {
        crate::store::log::stepped(self.deleted_by, self.step, n)
    }

    /// Width of the `n`-th element.
    #[inline]
    fn width_at(&self, n: u32, ctx: &Ctx<'_>) -> u32 {
        match self.len {
            1 => self.width,
            len if len == self.width => 1,
            _ => self.measure(n + 1, ctx).1 - self.measure(n, ctx).1,
        }
    }

    /// Bytes and width of the first `n` elements.
    fn measure(&self, n: u32, ctx: &Ctx<'_>) -> (u32, u32) {
        // An element that is no text counts as the character that stands for it, whose bytes are not in the heap.
        if n == 0 {
            return (0, 0);
        }
        if self.kind != Kind::Text {
            // A list of values; elements of other spans are never divided.
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
    pub(crate) fn cut(&mut self, n: u32, ctx: &Ctx<'_>) {
        self.split_off(n, ctx);
    }

    /// Divides the span where `fate` says something else about two neighbours.
    pub(crate) fn divided<T: PartialEq>(
        self,
        ctx: &Ctx<'_>,
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

    /// Divides the span where `apart` says something else about the deletions of two neighbours.
    pub(crate) fn by_fate(self, ctx: &Ctx<'_>, apart: impl Fn(OpId) -> bool) -> SmallVec<[Span; 3]> {
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

    /// Takes the elements from `n` on off this span.
    pub(crate) fn split_off(&mut self, n: u32, ctx: &Ctx<'_>) -> Span {
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

/// What sequences need to know of their document.
#[derive(Clone, Copy)]
pub(crate) struct Ctx<'a> {
    pub(crate) heap: &'a ByteArena,
    pub(crate) actors: &'a Actors,
    pub(crate) encoding: TextEncoding,
}

/// An element with updates, or one that several deleted.
#[derive(Clone, Debug, Default)]
pub(crate) struct ElemReg {
    pub(crate) values: Values,
    /// The newest operation on the element in the log.
    pub(crate) last: Option<KeyOpIdx>,
    /// Deletions of the inserted value besides [`Span::deleted_by`].
    pub(crate) dels: SmallVec<[OpId; 2]>,
}

#[derive(Debug, Default)]
struct Leaf {
    spans: Vec<Span>,
    width: u32,
    /// What the visible spans of a text show, in order, once somebody has asked since the last change.
    text: OnceLock<Box<str>>,
}

/// Leaves are cloned to be changed.
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
struct Kid {
    /// Of a leaf or a node: [`Inner::bottom`].
    number: u32,
    width: u32,
}

impl Kid {
    fn leaf(leaf: LeafIdx, width: u32) -> Self {
        Self { number: leaf.get(), width }
    }

    fn node(node: NodeIdx, width: u32) -> Self {
        Self { number: node.get(), width }
    }
}

#[derive(Clone, Debug)]
struct Inner {
    /// None: it is the root.
    parent: Option<NodeIdx>,
    /// Its kids are leaves.
    bottom: bool,
    kids: SmallVec<[Kid; tree::KIDS]>,
}

/// Where an element is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct At {
    leaf: LeafIdx,
    span: SpanIdx,
    /// Number of the element in its span.
    pub(crate) off: u32,
}

impl At {
    /// The element `n` behind this one in the same span.
    pub(crate) fn on(self, n: u32) -> Self {
        Self { off: self.off + n, ..self }
    }

    /// The element `n` before this one in the same span.
    pub(crate) fn back(self, n: u32) -> Self {
        Self { off: self.off - n, ..self }
    }
}

/// A place between elements: before element `off` of span `span`, which may be one past the last of its leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gap {
    leaf: LeafIdx,
    span: SpanIdx,
    off: u32,
}

/// The sequence.
#[derive(Clone, Debug)]
pub(crate) struct Seq {
    pub(crate) is_text: bool,
    leaves: Vec<LeafRef>,
    inner: Vec<Inner>,
    root: NodeIdx,
    /// The leaf of each element.
    ids: Ids,
    pub(crate) regs: CowVec<ElemReg, RegIdx>,
    width: u32,
    /// How many boundaries of marks there are.
    pub(crate) marks: u32,
    /// How many times a leaf was left with nothing in it. Some of these may have something again.
    emptied: u32,
    hot: Hot,
    way: Way,
    touched: [Touched; AUTHORS],
}

/// So many people have a place of their own in [`Seq::touched`].
const AUTHORS: usize = 4;

/// A leaf and a span in it where an element of an actor was inserted or changed last: who goes on typing is looked for
/// here first. The element may have moved since.
#[derive(Clone, Copy, Debug, Default)]
struct Touched {
    leaf: LeafIdx,
    span: SpanIdx,
}

/// How the widths above a leaf are reached, so that typing there does not search them again: each node above it and the
/// place of the next there, from the root down.
#[derive(Clone, Debug, Default)]
struct Way {
    leaf: Option<LeafIdx>,
    nodes: SmallVec<[(NodeIdx, u32); 4]>,
}

/// Where the last edit was: a leaf and the units before it, a span in it and the units before that in the leaf. All zero
/// is always right.
#[derive(Clone, Copy, Debug, Default)]
struct Hot {
    leaf: LeafIdx,
    base: u32,
    span: SpanIdx,
    units: u32,
    /// The span ends with the newest element of its actor, and the one after that would be looked for in this leaf.
    newest: bool,
}

impl Seq {
    pub(crate) fn new(is_text: bool) -> Self {
        let leaf = LeafRef { leaf: Arc::default(), parent: NodeIdx::default(), next: None };
        let root =
            Inner { parent: None, bottom: true, kids: smallvec::smallvec![Kid::leaf(LeafIdx::FIRST, 0)] };
        Self {
            is_text,
            leaves: vec![leaf],
            inner: vec![root],
            root: NodeIdx::default(),
            ids: Ids::default(),
            regs: CowVec::default(),
            width: 0,
            marks: 0,
            emptied: 0,
            hot: Hot::default(),
            way: Way::default(),
            touched: [Touched::default(); AUTHORS],
        }
    }

    /// The length in units of the encoding; of a list in elements.
    pub(crate) fn width(&self) -> usize {
        self.width as usize
    }

    #[inline]
    pub(crate) fn span(&self, at: At) -> &Span {
        &self.leaves[at.leaf.place()].leaf.spans[at.span.place()]
    }

    /// The register of an element that has one.
    #[inline]
    pub(crate) fn reg(&self, span: &Span) -> Option<&ElemReg> {
        self.regs.get(span.reg?)
    }

    /// The leaf that holds unit `index`, and the units before it. `step` is told each node on the way and which of its kids
    /// is next.
    #[inline]
    fn leaf_of(&self, index: u32, mut step: impl FnMut(NodeIdx, u32)) -> (LeafIdx, u32) {
        let (mut number, mut base) = (self.root, 0);
        loop {
            let node = &self.inner[number.place()];
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
                return (LeafIdx::of(kid), base);
            }
            number = NodeIdx::of(kid);
        }
    }

    /// Whether unit `index` is in the leaf of the kept place.
    #[inline]
    fn is_near(&self, index: u32) -> bool {
        let Hot { leaf, base, .. } = self.hot;
        index >= base && index - base < self.leaves[leaf.place()].leaf.width
    }

    /// Which kid of the node right above the kept place holds unit `index`, and the units before it, if one does: most
    /// who go elsewhere do not go far.
    #[inline]
    fn beside(&self, index: u32) -> Option<(u32, u32)> {
        let Hot { leaf, mut base, .. } = self.hot;
        let (node, mut at) = *self.way.nodes.last().filter(|_| self.way.leaf == Some(leaf))?;
        let kids = &self.inner[node.place()].kids;
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

    /// The visible element that covers unit `index`, and the unit it starts at.
    #[inline]
    pub(crate) fn locate(&self, index: u32, ctx: &Ctx<'_>) -> Option<(At, u32)> {
        if index >= self.width {
            return None;
        }
        let (leaf, base) = match self.is_near(index) {
            true => (self.hot.leaf, self.hot.base),
            false => self.leaf_of(index, |_, _| ()),
        };
        self.scan(leaf, base, index, ctx).map(|(at, start, _)| (at, start))
    }

    /// The span with the visible element that covers unit `index`, and which of its elements that is.
    #[inline]
    pub(crate) fn element(&self, index: u32, ctx: &Ctx<'_>) -> Option<(&Span, u32)> {
        if index >= self.width {
            return None;
        }
        let (number, base) = self.leaf_of(index, |_, _| ());
        let spans = &self.leaves[number.place()].leaf.spans;
        let known = number == self.hot.leaf && index >= base + self.hot.units;
        let (first, units) = if known { (self.hot.span.place(), self.hot.units) } else { (0, 0) };
        let mut unit = index - base - units;
        for span in &spans[first..] {
            if unit < span.units() {
                return Some((span, element_at(span, unit, ctx).0));
            }
            unit -= span.units();
        }
        None
    }

    /// The element of a leaf that covers unit `index`, the unit it starts at, and where its span is.
    #[inline]
    fn scan(&self, leaf: LeafIdx, base: u32, index: u32, ctx: &Ctx<'_>) -> Option<(At, u32, Hot)> {
        let spans = &self.leaves[leaf.place()].leaf.spans;
        let (mut first, mut units) =
            if leaf == self.hot.leaf { (self.hot.span.place(), self.hot.units) } else { (0, 0) };
        while index < base + units {
            first -= 1;
            units -= spans[first].units();
        }
        for (i, span) in (first as u32..).map(SpanIdx::of).zip(&spans[first..]) {
            let width = span.units();
            if index - base - units < width {
                let (off, start) = element_at(span, index - base - units, ctx);
                let hot = Hot { leaf, base, span: i, units, newest: false };
                return Some((At { leaf, span: i, off }, base + units + start, hot));
            }
            units += width;
        }
        None
    }

    /// As [`Self::locate`], and remembers the place for the next call.
    #[inline]
    pub(crate) fn locate_hot(&mut self, index: u32, ctx: &Ctx<'_>) -> Option<(At, u32)> {
        if index >= self.width {
            return None;
        }
        let Hot { leaf, base, span, units, .. } = self.hot;
        let unit = index.wrapping_sub(base + units);
        if let Some(hot) = self.leaves[leaf.place()].leaf.spans.get(span.place())
            && unit < hot.units()
            && hot.width == hot.len
        {
            return Some((At { leaf, span, off: unit }, index));
        }
        let (leaf, base) = if self.is_near(index) {
            (leaf, base)
        } else if let Some((kid, base)) = self.beside(index) {
            let (node, at) = self.way.nodes.last_mut().expect("there is a way to every leaf");
            *at = kid;
            let leaf = LeafIdx::of(self.inner[node.place()].kids[kid as usize].number);
            self.way.leaf = Some(leaf);
            (leaf, base)
        } else {
            let mut way = std::mem::take(&mut self.way);
            way.nodes.clear();
            let (leaf, base) = self.leaf_of(index, |node, kid| way.nodes.push((node, kid)));
            self.way = Way { leaf: Some(leaf), ..way };
            (leaf, base)
        };
        let (at, start, hot) = self.scan(leaf, base, index, ctx)?;
        self.hot = hot;
        Some((at, start))
    }

    /// Where to insert before unit `index`, which is at most the width: the place, the element before it, and the unit
    /// that really is, since elements are never divided. Remembers the place for the next call.
    #[inline]
    pub(crate) fn gap_hot(&mut self, index: u32, ctx: &Ctx<'_>) -> Option<(Gap, OpId, u32)> {
        let Some(before) = index.checked_sub(1) else { return Some((self.front(), OpId::NONE, 0)) };
        let (at, start) = self.locate_hot(before, ctx)?;
        let span = self.span(at);
        Some((self.behind(at), span.id.plus(at.off), start + span.width_at(at.off, ctx)))
    }

    /// The width of one visible element.
    pub(crate) fn width_at(&self, at: At, ctx: &Ctx<'_>) -> usize {
        self.span(at).width_at(at.off, ctx) as usize
    }

    /// Where the element inserted by operation `id` is.
    pub(crate) fn find(&self, id: OpId) -> Option<At> {
        let Touched { leaf, span } = self.touched[id.actor.place() % AUTHORS];
        let there = self.leaves.get(leaf.place()).and_then(|leaf| leaf.leaf.spans.get(span.place()));
        if let Some(found) = there.filter(|span| span.contains(id)) {
            return Some(At { leaf, span, off: id.ctr - found.id.ctr });
        }
        let leaf = self.ids.leaf(id, &self.leaves)?;
        let spans = &self.leaves.get(leaf.place())?.leaf.spans;
        let span = spans.iter().position(|span| span.contains(id))?;
        Some(At { leaf, span: SpanIdx::of(span as u32), off: id.ctr - spans[span].id.ctr })
    }

    /// The same, looked for first where the last edit was.
    #[inline]
    pub(crate) fn find_near(&self, id: OpId) -> Option<At> {
        let Hot { leaf, span, .. } = self.hot;
        match self.leaves[leaf.place()].leaf.spans.get(span.place()) {
            Some(found) if found.contains(id) => Some(At { leaf, span, off: id.ctr - found.id.ctr }),
            _ => self.find(id),
        }
    }

    /// Remembers where an element of an actor is.
    #[inline]
    fn touch(&mut self, actor: ActorIdx, leaf: LeafIdx, span: SpanIdx) {
        self.touched[actor.place() % AUTHORS] = Touched { leaf, span };
    }

    /// How many units lie before an element. Costs O(1) where the last edit was.
    pub(crate) fn units_before(&self, at: At, ctx: &Ctx<'_>) -> usize {
        let leaf = &self.leaves[at.leaf.place()];
        let span = self.span(at);
        let mut units = if span.visible { span.measure(at.off, ctx).1 } else { 0 };
        let hot = self.hot;
        if at.leaf == hot.leaf && at.span >= hot.span {
            let spans = &leaf.leaf.spans[hot.span.place()..at.span.place()];
            return (hot.base + hot.units + units + spans.iter().map(Span::units).sum::<u32>()) as usize;
        }
        let spans = &leaf.leaf.spans[..at.span.place()];
        units += spans.iter().map(Span::units).sum::<u32>();
        let (mut kid, mut parent) = (at.leaf.get(), Some(leaf.parent));
        while let Some(number) = parent {
            let node = &self.inner[number.place()];
            let before = node.kids.iter().take_while(|other| other.number != kid);
            units += before.map(|kid| kid.width).sum::<u32>();
            (kid, parent) = (number.get(), node.parent);
        }
        units as usize
    }

    /// Whether the element at `a` stands before the one at `b`.
    pub(crate) fn before(&self, a: At, b: At) -> bool {
        if a.leaf == b.leaf {
            return (a.span, a.off) < (b.span, b.off);
        }
        self.path(a.leaf) < self.path(b.leaf)
    }

    /// The way from the root to a leaf: at each level the number of the kid.
    fn path(&self, leaf: LeafIdx) -> SmallVec<[u32; 8]> {
        let mut path = SmallVec::new();
        let (mut kid, mut parent) = (leaf.get(), Some(self.leaves[leaf.place()].parent));
        while let Some(number) = parent {
            let node = &self.inner[number.place()];
            let at = node.kids.iter().position(|other| other.number == kid);
            path.push(at.expect("a parent knows its kids") as u32);
            (kid, parent) = (number.get(), node.parent);
        }
        path.reverse();
        path
    }

    /// What follows is typed here: nobody looks for elements by their ids meanwhile.
    #[inline]
    pub(crate) fn put_off(&mut self) {
        self.ids.put_off();
    }

    /// Puts the index in order.
    #[inline]
    pub(crate) fn settle(&mut self) {
        self.ids.settle(&self.leaves);
    }

    /// Takes the index that was made beside the sequence.
    pub(crate) fn set_index(&mut self, index: OpIdMap) {
        self.ids = Ids::new(index);
    }

    /// How many leaves there are: looking at one costs about as much as finding an element.
    pub(crate) fn size(&self) -> usize {
        self.leaves.len()
    }

    /// All leaves in list order.
    fn leaves(&self) -> Leaves<'_> {
        Leaves { seq: self, next: Some(LeafIdx::FIRST) }
    }

    /// All spans in list order, those of a leaf at once.
    pub(crate) fn pages(&self) -> Pages<'_> {
        Pages(self.leaves())
    }

    /// All spans in list order.
    pub(crate) fn spans(&self) -> impl Iterator<Item = &Span> {
        self.leaves().flat_map(|leaf| &leaf.spans)
    }

    /// The visible text; `shown` says what a visible span shows. Each leaf remembers its part until it is changed.
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
            // Another reader may have been faster, with the same text.
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
        let leaf = self.seq.leaves.get(self.next?.place())?;
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

/// The element of a visible span that covers `unit`, and the unit it starts at, both counted in the span.
#[inline]
fn element_at(span: &Span, unit: u32, ctx: &Ctx<'_>) -> (u32, u32) {
    match span.kind {
        _ if span.len == 1 => (0, 0),
        Kind::Text if span.width == span.len => (unit, unit),
        Kind::Text => char_at(span, unit, ctx),
        Kind::Values | Kind::Mark => (unit, unit),
    }
}

/// As [`element_at`], where characters are not one unit wide.
fn char_at(span: &Span, unit: u32, ctx: &Ctx<'_>) -> (u32, u32) {
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
