//! Cases from bytes: every choice is a number below another, and where bytes end it is 0.

use super::directed::settle;
use super::{Case, Expr, KINDS, Place, SIZES, STRUCTURED, Statement, Tensor, VARS};
use crate::notation::legal::{Call, LEGAL};
use arbitrary::Unstructured;
use fiberloom_core::algebra::{Mode, Op, Type, Value};
use fiberloom_core::format::{Format, LevelKind};
use fiberloom_core::shape::Magnitude;
use fiberloom_loops::Entry;
use fiberloom_loops::Options;

/// The case of these bytes. Where they end, choices are the first ones.
pub fn case(u: &mut Unstructured) -> Case {
    let mut m = Maker::new(u);
    m.ty = m.one(&[Type::I64, Type::I64, Type::F64, Type::Bool]);
    if m.below(3) == 2 {
        m.ty = m.one(&Type::ALL);
    }
    for n in 0..1 + m.below(4) {
        m.operand(n);
    }
    let statements = m.one(&[1, 1, 2, 3]);
    (0..statements).for_each(|n| m.statement(n, n + 1 == statements));
    m.case
}

/// The same program on other data: other entries of the same extents.
pub fn redrawn(case: &Case, u: &mut Unstructured) -> Case {
    let mut m = Maker::new(u);
    m.case = case.clone();
    for (n, a) in case.tensors.iter().enumerate().filter(|(_, a)| a.entries.is_some()) {
        let format = a.format.as_ref().expect("what the caller gives has a format");
        m.case.tensors[n].entries = Some(m.entries(a.ty, &a.sizes, format));
    }
    m.case
}

pub(super) struct Maker<'u, 'b> {
    u: &'u mut Unstructured<'b>,
    pub case: Case,
    /// What is made next is of this type.
    pub ty: Type,
    /// Index variables that may be used.
    pub scope: Vec<usize>,
    /// Shape operators are drawn often.
    shapes: bool,
    /// Extents are often 0.
    pub emptied: bool,
    /// Tensors whose `where` block has ended.
    hidden: Vec<usize>,
}

/// What a statement defines, where it is no earlier result.
pub(super) struct Defined {
    /// Its format, if it is declared.
    pub format: Option<Format>,
    /// It may stand in a `where` block if it is undeclared, and be scattered into if it is declared.
    pub freely: bool,
}

impl<'u, 'b> Maker<'u, 'b> {
    /// With the extents of a case.
    pub fn new(u: &'u mut Unstructured<'b>) -> Maker<'u, 'b> {
        let vars = (0..VARS.len()).map(|v| v % SIZES).collect();
        let mode = Mode::Algebraic;
        let (few, sought) = (Entry::FEW, Options::SOUGHT);
        let case = Case {
            sizes: vec![],
            taken_for: vec![],
            few,
            sought,
            thin: false,
            vars,
            tensors: vec![],
            statements: vec![],
            mode,
        };
        let mut m = Maker { u, case, ty: Type::I64, scope: vec![], shapes: false, emptied: false, hidden: vec![] };
        for _ in 0..SIZES {
            let extent = m.one(&[3, 4, 2, 5, 1, 0]);
            m.new_size(extent);
        }
        m.case.mode = m.one(&[Mode::Algebraic, Mode::Algebraic, Mode::Strict]);
        // Rows are so short that all of them are few.
        m.case.few = m.one(&[Entry::FEW, 0, 3]);
        // And so few are sought that no directory would have a place.
        m.case.sought = m.one(&[Options::SOUGHT, 1]);
        m.case.thin = m.one(&[false, true]);
        // Sizes that shape operators fit.
        let (a, b) = (m.case.sizes[0].0, m.case.sizes[1].0);
        m.shapes = m.below(4) == 3;
        match m.below(if m.shapes { 3 } else { 4 }) + m.shapes as usize {
            1 | 2 => m.case.sizes[2].0 = a + b,
            3 if a * b <= 12 => m.case.sizes[2].0 = a * b,
            _ => {}
        }
        m
    }

