//! Rules of shape operators: each passes `w` on under the inverse map.

use super::super::change::{line, unwritten};
use super::super::expr::made;
use super::{Done, Pull, anchor};
use fiberloom_core::notation::Span;
use fiberloom_core::notation::typed::{Bound, Expr, Kind, VarId};

impl Pull<'_> {
    /// `collapse(a, (i, j) -> k)`: `a` gets `split(w, k -> (i, j))`, one split for each variable but the last. Where `a` says how far they go, it
    /// still does: of an empty split only one is known.
    pub(super) fn collapse(&mut self, body: &Expr, (from, to): (&[VarId], VarId), w: Expr) -> Done {
        self.is_whole(&[to], body.span)?;
        let mut w = w;
        let mut rest = to;
        for (n, outer) in from[..from.len() - 1].iter().enumerate() {
            let inner = if n + 2 == from.len() { from[n + 1] } else { self.draft.var(to) };
            let ty = w.ty;
            w = made(Kind::Split { body: Box::new(w), from: rest, to: (*outer, inner) }, ty);
            rest = inner;
        }
        self.anchoring(body, (&[to], from), w)
    }

    /// `split(a, k -> (i, j))`: `a` gets `collapse(w, (i, j) -> k)`. Where `a` says how far `k` goes, it still does.
    pub(super) fn split(&mut self, body: &Expr, (from, to): (VarId, (VarId, VarId)), w: Expr) -> Done {
        self.is_whole(&[to.0, to.1], body.span)?;
        let ty = w.ty;
        let w = made(Kind::Collapse { body: Box::new(w), from: vec![to.0, to.1], to: from }, ty);
        self.anchoring(body, (&[to.0, to.1], &[from]), w)
    }

    /// `concat((a, b), (j, k) -> l)`: each part gets its slice, `a` gets `slice(w, l -> j, 0:|j|)`.
    pub(super) fn concat(&mut self, parts: &[Expr], (from, to): (&[VarId], VarId), w: Expr, span: Span) -> Done {
        self.is_whole(&[to], span)?;
        let mut start = Bound::default();
        for (part, own) in parts.iter().zip(from) {
            let length = self.draft.extent(*own, span)?;
            let end = self.behind(&start, length);
            let (ty, l) = (w.ty, self.draft.var(to));
            let whole = super::Change::vars([(to, l)]).expr(&w)?;
            let slice =
                Kind::Slice { body: Box::new(whole), from: l, to: *own, start, end: Some(end.clone()), step: 1 };
            self.passed(part, (&[to], &[*own]), made(slice, ty))?;
            start = end;
        }
        Ok(())
    }

    /// Refuses a slice of a shape operator: what it passes on is no function of the variable that the operator leaves.
    fn is_whole(&self, left: &[VarId], span: Span) -> Done {
        let is_cut = left.iter().any(|v| self.now.maps.contains_key(v));
        if is_cut { Err(unwritten(span)) } else { Ok(()) }
    }

    /// The sum of two bounds, with sizes without names as numbers.
    fn behind(&self, start: &Bound, length: Bound) -> Bound {
        let mut end = Bound { constant: start.constant + length.constant, terms: start.terms.clone() };
        for (factor, size) in length.terms {
            let of = &self.draft.program.sizes[size.index()];
            match of.value.filter(|_| of.name.is_none()) {
                Some(value) => end.constant += factor * value as i64,
                None => end.terms.push((factor, size)),
            }
        }
        end
    }

    /// `slice(a, j -> k, s:e:r)`: `a` gets `w` at `j = s + r·k`, and nothing elsewhere: below, `j` is that map of `k`.
    pub(super) fn slice(
        &mut self,
        body: &Expr,
        (from, to): (VarId, VarId),
        (start, step): (&Bound, u64),
        w: Expr,
    ) -> Done {
        let of = self.now.maps.get(&to).cloned().unwrap_or(fiberloom_core::notation::typed::Map::Var(to));
        self.now.maps.insert(from, line(start, step, of));
        self.pull(body, w)
    }

    /// As [`Pull::passed`]; what the body reads says how far what enters goes.
    fn anchoring(&mut self, body: &Expr, (left, entered): (&[VarId], &[VarId]), w: Expr) -> Done {
        let known = self.anchors.len();
        self.anchors.extend(entered.iter().filter_map(|v| Some((*v, anchor(body, *v)?))));
        let done = self.passed(body, (left, entered), w);
        self.anchors.truncate(known);
        done
    }

    /// The body gets `w`, which is no function of `left` any more, but of `entered`.
    fn passed(&mut self, body: &Expr, (left, entered): (&[VarId], &[VarId]), w: Expr) -> Done {
        let before = self.scope.clone();
        self.scope.retain(|v| !left.contains(v));
        self.scope.extend(entered);
        let done = self.pull(body, w);
        self.scope = before;
        done
    }
}
