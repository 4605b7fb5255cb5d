//! The reader of what `concrete/print.rs` prints: by descent, a line at a time.
//!
//! ```text
//!  line ──tokens──▶ extents | fn | tensor | nest | a block's begin, what it carries, its end ──check──▶ Program
//! ```
//!
//! Names are those of the lines before; index variables those of their nest. Numbers are in order of appearance.

mod function;

use super::check::Checker;
use super::{
    Access, AccessId, Also, Assign, Body, Carried, Claim, Column, Computed, Concat, Counted, Cut, Deal, Expr, Fold,
    Index, Iterated, Keys, Length, Limit, Nest, Onto, Origin, Place, Program, Repeat, Role, Step, Tensor, Terms, Turns,
    Var, Where, Within, Workspace, WorkspaceKind, reduction_name,
};
use crate::algebra::{Op, Type, Value};
use crate::map::{ClassId, Map, Size};
use crate::notation::typed::{FnId, Fun, TensorId};
use crate::text::{DEPTH, Operators, Read, Reading, Text, Token, applied, is_name};
use crate::words::counted;
use std::collections::HashMap;

/// The concrete program of this text, checked.
///
/// # Errors
/// `line N: ` and what is not as it should be there.
pub fn read(text: &str) -> Result<Program, String> {
    let mut names = Names::default();
    let mut program = Program::default();
    for (n, line) in text.lines().enumerate() {
        let at = |e: String| format!("line {}: {}", n + 1, e.strip_prefix("line 1: ").unwrap_or(&e));
        let text = Text::of(line).map_err(at)?;
        let mut reader = Reader { text, program, names, extents: vec![], scope: vec![], summed: vec![] };
        reader.whole_line().map_err(at)?;
        (program, names) = (reader.program, reader.names);
    }
    match names.open.is_empty() {
        true => Ok(program),
        false => Err("a block is not closed".to_string()),
    }
}

/// How many blocks may stand in each other.
const BLOCKS: usize = 32;

/// What names stand for on every line.
#[derive(Default)]
struct Names {
    extents: HashMap<String, ClassId>,
    tensors: HashMap<String, Place>,
    /// The blocks that are open, the innermost last.
    open: Vec<Repeat>,
}

struct Reader<'t> {
    text: Text<'t>,
    program: Program,
    names: Names,
    /// The extents of this line's variables, as far as they are known yet, from the first of them on.
    extents: Vec<Option<ClassId>>,
    /// The variables that are bound.
    scope: Vec<(&'t str, Index)>,
    /// Those of this line's sums.
    summed: Vec<(&'t str, Index)>,
}

/// An expression with how deep it is.
struct Term {
    expr: Expr,
    depth: usize,
}

impl<'t> Reading<'t> for Reader<'t> {
    fn text(&self) -> &Text<'t> {
        &self.text
    }

    fn text_mut(&mut self) -> &mut Text<'t> {
        &mut self.text
    }
}

impl<'t> Reader<'t> {
    fn whole_line(&mut self) -> Read<()> {
        match (self.peek(), self.ahead(1)) {
            (Token::End | Token::Comment(_), _) => return Ok(()),
            (Token::Word("extents"), Token::Word(_) | Token::Number(_)) => self.extents()?,
            (Token::Word("fn"), Token::Word(_)) => {
                let made = function::function(&mut self.text, &self.program.functions)?;
                self.program.functions.push(made);
            }
            (Token::Word("operand" | "result" | "temporary"), Token::Word(_)) => self.tensor()?,
            (Token::Word("cut"), Token::Word("coordinates" | "entries" | "weight")) => self.cut()?,
            (Token::Word("repeat" | "while"), _) => self.repeat()?,
            (Token::Word("next"), Token::Word(_)) => self.next()?,
            (Token::Sign("}"), _) => self.close()?,
            _ => {
                let nest = self.nest()?;
                self.step(Step::Nest(nest));
            }
        }
        match self.peek() {
            Token::End | Token::Comment(_) => Ok(()),
            other => Err(format!("expected the end of the line, found {other}")),
        }
    }