    /// Another size.
    pub fn new_size(&mut self, extent: u64) -> usize {
        let said = self.below(4) == 3;
        self.case.sizes.push((extent, said));
        let [small, _, large, huge] = Magnitude::ALL.map(Some);
        let taken_for = self.one(&[None, huge, large, small]);
        self.case.taken_for.push(taken_for);
        self.case.sizes.len() - 1
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.u.choose_index(n).unwrap_or(0)
    }

    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    pub fn format(&mut self, rank: usize) -> Format {
        let mut order: Vec<usize> = (0..rank).collect();
        for l in (1..rank).rev() {
            let with = l - self.below(l + 1);
            order.swap(l, with);
        }
        let mut levels = vec![];
        while levels.len() < rank {
            let kind = self.one(KINDS);
            levels.push(kind);
            let room = rank - levels.len();
            if kind == LevelKind::Nonunique && room > 0 {
                let singletons = self.below(room + 1);
                levels.extend(vec![LevelKind::Singleton; singletons]);
            }
        }
        Format { levels: levels.into(), order: order.into() }
    }

    /// A format of a result over these variables.
    pub fn result_format(&mut self, vars: &[usize]) -> Format {
        let format = self.format(vars.len());
        if self.below(3) != 2 {
            return format;
        }
        let sizes: Vec<usize> = vars.iter().map(|v| self.case.vars[*v]).collect();
        self.structured(&sizes, format)
    }

    /// A value over these variables where the triangles of a format have a place for one; what a symmetric level would mirror is
    /// left out. Sometimes it is left as it is, to be refused.
    fn fitting(&mut self, format: &Format, vars: &[usize], value: Expr) -> Expr {
        let triangles: Vec<usize> = (0..format.rank()).filter(|l| format.levels[*l].is_triangle()).collect();
        if triangles.is_empty() || self.below(8) == 7 {
            return value;
        }
        triangles.into_iter().fold(value, |value, l| {
            let order = match format.levels[l] {
                LevelKind::Lower => Op::Le,
                LevelKind::Upper => Op::Ge,
                _ => Op::Eq,
            };
            let at = |l: usize| Expr::Var(vars[format.order[l]], Type::I64);
            Expr::Apply(Op::Mask, vec![Expr::Apply(order, vec![at(l), at(l - 1)]), value])
        })
    }

    fn small(&mut self) -> i64 {
        self.one(&[1, 2, 3, 0, -1, -2])
    }

    /// The `n`-th operand, of any rank.
    pub fn operand(&mut self, n: usize) {
        let rank = self.one(&[2, 1, 2, 3, 1, 2, 4, 0]);
        let sizes: Vec<usize> = (0..rank).map(|_| self.below(SIZES)).collect();
        let ty = if self.below(10) == 9 { self.one(&Type::ALL) } else { self.ty };
        let format = self.format(rank);
        let mut format = self.structured(&sizes, format);
        match self.below(12) {
            10 if rank > 0 => format.levels_mut().fill(LevelKind::Function),
            11 if rank > 0 => {
                let level = self.below(rank);
                format.levels_mut()[level] = LevelKind::Function;
                settle(&mut format);
            }
            _ => {}
        }
        self.stored(n, ty, sizes, format);
    }

    /// The format with some levels structured.
    fn structured(&mut self, sizes: &[usize], mut format: Format) -> Format {
        for l in 0..format.rank() {
            let chained = matches!(format.levels[l], LevelKind::Nonunique | LevelKind::Singleton);
            if chained || self.below(6) != 5 {
                continue;
            }
            let same = |above: usize| sizes[format.order[l]] == sizes[format.order[above]];
            let square = l > 0 && format.levels[l - 1] == LevelKind::Dense && same(l - 1);
            let kinds = if square { STRUCTURED } else { &STRUCTURED[..STRUCTURED.len() - 3] };
            format.levels_mut()[l] = self.one(kinds);
        }
        format
    }

