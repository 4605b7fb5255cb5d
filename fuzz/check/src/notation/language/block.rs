//! Blocks: few turns, conditions that settle, blocks in blocks, and some that reach the limit.

use super::{Known, Maker, NOWHERE, expression, named};
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::syntax::*;
use fiberloom_core::notation::typed::TURNS;

impl Maker<'_, '_> {
    /// A block in which others stand `deep` deep at most, behind what its condition begins with.
    pub(super) fn repeat(&mut self, deep: usize) -> Vec<Item> {
        let outer = std::mem::replace(&mut self.in_block, true);
        let counts = self.below(2) == 1;
        let counter = format!("N{}", self.counters);
        let mut items = Vec::new();
        if counts {
            self.counters += 1;
            let (sizes, fill, format) = (vec![], None, None);
            self.declared.push(Tensor { name: named(&counter), sort: Sort::Plain(Type::I64), sizes, fill, format });
            items.push(assigned(&counter, expression::literal(Literal::Int(0))));
        }
        // What the condition asks for is there before the block.
        let turns = if counts { Turns::While(self.condition(&counter)) } else { Turns::Times(self.times()) };
        let mut body = Vec::new();
        for _ in 0..self.one(&[1, 2, 1, 3]) {
            match self.below(4) {
                0 if deep > 0 => body.extend(self.repeat(deep - 1)),
                1 | 2 => body.push(Item::Statement(self.again())),
                _ => body.push(Item::Statement(self.statement(2))),
            }
        }
        if counts {
            let next = expression::binary(BinaryOp::Add, scalar(&counter), expression::literal(Literal::Int(1)));
            body.push(assigned(&counter, next));
        }
        items.push(Item::Repeat(Repeat { turns, body, span: NOWHERE }));
        self.in_block = outer;
        items
    }

    fn times(&mut self) -> Size {
        let sizes: Vec<String> = self.sizes.iter().map(|(name, _)| name.clone()).collect();
        match self.below(12) {
            0..3 if !sizes.is_empty() => {
                let name = self.one(&sizes);
                Size::Name(self.ident(&name))
            }
            11 => Size::Int(TURNS + 1, NOWHERE),
            _ => Size::Int(self.one(&[2, 1, 3, 0]), NOWHERE),
        }
    }

    /// A counter is below a small number, and perhaps some other scalar is, too.
    fn condition(&mut self, counter: &str) -> Expr {
        let few = expression::literal(Literal::Int(self.one(&[2, 1, 3, 0])));
        let counted = expression::binary(BinaryOp::Lt, scalar(counter), few);
        let scalars: Vec<Known> = self.tensors.iter().filter(|t| t.extents.is_empty()).cloned().collect();
        if scalars.is_empty() || self.chance(2) {
            return counted;
        }
        let Known { name, ty, .. } = self.one(&scalars);
        let other = match ty {
            Type::Bool => scalar(&name),
            ty => expression::binary(BinaryOp::Ne, scalar(&name), expression::literal(self.literal(ty))),
        };
        expression::binary(BinaryOp::AndAlso, counted, other)
    }
}

fn scalar(name: &str) -> Expr {
    let access = Access { tensor: named(name), indices: vec![], span: NOWHERE };
    Expr { kind: ExprKind::Access(access), span: NOWHERE }
}

/// `name[] = value`
fn assigned(name: &str, rhs: Expr) -> Item {
    let lhs = Access { tensor: named(name), indices: vec![], span: NOWHERE };
    Item::Statement(Statement { lhs, op: Assign::Set, rhs, locals: vec![], schedule: None, span: NOWHERE })
}