    /// `repeat 20 {`, `repeat |N| {`, `while e {`
    fn repeat(&mut self) -> Read<()> {
        let turns = match (self.word()?, self.peek()) {
            ("repeat", Token::Sign("|")) => {
                self.skip();
                let extent = self.extent()?;
                self.sign("|")?;
                Turns::Extent(extent)
            }
            ("repeat", _) => Turns::Count(self.number()?),
            _ => Turns::While(self.expr()?.expr),
        };
        self.sign("{")?;
        if let Turns::While(condition) = &turns {
            Checker { program: &self.program }.condition(condition)?;
        }
        if self.names.open.len() == BLOCKS {
            return Err(format!("more than {BLOCKS} blocks stand in each other"));
        }
        self.names.open.push(Repeat { turns, steps: Vec::new(), carried: Vec::new() });
        Ok(())
    }

    /// `next x = x_2`
    fn next(&mut self) -> Read<()> {
        self.skip();
        let tensor = self.place()?;
        self.sign("=")?;
        let last = self.place()?;
        let block = self.names.open.last_mut().ok_or("only a block has a next turn")?;
        block.carried.push(Carried { tensor, last });
        Ok(())
    }

    /// `}`
    fn close(&mut self) -> Read<()> {
        self.skip();
        let block = self.names.open.pop().ok_or("no block is open")?;
        Checker { program: &self.program }.repeat(&block)?;
        self.step(Step::Repeat(block));
        Ok(())
    }

    fn step(&mut self, step: Step) {
        let steps = self.names.open.last_mut().map_or(&mut self.program.steps, |block| &mut block.steps);
        steps.push(step);
    }

    /// `name@n, name@n, …`
    fn extents(&mut self) -> Read<()> {
        self.skip();
        self.list(|r| {
            let name = r.extent_name()?;
            r.sign("@")?;
            let class = ClassId(r.number()?);
            let known = r.program.extents.insert(class, name.to_string()).is_some();
            if known || r.names.extents.insert(name.to_string(), class).is_some() {
                return Err(format!("the extent {name}@{} is there already", class.0));
            }
            Ok(())
        })?;
        Ok(())
    }