    /// The `n`-th tensor, an operand of these sizes, with its entries.
    pub fn stored(&mut self, n: usize, ty: Type, sizes: Vec<usize>, format: Format) {
        let fill = if self.below(8) == 7 { self.one(&[1, 3]) } else { 0 };
        let wide = (self.below(4) == 3, self.below(4) == 3);
        let entries = self.entries(ty, &sizes, &format);
        let computed =
            !sizes.is_empty() && format.levels.iter().all(|k| *k == LevelKind::Function) && self.below(3) > 0;
        let entries = Some(entries).filter(|_| !computed);
        let name = format!("A{n}");
        self.case.tensors.push(Tensor { name, ty, sizes, fill, format: Some(format), wide, entries });
    }

    fn entries(&mut self, ty: Type, sizes: &[usize], format: &Format) -> Vec<(Vec<i64>, i64)> {
        let strict = self.case.is_strict(ty);
        let rank = sizes.len();
        let full = format.levels.iter().all(|l| *l == LevelKind::Dense);
        // One in so many cells is stored; 0: none; 99: the first alone.
        let sparsity = if full { 1 } else { self.one(&[3, 3, 2, 1, 0, 99]) };
        let extents: Vec<u64> = sizes.iter().map(|n| self.case.sizes[*n].0).collect();
        let mut entries = vec![];
        for cell in 0..extents.iter().product::<u64>() {
            if sparsity == 1
                || sparsity > 1 && (sparsity < 99 && self.below(sparsity) == 1 || sparsity == 99 && cell == 0)
            {
                let mut rest = cell;
                let mut at: Vec<i64> = vec![0; rank];
                for mode in (0..rank).rev() {
                    at[mode] = (rest % extents[mode]) as i64;
                    rest /= extents[mode];
                }
                let x = if strict && self.below(12) == 11 { self.one(&[4, 5]) } else { self.small() };
                entries.push((at, x));
            }
        }
        entries
    }

    /// The `n`-th statement, over variables of its own.
    pub fn statement(&mut self, n: usize, last: bool) {
        let rank = self.one(&[2, 1, 0, 3, 2, 4]);
        let mut vars: Vec<usize> = vec![];
        for _ in 0..rank {
            let v = self.below(VARS.len() - 3);
            if !vars.contains(&v) {
                vars.push(v);
            }
        }
        self.scope = vars.clone();
        // Others are summed by the short form.
        for _ in 0..self.below(3) {
            let v = self.below(VARS.len());
            if !self.scope.contains(&v) {
                self.scope.push(v);
            }
        }
        if self.scope.is_empty() {
            self.scope.push(0);
        }
        let rhs = self.expr(3);
        let sizes: Vec<usize> = vars.iter().map(|v| self.case.vars[*v]).collect();
        // An earlier result may be added to.
        let local = |m: &Self, t: usize| m.case.statements.iter().any(|s| s.local && s.tensor == t);
        let same = |t: &usize| !self.case.tensors[*t].is_operand() && self.case.tensors[*t].sizes == sizes;
        let again = self.visible().into_iter().find(same).filter(|t| !rhs.reads(*t) && !local(self, *t));
        if let Some(tensor) = again.filter(|_| self.below(2) == 0) {
            let fold = Some(self.accumulation());
            return self.end(Statement {
                tensor,
                vars,
                fold,
                places: vec![],
                local: false,
                rhs,
                protocols: vec![],
                told: vec![],
            });
        }
        // The type of literals alone is not the case's, unless a declaration says so.
        let declared = !rhs.says_type() || !vars.iter().all(|v| rhs.uses(*v)) || self.below(3) > 0;
        let format = declared.then(|| self.result_format(&vars));
        self.define(n, last, vars, rhs, Defined { format, freely: true });
    }