    /// A word, or a number that names itself.
    fn extent_name(&mut self) -> Read<&'t str> {
        match self.peek() {
            Token::Word(name) | Token::Number(name) => {
                self.skip();
                Ok(name)
            }
            other => Err(format!("expected an extent, found {other}")),
        }
    }

    fn extent(&mut self) -> Read<ClassId> {
        let name = self.extent_name()?;
        self.names.extents.get(name).copied().ok_or_else(|| format!("there is no extent `{name}`"))
    }

    fn tensor(&mut self) -> Read<()> {
        let role = self.word()?;
        let name = self.word()?;
        let role = match role {
            "temporary" => Role::Temporary,
            _ => {
                self.sign("@")?;
                let id = TensorId(self.number()?);
                if role == "operand" { Role::Operand(id) } else { Role::Result(id) }
            }
        };
        self.sign(":")?;
        let ty = self.ty()?;
        let extents = self.enclosed("[", "]", Self::extent)?;
        let fill = if self.eat(Token::Word("fill")) { self.constant()? } else { Value::zero(ty) };
        let format = self.format()?;
        let tensor = Tensor { name: name.to_string(), ty, extents, format, fill, role };
        Checker { program: &self.program }.tensor(&tensor)?;
        self.program.tensors.push(tensor);
        match self.names.tensors.insert(name.to_string(), Place(self.program.tensors.len() - 1)) {
            None => Ok(()),
            Some(_) => Err(format!("two tensors are called {name}")),
        }
    }

    fn place(&mut self) -> Read<Place> {
        let name = self.word()?;
        self.names.tensors.get(name).copied().ok_or_else(|| format!("there is no tensor `{name}`"))
    }

    /// The variable that is bound here: `i`, or `i in N`.
    fn binding(&mut self) -> Read<Index> {
        let name = self.word()?;
        let extent = self.said_extent()?;
        let v = self.bind(name, extent, Origin::Loop)?;
        if self.eat(Token::Word("unroll")) {
            self.program.vars[v.0].hints.unroll = self.number()?;
        }
        self.program.vars[v.0].hints.lanes = self.eat(Token::Word("lanes"));
        self.program.vars[v.0].hints.deal = Deal::ALL.into_iter().find(|deal| self.eat(Token::Word(deal.name())));
        let claim = Claim::ALL.into_iter().find(|claim| self.eat(Token::Word(claim.name())));
        self.program.vars[v.0].hints.claim = claim.unwrap_or_default();
        self.program.vars[v.0].hints.seamed = self.eat(Token::Word("seamed"));
        while let Some(limit) = self.limit()? {
            self.program.vars[v.0].limits.push(limit);
        }
        Ok(v)
    }

    /// What ends a loop, if something does.
    fn limit(&mut self) -> Read<Option<Limit>> {
        if self.eat(Token::Word("while")) {
            let at = self.map()?;
            self.sign("<")?;
            self.sign("|")?;
            let extent = self.extent()?;
            self.sign("|")?;
            return Ok(Some(Limit::Below { at, extent }));
        }
        if self.eat(Token::Word("pieces")) {
            let cut = self.number()?;
            self.expect(Token::Word("of"))?;
            return Ok(Some(Limit::Pieces { cut, turns: self.length()? }));
        }
        if !self.eat(Token::Word("within")) {
            return Ok(None);
        }
        let cut = self.number()?;
        self.expect(Token::Word("at"))?;
        let place = self.number()?;
        self.expect(Token::Word("from"))?;
        let from = self.terms()?;
        self.expect(Token::Word("for"))?;
        let unit = self.length()?;
        let (ends, beyond) = (self.ends("to")?, self.ends("below")?);
        Ok(Some(Limit::Within(Within { cut, place, from, unit, ends, beyond })))
    }

    /// `to p0 by 16 for 16`, or with another word, as often as it stands here.
    fn ends(&mut self, word: &'static str) -> Read<Vec<(Terms, Length)>> {
        let mut ends = vec![];
        while self.eat(Token::Word(word)) {
            let end = self.terms()?;
            self.expect(Token::Word("for"))?;
            ends.push((end, self.length()?));
        }
        Ok(ends)
    }

    /// `p0 by 16 + p1 by all/4`
    fn terms(&mut self) -> Read<Terms> {
        let mut terms = vec![];
        loop {
            let name = self.word()?;
            let (v, mut by) = (self.bound(name)?, vec![]);
            while self.eat(Token::Word("by")) {
                by.push(self.length()?);
            }
            terms.push((v, by));
            if !self.eat(Token::Sign("+")) {
                return Ok(terms);
            }
        }
    }

    /// `all`, `16`, `all/16`
    fn length(&mut self) -> Read<Length> {
        let mut length = if self.eat(Token::Word("all")) { Length::All } else { Length::Number(self.number()?) };
        while self.eat(Token::Sign("/")) {
            let n: u64 = self.number()?;
            length = Length::Over(Box::new(length), n.max(1));
        }
        Ok(length)
    }

    /// `cut entries A, B over I, J`
    fn cut(&mut self) -> Read<()> {
        self.skip();
        let word = self.word()?;
        let counted = Counted::ALL.into_iter().find(|c| c.name() == word);
        let counted = counted.ok_or("expected what is counted: `coordinates`, `entries` or `weight`")?;
        let mut tensors = vec![];
        while self.peek() != Token::Word("over") {
            tensors.push(self.place()?);
            if !self.eat(Token::Sign(",")) {
                break;
            }
        }
        self.expect(Token::Word("over"))?;
        let mut extents = vec![self.extent()?];
        while self.eat(Token::Sign(",")) {
            extents.push(self.extent()?);
        }
        self.program.cuts.push(Cut { counted, tensors, extents });
        Ok(())
    }

    fn said_extent(&mut self) -> Read<Option<ClassId>> {
        if self.eat(Token::Word("in")) { self.extent().map(Some) } else { Ok(None) }
    }

    fn bind(&mut self, name: &'t str, extent: Option<ClassId>, origin: Origin) -> Read<Index> {
        if !is_name(name) {
            return Err(format!("`{name}` is no name of an index variable"));
        }
        // The extent is put right at the end of the line.
        let v = self.program.var(name.to_string(), ClassId(0), origin);
        self.extents.push(extent);
        self.scope.push((name, v));
        Ok(v)
    }

    fn find(&self, name: &str) -> Option<Index> {
        self.scope.iter().rev().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    fn bound(&self, name: &str) -> Read<Index> {
        self.find(name).ok_or_else(|| format!("index variable {name} is not bound"))
    }

    /// A variable in its place, and how deep what it is computed from is: one that is bound, or with what it is.
    fn index(&mut self) -> Read<(Index, usize)> {
        let name = self.word()?;
        let extent = self.said_extent()?;
        let (origin, depth) = match self.peek() {
            Token::Sign("=") => {
                self.skip();
                (Origin::Mapped(self.map()?), 0)
            }
            Token::Word("from" | "within" | "caught") => {
                let caught = self.eat(Token::Word("caught"));
                let permit = self.eat(Token::Word("within"));
                if !permit && !self.eat(Token::Word("from")) {
                    return Err(format!("`from` or `within` says how {name} is computed"));
                }
                let Term { expr, depth } = self.expr()?;
                (Origin::Computed(Box::new(Computed { of: expr, permit, caught })), depth)
            }
            _ if extent.is_some() => return Err(format!("nothing says what {name} is")),
            _ => return Ok((self.bound(name)?, 0)),
        };
        match self.find(name) {
            None => Ok((self.bind(name, extent, origin)?, depth)),
            Some(known) if self.program.vars[known.0].origin == origin => Ok((known, depth)),
            Some(_) => Err(format!("index variable {name} is bound twice")),
        }
    }

    /// `gallop` behind a variable, if something like it stands there.
    fn protocol(&mut self) -> Option<Iterated> {
        let Token::Word(word) = self.peek() else { return None };
        let found = Iterated::ALL.into_iter().find(|p| p.to_string() == word);
        found.inspect(|_| self.skip())
    }

    /// `2*|J|*i + j - 3`
    fn map(&mut self) -> Read<Map<Index>> {
        let mut sum = Map::constant(Size::default());
        let mut sign = if self.eat(Token::Sign("-")) { -1 } else { 1 };
        loop {
            let term = self.product()?;
            sum = sum.plus(&term.times(&Size::number(sign)));
            sign = match self.peek() {
                Token::Sign("+") => 1,
                Token::Sign("-") => -1,
                _ => return Ok(sum),
            };
            self.skip();
        }
    }

    fn product(&mut self) -> Read<Map<Index>> {
        let mut product = Map::constant(Size::number(1));
        loop {
            product = match self.peek() {
                Token::Number(_) => product.times(&Size::number(self.number()?)),
                Token::Sign("|") => {
                    self.skip();
                    let extent = self.extent()?;
                    self.sign("|")?;
                    product.times(&Size::unknown(extent))
                }
                _ => {
                    let name = self.word()?;
                    let v = self.bound(name)?;
                    if let Origin::Mapped(_) | Origin::Computed(_) = self.program.vars[v.0].origin {
                        return Err(format!("{name} is mapped itself"));
                    }
                    if !product.factors.is_empty() {
                        return Err("a product of index variables is no map".to_string());
                    }
                    Map::var(v).times(&product.constant)
                }
            };
            if !self.eat(Token::Sign("*")) {
                return Ok(product);
            }
        }
    }

    /// `concat(map; i: e, k in K: e)`, `concat(map; i: e, else e)`
    fn concat(&mut self) -> Read<Term> {
        self.skip();
        self.sign("(")?;
        let of = self.map()?;
        self.sign(";")?;
        let outer = self.scope.len();
        let first = self.program.vars.len() - self.extents.len();
        let (mut before, mut deepest, mut parts, mut outside) = (Size::default(), 0, vec![], None);
        loop {
            if !parts.is_empty() && self.peek() == Token::Word("else") {
                self.skip();
                let Term { expr, depth } = self.expr()?;
                deepest = depth.max(deepest);
                outside = Some(expr);
                break;
            }
            let name = self.word()?;
            let said = self.said_extent()?;
            if let Some(known) = self.find(name) {
                return Err(format!("index variable {} is bound twice", self.program.vars[known.0].name));
            }
            let v = self.bind(name, said, Origin::Part(Map::part(&of, &before)))?;
            self.sign(":")?;
            let Term { expr, depth } = self.expr()?;
            self.scope.truncate(outer);
            parts.push((v, expr));
            deepest = depth.max(deepest);
            if !self.eat(Token::Sign(",")) {
                break;
            }
            let extent = self.extents[v.0 - first].ok_or_else(|| format!("nothing says what {name} runs over"))?;
            before = before.plus(&Size::unknown(extent));
        }
        self.sign(")")?;
        let ty = parts[0].1.ty();
        deeper(Expr::Concat(Box::new(Concat { of, parts, outside }), ty), deepest)
    }

    fn foralls(&mut self) -> Read<Vec<Index>> {
        let mut vars = vec![];
        while let (Token::Word("forall"), Token::Word(_)) = (self.peek(), self.ahead(1)) {
            self.skip();
            vars.push(self.binding()?);
            self.sign(":")?;
        }
        Ok(vars)
    }

    /// `tensor[vars]` with variables that stand under its modes.
    fn access(&mut self, tensor: Place, names: &[&'t str]) -> Read<Access> {
        let vars = names.iter().map(|name| self.bound(name)).collect::<Read<Vec<Index>>>()?;
        self.settle(tensor, &vars)?;
        Ok(Access::of(tensor, vars))
    }

    /// The extents of variables that stand under a tensor's modes, where none is known.
    fn settle(&mut self, tensor: Place, vars: &[Index]) -> Read<()> {
        let first = self.program.vars.len() - self.extents.len();
        let tensor = &self.program.tensors[tensor.0];
        if vars.len() != tensor.extents.len() {
            let modes = counted(tensor.extents.len(), "mode", "modes");
            return Err(format!("{} has {modes}, not {}", tensor.name, vars.len()));
        }
        for (v, extent) in vars.iter().zip(&tensor.extents) {
            self.extents[v.0 - first].get_or_insert(*extent);
        }
        Ok(())
    }

    fn nest(&mut self) -> Read<Nest> {
        let outer = self.foralls()?;
        let nest = if self.peek() == Token::Sign("(") { self.through(outer)? } else { self.direct(outer)? };
        let first = self.program.vars.len() - self.extents.len();
        for (n, extent) in self.extents.iter().enumerate() {
            let var: &mut Var = &mut self.program.vars[first + n];
            var.extent = extent.ok_or_else(|| format!("nothing says what {} runs over", var.name))?;
        }
        Checker { program: &self.program }.nest(&nest)?;
        Ok(nest)
    }

    /// `(forall …: T[…] op= e)`, which makes what an access reads.
    fn made(&mut self, read: AccessId, deepest: usize) -> Read<Term> {
        self.sign("(")?;
        let outer = self.scope.len();
        let order = self.foralls()?;
        let nest = self.direct(order)?;
        self.scope.truncate(outer);
        self.sign(")")?;
        let ty = nest.rhs.ty();
        deeper(Expr::Where(Box::new(Where { read, nest }), ty), deepest)
    }

    /// `T[…] op= e`, and `also T[j] op= e`.
    fn direct(&mut self, loops: Vec<Index>) -> Read<Nest> {
        let tensor = self.place()?;
        let coordinates = self.coordinates()?;
        let names: Vec<&str> = coordinates.iter().map(|(name, _)| *name).collect();
        let (target, assign, rhs) = self.assign(tensor, &names, coordinates)?;
        let body = match self.eat(Token::Word("also")) {
            true if assign != Assign::Once => return Err("what is added elsewhere has no place".to_string()),
            true => Body::Also(self.also(tensor, &rhs)?),
            false => Body::Assign(assign),
        };
        Ok(Nest { target, loops, body, rhs })
    }

    /// `(forall …: T[…] = w[…]) where kind (forall …: w[…] op= e)`
    fn through(&mut self, outer: Vec<Index>) -> Read<Nest> {
        self.sign("(")?;
        let mut loops = vec![];
        while let (Token::Word("forall"), Token::Word(name)) = (self.peek(), self.ahead(1)) {
            self.skip();
            self.skip();
            self.sign(":")?;
            loops.push(name);
        }
        let tensor = self.place()?;
        let names = self.enclosed("[", "]", Self::written)?;
        self.sign("=")?;
        self.expect(Token::Word("w"))?;
        let own = self.enclosed("[", "]", Self::word)?;
        self.sign(")")?;
        self.expect(Token::Word("where"))?;
        let kind = self.kind()?;
        self.sign("(")?;
        let filling = self.foralls()?;
        self.expect(Token::Word("w"))?;
        let coordinates = self.coordinates()?;
        if loops != own || !loops.iter().eq(coordinates.iter().map(|(name, _)| name)) {
            return Err("the workspace is drained in another order than that of its coordinates".into());
        }
        let (target, assign, rhs) = self.assign(tensor, &names, coordinates)?;
        let nest = Nest { target, loops: outer, body: Body::Where(Workspace { kind, loops: filling }, assign), rhs };
        self.sign(")")?;
        let drained = self.program.drained(&nest);
        match drained.iter().map(|v| self.program.vars[v.0].name.as_str()).eq(loops) {
            true => Ok(nest),
            false => Err("the workspace is drained in another order than that of the target's levels".into()),
        }
    }

    /// `dense`, `list apart`, …
    fn kind(&mut self) -> Read<WorkspaceKind> {
        let word = self.word()?;
        let keys = if self.eat(Token::Word("apart")) { Keys::Apart } else { Keys::Together };
        let is_it = |k: &WorkspaceKind| k.name() == word && k.keys().unwrap_or(Keys::Together) == keys;
        let kind = WorkspaceKind::ALL.into_iter().find(is_it);
        kind.ok_or("expected the kind of the workspace: `dense`, `hashed`, `list`, `counts` or `row`".to_string())
    }

    /// `name`, or of a mapped variable `name: map`.
    fn written(&mut self) -> Read<&'t str> {
        let name = self.word()?;
        if self.eat(Token::Sign(":")) {
            let map = self.map()?;
            if self.find(name).is_some() {
                return Err(format!("index variable {name} is bound twice"));
            }
            self.bind(name, None, Origin::Mapped(map))?;
        }
        Ok(name)
    }

    /// Each `name`, or of a scatter `name = place`.
    fn coordinates(&mut self) -> Read<Vec<(&'t str, Option<Term>)>> {
        self.enclosed("[", "]", |r| {
            let name = r.written()?;
            let place = if r.eat(Token::Sign("=")) { Some(r.expr()?) } else { None };
            Ok((name, place))
        })
    }

    /// The rest of an assignment, from the operator on: what is assigned to, how, and the value.
    fn assign(
        &mut self,
        tensor: Place,
        names: &[&'t str],
        mut coordinates: Vec<(&'t str, Option<Term>)>,
    ) -> Read<(Access, Assign, Expr)> {
        let fold = self.fold()?;
        if coordinates.iter().all(|(_, place)| place.is_none()) {
            let target = self.access(tensor, names)?;
            return Ok((target, fold.map_or(Assign::Once, Assign::Fold), self.expr()?.expr));
        }
        let loops = self.scope.len();
        names.iter().try_for_each(|name| self.bind(name, None, Origin::Loop).map(|_| ()))?;
        let vars: Vec<Index> = self.scope.drain(loops..).map(|(_, v)| v).collect();
        self.settle(tensor, &vars)?;
        let mut place = |name: &&str| {
            let found = coordinates.iter_mut().find(|(n, place)| n == name && place.is_some());
            let term = found.and_then(|(_, place)| place.take());
            term.map(|term| term.expr).ok_or_else(|| format!("nothing says where {name} is"))
        };
        let places = names.iter().map(&mut place).collect::<Read<Vec<Expr>>>()?;
        let rhs = self.expr()?.expr;
        let was = if self.eat(Token::Word("from")) { Some(self.place()?) } else { None };
        let onto = match (was, fold) {
            (Some(was), fold) => Onto::Before(self.program.access(was, vars.clone()), fold),
            (None, Some(fun)) => Onto::Fill(fun),
            (None, None) => return Err("the scatter has nothing to fold and nothing that was there".to_string()),
        };
        Ok((Access::of(tensor, vars), Assign::Scatter(places, onto), rhs))
    }

    /// `T[j] op= e`, with the variables of the sum in the value for the first place.
    fn also(&mut self, tensor: Place, first: &Expr) -> Read<Also> {
        if self.place()? != tensor {
            return Err("another tensor is added to".to_string());
        }
        let name = self.enclosed("[", "]", Self::word)?;
        let (outer, summed) = (self.scope.len(), first.summed());
        self.scope.extend(self.summed.iter().filter(|(_, v)| summed.contains(v)));
        let [at] = &name[..] else { return Err("what is added to has one place".to_string()) };
        let at = self.bound(at)?;
        let fun = self.fold()?.ok_or("what is added elsewhere is joined with what is there")?;
        let rhs = self.expr()?.expr;
        self.scope.truncate(outer);
        Ok(Also { at, fun, rhs })
    }

    /// `=`, `+=`, `max=`, …
    fn fold(&mut self) -> Read<Option<Fun>> {
        if self.eat(Token::Sign("=")) {
            return Ok(None);
        }
        let fun = self.folding()?;
        self.sign("=")?;
        Ok(Some(fun))
    }

    /// The function, declared or built in, by which the token at hand folds.
    fn folding(&mut self) -> Read<Fun> {
        let declared = |word| self.program.functions.iter().position(|f| f.name == word);
        let fun = match self.peek() {
            Token::Word(word) => declared(word).map(|n| Fun::User(FnId(n as u32))),
            _ => None,
        };
        let fun = fun.or_else(|| self.reduction().map(Fun::Op));
        let fun = fun.ok_or_else(|| format!("nothing folds with {}", self.peek()))?;
        self.skip();
        Ok(fun)
    }

    /// The built-in by which this token folds.
    fn reduction(&self) -> Option<Op> {
        let (Token::Word(name) | Token::Sign(name)) = self.peek() else { return None };
        let op = |op: &Op| reduction_name(*op) == name || (*op == Op::Add && name == "+");
        Op::all().filter(|op| !matches!(op, Op::Convert(_))).find(op)
    }

    /// Whether a fold stands here: `sum(i: …)`, `sum(i, j in N: …)`.
    fn folds(&self) -> bool {
        let mut n = 1;
        loop {
            let before = if n == 1 { "(" } else { "," };
            if self.ahead(n) != Token::Sign(before) || !matches!(self.ahead(n + 1), Token::Word(_)) {
                return false;
            }
            if matches!(
                self.ahead(n + 2),
                Token::Sign(":")
                    | Token::Word(
                        "in" | "while"
                            | "within"
                            | "pieces"
                            | "unroll"
                            | "lanes"
                            | "block"
                            | "warp"
                            | "lane"
                            | "apart"
                            | "racing"
                    )
            ) {
                return true;
            }
            n += 2;
        }
    }

    fn reduce(&mut self) -> Read<Term> {
        let fun = self.folding()?;
        self.sign("(")?;
        let outer = self.scope.len();
        let vars = self.list(Self::binding)?;
        self.sign(":")?;
        let Term { expr: body, depth } = self.expr()?;
        self.summed.extend(self.scope.drain(outer..));
        let start = if self.eat(Token::Word("start")) { Some(self.expr()?) } else { None };
        let in_order = self.eat(Token::Word("in"));
        if in_order {
            self.expect(Token::Word("order"))?;
        }
        self.sign(")")?;
        let (ty, depth) = (body.ty(), start.as_ref().map_or(depth, |s| s.depth.max(depth)));
        if start.is_none() && !in_order && self.program.unordered(fun, ty).is_some() {
            return deeper(Expr::Reduce(fun, vars, Box::new(body), ty), depth);
        }
        let start = start.map(|s| s.expr);
        deeper(Expr::Fold(Box::new(Fold { fun, vars, body, start }), ty), depth)
    }
}

impl Reader<'_> {
    /// The call of a declared function.
    fn declared(&mut self, n: usize) -> Read<Term> {
        self.skip();
        let args = self.enclosed("(", ")", |r| r.expr())?;
        let types: Vec<Type> = args.iter().map(|a| a.expr.ty()).collect();
        let ty = function::called(&self.program.functions[n], &types)?;
        let depth = args.iter().map(|a| a.depth).max().unwrap_or(0);
        deeper(Expr::Call(Fun::User(FnId(n as u32)), args.into_iter().map(|a| a.expr).collect(), ty), depth)
    }
}

/// A term around terms that are `depth` deep.
fn deeper(expr: Expr, depth: usize) -> Read<Term> {
    deeper_than(depth)?;
    Ok(Term { expr, depth: depth + 1 })
}

/// Whether there may be something around what is `depth` deep.
fn deeper_than(depth: usize) -> Read<()> {
    if depth < DEPTH { Ok(()) } else { Err(format!("an expression is nested more than {DEPTH} deep")) }
}

impl<'t> Operators<'t> for Reader<'t> {
    type Term = Term;

    fn literal(&mut self, value: Value) -> Term {
        Term { expr: Expr::Literal(value), depth: 1 }
    }

    fn apply(&mut self, op: Op, args: Vec<Term>) -> Read<Term> {
        let types: Vec<Type> = args.iter().map(|a| a.expr.ty()).collect();
        let ty = applied(op, &types)?;
        let depth = args.iter().map(|a| a.depth).max().unwrap_or(0);
        deeper(Expr::Call(Fun::Op(op), args.into_iter().map(|a| a.expr).collect(), ty), depth)
    }

    fn other(&mut self) -> Read<Term> {
        if self.folds() { self.reduce() } else { self.constant_term() }
    }

    fn named(&mut self, word: &'t str) -> Read<Term> {
        match self.ahead(1) {
            Token::Word("of") => {
                let column = self.place()?;
                self.skip();
                let word = self.word()?;
                self.back();
                let Term { expr, depth } = self.named(word)?;
                let Expr::Access(of, _) = expr else { return Err(format!("{word} is no access, and has no columns")) };
                let fill = self.program.tensors[column.0].fill;
                Ok(Term { expr: Expr::Column(Box::new(Column { of, tensor: column, fill })), depth })
            }
            Token::Sign("[") => {
                let tensor = self.place()?;
                let modes = self.enclosed("[", "]", |r| Ok((r.index()?, r.protocol())))?;
                let vars: Vec<Index> = modes.iter().map(|((v, _), _)| *v).collect();
                self.settle(tensor, &vars)?;
                let ty = self.program.tensors[tensor.0].ty;
                let deepest = modes.iter().map(|((_, depth), _)| *depth).max().unwrap_or(0);
                let protocols = modes.iter().enumerate().filter_map(|(m, (_, how))| Some((m, (*how)?))).collect();
                let read = self.program.accessed(Access { tensor, vars, protocols });
                match self.eat(Token::Word("where")) {
                    true => self.made(read, deepest),
                    false => deeper(Expr::Access(read, ty), deepest),
                }
            }
            Token::Sign("(") if word == "concat" => self.concat(),
            Token::Sign("(") if word == "index" => {
                self.skip();
                self.sign("(")?;
                let (v, depth) = self.index()?;
                self.sign(")")?;
                deeper(Expr::Index(v), depth)
            }
            Token::Sign("(") if self.folds() => self.reduce(),
            Token::Sign("(") => match self.program.functions.iter().position(|f| f.name == word) {
                Some(n) => self.declared(n),
                None => self.call(word),
            },
            _ => match self.find(word) {
                Some(v) => {
                    self.skip();
                    Ok(Term { expr: Expr::Index(v), depth: 1 })
                }
                None => self.constant_term(),
            },
        }
    }
}