    /// A statement that defines the `n`-th result.
    pub fn define(&mut self, n: usize, last: bool, vars: Vec<usize>, rhs: Expr, what: Defined) {
        let Defined { format, freely } = what;
        let rhs = match &format {
            Some(format) => self.fitting(format, &vars, rhs),
            None => rhs,
        };
        let sizes: Vec<usize> = vars.iter().map(|v| self.case.vars[*v]).collect();
        let declared = format.is_some();
        let triangular = format.iter().any(|f| f.levels.iter().any(|kind| kind.is_triangle()));
        let fill = if declared && !triangular && self.below(8) == 7 { 2 } else { 0 };
        let (tensor, ty) = (self.case.tensors.len(), self.ty);
        let local = freely && !last && !declared && self.below(2) == 0;
        let mut folds = self.below(6) == 5;
        let mut places = vec![];
        let room = vars.iter().all(|v| self.case.extent(*v) > 0);
        if freely && declared && room && !vars.is_empty() && self.below(5) == 4 {
            places = sizes.iter().map(|size| self.place(*size)).collect();
            folds = true;
        }
        let fold = folds.then(|| self.accumulation()).filter(|f| declared || *f != "mask").or(folds.then_some("+"));
        // Values that the caller gives: where it accumulates, or where it reads what it defines.
        let given = format.clone().filter(|_| self.below(3) == 0);
        let entries = given.map(|format| self.entries(ty, &sizes, &format));
        let wide = (entries.is_some() && self.below(4) == 3, entries.is_some() && self.below(4) == 3);
        let before = (entries.is_some() && fold.is_none()).then(|| Expr::access(tensor, vars.clone()));
        self.case.tensors.push(Tensor { name: format!("R{n}"), ty, sizes, fill, format, wide, entries });
        let rhs = match before {
            Some(before) => Expr::Apply(self.one(&[Op::Mul, Op::Add]), vec![before, rhs]),
            None => rhs,
        };
        self.end(Statement { tensor, vars, fold, places, local, rhs, protocols: vec![], told: vec![] });
    }

    /// Puts a statement behind the others. What was local ends with the first one that is not.
    fn end(&mut self, mut statement: Statement) {
        statement.protocols = self.protocols(&statement.rhs);
        if !statement.local {
            self.hidden.extend(self.case.statements.iter().filter(|s| s.local).map(|s| s.tensor));
        }
        self.case.statements.push(statement);
    }

    fn visible(&self) -> Vec<usize> {
        (0..self.case.tensors.len()).filter(|t| !self.hidden.contains(t)).collect()
    }

    /// A place in a mode of a size; its variables are those in scope, or any of the right size.
    fn place(&mut self, size: usize) -> Place {
        let extent = self.case.sizes[size].0;
        let n = self.one(&[1, 2, 3]);
        let (any, other) = (self.one(&self.scope.clone()), self.one(&self.scope.clone()));
        let fitting: Vec<usize> = self.scope.iter().copied().filter(|v| self.case.vars[*v] == size).collect();
        match self.below(4) {
            0 | 1 if !fitting.is_empty() => Place::Var(self.one(&fitting)),
            2 if !fitting.is_empty() => Place::Quotient(self.one(&fitting), n),
            3 if extent > 0 => Place::Constant(self.below(extent as usize) as u64),
            _ => Place::Mixed(any, n, other, extent),
        }
    }

    /// An expression of the type wanted, over the variables in scope.
    pub fn expr(&mut self, depth: usize) -> Expr {
        let Some(depth) = depth.checked_sub(1).filter(|_| self.below(5) < 4) else { return self.leaf() };
        let two = |m: &mut Self, op| Expr::Apply(op, vec![m.expr(depth), m.expr(depth)]);
        if self.shapes && self.below(3) == 0 {
            return self.shape(depth);
        }
        match self.below(15) {
            13 => self.shape(depth),
            14 => self.where_compared(depth),
            0..=4 => two(self, Op::Mul),
            5 | 6 => two(self, Op::Add),
            7 if self.ty != Type::Bool => two(self, Op::Sub),
            8 if self.ty != Type::Bool => Expr::Apply(Op::Neg, vec![self.expr(depth)]),
            9 | 10 => self.call(depth),
            _ => self.reduce(depth),
        }
    }

    /// Something where index variables compare in some way, and something else, or nothing, elsewhere.
    fn where_compared(&mut self, depth: usize) -> Expr {
        let holds = self.comparison();
        let there = self.expr(depth);
        match self.below(4) {
            0 | 1 => Expr::Apply(Op::Select, vec![holds, there, self.expr(depth)]),
            2 => Expr::Apply(Op::Mask, vec![holds, there]),
            _ => {
                let factor = if self.ty == Type::Bool { holds } else { Expr::Apply(Op::Convert(self.ty), vec![holds]) };
                Expr::Apply(Op::Mul, vec![factor, there])
            }
        }
    }

    /// A comparison of an index variable, or of its difference from something, with another, a number, or whatever is read; or of what
    /// is read, mostly whether it is equal.
    pub fn comparison(&mut self) -> Expr {
        if self.below(4) == 3 {
            let sides = vec![self.of_type(Type::I64, |m| m.leaf()), self.of_type(Type::I64, |m| m.leaf())];
            return Expr::Apply(self.one(&[Op::Eq, Op::Eq, Op::Eq, Op::Lt, Op::Ne]), sides);
        }
        let op = self.one(&[Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne]);
        let var = |m: &mut Self| Expr::Var(m.one(&m.scope.clone()), Type::I64);
        let number = |m: &mut Self| Expr::Literal(Value::i64(m.one(&[1, 0, 2, 3, -1, i64::MAX, i64::MIN])));
        let (own, other) = (var(self), var(self));
        let sum = self.one(&[Op::Sub, Op::Add]);
        let number = number(self);
        let mut sides = match self.below(6) {
            0 | 1 => [own, other],
            2 => [own, number],
            3 => [own, Expr::Apply(sum, vec![other, number])],
            4 => [Expr::Apply(Op::Sub, vec![own, other]), number],
            _ => [Expr::Apply(sum, vec![own, number]), self.of_type(Type::I64, |m| m.leaf())],
        };
        if self.below(2) == 1 {
            sides.reverse();
        }
        Expr::Apply(op, sides.to_vec())
    }

    /// Any function that gives the type wanted.
    fn call(&mut self, depth: usize) -> Expr {
        let fitting: Vec<&Call> = LEGAL.calls.iter().filter(|c| c.result == self.ty).collect();
        let call = self.one(&fitting);
        let args = call.args.iter().map(|ty| self.of_type(*ty, |m| m.expr(depth))).collect();
        Expr::Apply(call.op, args)
    }

    /// What `make` makes of that type.
    pub fn of_type(&mut self, ty: Type, make: impl FnOnce(&mut Self) -> Expr) -> Expr {
        let outer = std::mem::replace(&mut self.ty, ty);
        let made = make(self);
        self.ty = outer;
        made
    }

    fn reduce(&mut self, depth: usize) -> Expr {
        let Some(v) = (0..VARS.len()).rev().find(|v| !self.scope.contains(v)) else { return self.leaf() };
        self.scope.push(v);
        let body = self.expr(depth);
        self.scope.pop();
        if !body.uses(v) {
            return body;
        }
        let function = self.reduction();
        Expr::Reduce(function, v, Box::new(body))
    }

    /// The function of an accumulating assignment. All but one have an identity, with which what is not declared begins.
    fn accumulation(&mut self) -> &'static str {
        if self.below(3) == 2 { self.reduction() } else { "+" }
    }

    /// A reduction of the type wanted.
    pub fn reduction(&mut self) -> &'static str {
        let all: Vec<&str> = LEGAL.folds.iter().filter(|(_, ty)| *ty == self.ty).map(|(name, _)| *name).collect();
        self.one(&all)
    }

    /// A literal, an index variable's value, or an element of any tensor there is.
    pub fn leaf(&mut self) -> Expr {
        if self.below(10) == 9 {
            let x = self.small();
            let x = if self.ty.is_signed() || self.ty.is_float() { x } else { x.abs() };
            return Expr::Literal(self.case.value(self.ty, x));
        }
        if self.below(24) == 23 && self.ty != Type::Bool {
            return Expr::Var(self.one(&self.scope.clone()), self.ty);
        }
        let t = self.one(&self.visible());
        let mut at = vec![];
        for n in self.case.tensors[t].sizes.clone() {
            match self.at(n) {
                Some(index) => at.push(index),
                None => return Expr::Literal(Value::one(self.ty)),
            }
        }
        self.converted(Expr::Access(t, at))
    }

    /// An expression in the type wanted.
    pub fn converted(&self, e: Expr) -> Expr {
        if self.case.type_of(&e) == Some(self.ty) { e } else { Expr::Apply(Op::Convert(self.ty), vec![e]) }
    }
}
