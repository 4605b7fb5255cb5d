//! Words for what stands in a program: what statistics count, and what tests want reached.
//!
//! Every match names each variant, so that what the language gains does not compile until it has a word here.

use fiberloom_core::notation::syntax::*;
use std::collections::BTreeSet;

/// The words of a program, each once.
pub fn constructs(program: &Program) -> BTreeSet<String> {
    let mut c = Words { found: BTreeSet::new(), sizes: sizes(program), defined: BTreeSet::new() };
    let mut locals = BTreeSet::new();
    c.items(&program.items, &mut locals, 0);
    c.found
}

/// The names of a program's extents.
fn sizes(program: &Program) -> BTreeSet<&str> {
    let mut all = BTreeSet::new();
    for item in &program.items {
        match item {
            Item::Dim(dim) => {
                all.insert(&*dim.name.name);
            }
            Item::Tensor(t) => all.extend(t.sizes.iter().filter_map(|size| match size {
                Size::Name(name) => Some(&*name.name),
                Size::Int(..) => None,
            })),
            Item::Domain(_)
            | Item::Table(_)
            | Item::Function(_)
            | Item::Statement(_)
            | Item::Repeat(_)
            | Item::Schedule(_) => {}
        }
    }
    all
}

struct Words<'p> {
    found: BTreeSet<String>,
    /// Names of extents.
    sizes: BTreeSet<&'p str>,
    /// The tensors that statements so far define.
    defined: BTreeSet<&'p str>,
}

impl<'p> Words<'p> {
    fn say(&mut self, word: impl Into<String>) {
        self.found.insert(word.into());
    }

    fn items(&mut self, items: &'p [Item], locals: &mut BTreeSet<&'p str>, depth: usize) {
        for item in items {
            match item {
                Item::Dim(Dim { value: None, .. }) => self.say("item dim that calls say"),
                Item::Dim(_) => self.say("item dim"),
                Item::Domain(_) => self.say("item domain"),
                Item::Table(_) => self.say("item table"),
                Item::Tensor(t) => self.tensor(t),
                Item::Function(f) => {
                    let gives = |item: &Item| matches!(item, Item::Tensor(t) if t.name == f.name);
                    if items.iter().any(gives) {
                        self.say("tensor that a function gives");
                    }
                    self.function(f);
                }
                Item::Statement(s) => {
                    self.statement(s);
                    let own: BTreeSet<&str> = s.locals.iter().map(|l| &*l.lhs.tensor.name).collect();
                    if own.iter().any(|name| !locals.insert(*name)) {
                        self.say("where again");
                    }
                }
                Item::Repeat(Repeat { turns, body, .. }) => {
                    self.say(if depth > 0 { "block in a block" } else { "block" });
                    match turns {
                        Turns::Times(Size::Int(..)) => self.say("turns by number"),
                        Turns::Times(Size::Name(_)) => self.say("turns by name"),
                        Turns::While(condition) => {
                            self.say("turns while");
                            self.expr(condition);
                        }
                    }
                    self.items(body, locals, depth + 1);
                }
                Item::Schedule(s) => {
                    self.say("item schedule");
                    self.schedule(s);
                }
            }
        }
    }

    fn tensor(&mut self, t: &Tensor) {
        self.say(format!("tensor of {}", t.sort));
        self.say(format!("tensor of rank {}", t.sizes.len()));
        for size in &t.sizes {
            self.say(match size {
                Size::Name(_) => "size by name",
                Size::Int(..) => "size by number",
            });
        }
        if let Some((fill, _)) = &t.fill {
            self.literal("fill", fill);
        }
        match &t.format {
            None => self.say("no format"),
            Some(Format::Name { name, order, .. }) => {
                self.say(format!("format {name}"));
                if order.is_some() {
                    self.say("order of a name");
                }
            }
            Some(Format::Levels { levels, order, .. }) => {
                levels.iter().for_each(|l| self.say(format!("level {l}")));
                if order.is_some() {
                    self.say("order");
                }
            }
        }
    }

    fn literal(&mut self, what: &str, l: &Literal) {
        let kind = match l {
            Literal::Bool(true) => "true",
            Literal::Bool(false) => "false",
            Literal::Int(n) if *n < 0 => "negative integer",
            Literal::Int(_) => "integer",
            Literal::Float(Float(x)) if x.is_nan() => "nan",
            Literal::Float(Float(x)) if x.is_infinite() && *x < 0.0 => "-inf",
            Literal::Float(Float(x)) if x.is_infinite() => "inf",
            Literal::Float(_) => "float",
            Literal::Text(_) => "text",
        };
        self.say(format!("{what} {kind}"));
    }

    fn statement(&mut self, s: &'p Statement) {
        let op = match &s.op {
            Assign::Set => "=".to_string(),
            Assign::Add => "+=".to_string(),
            Assign::Fold(f) => format!("{f}="),
        };
        self.say(format!("assign {op}"));
        let before = !self.defined.insert(&s.lhs.tensor.name);
        if s.op == Assign::Set && s.lhs.indices.iter().any(|i| kind(i) != "bare") {
            self.say(if before { "part of what is defined before" } else { "part" });
        }
        for index in &s.lhs.indices {
            let kind = kind(index);
            self.say(format!("left {kind}"));
        }
        self.access(&s.lhs);
        self.expr(&s.rhs);
        if side_by_side(&s.rhs) >= 4 {
            self.say("shifted copies");
        }
        if !s.locals.is_empty() {
            self.say("where");
        }
        s.locals.iter().for_each(|l| self.statement(l));
        if let Some(schedule) = &s.schedule {
            self.say("schedule behind a statement");
            self.schedule(schedule);
        }
    }

    fn access(&mut self, a: &Access) {
        for index in &a.indices {
            let kind = kind(index);
            self.say(format!("index {kind}"));
            match index {
                Index::Affine { permit, map, .. } => {
                    if *permit {
                        self.say("index ~");
                    }
                    self.affine(map);
                }
                Index::Slice { start, end, step, .. } => {
                    for (bound, said) in [("start", start.is_some()), ("end", end.is_some()), ("step", step.is_some())]
                    {
                        let said = if said { "with" } else { "without" };
                        self.say(format!("slice in place {said} {bound}"));
                    }
                    [start, end].into_iter().flatten().for_each(|b| self.bound(b));
                }
                Index::Access(inner) => self.access(inner),
                Index::Computed { of, .. } => self.expr(of),
            }
        }
    }

    fn affine(&mut self, map: &Affine) {
        for (minus, term) in &map.terms {
            self.say(if *minus { "affine -" } else { "affine +" });
            if term.coefficient.is_some() {
                self.say("affine *");
            }
            for (rest, _) in &term.divisions {
                self.say(if *rest { "affine %" } else { "affine /" });
            }
            match &term.factor {
                Factor::Var(_) => self.say("affine variable"),
                Factor::Int(_) => self.say("affine integer"),
                Factor::Group(inner) => {
                    self.say("affine group");
                    self.affine(inner);
                }
            }
        }
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Literal(l) => self.literal("literal", l),
            ExprKind::Name(name) if self.sizes.contains(&*name.name) => self.say("size as a value"),
            ExprKind::Name(_) => self.say("name"),
            ExprKind::Access(a) => {
                self.say("access");
                self.access(a);
            }
            ExprKind::Unary(op, a) => {
                self.say(format!("unary {op:?}"));
                self.expr(a);
            }
            ExprKind::Binary(op, a, b) => {
                self.say(format!("binary {op:?}"));
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Call(f, args) => {
                self.say(format!("call {f}"));
                for a in args {
                    match a {
                        Argument::Expr(e) => self.expr(e),
                        Argument::Type(ty, _) => self.say(format!("type argument {ty}")),
                    }
                }
            }
            ExprKind::If(c, a, b) => {
                self.say("if");
                [c, a, b].into_iter().for_each(|e| self.expr(e));
            }
            ExprKind::Reduce { function, vars, body, start } => {
                self.say(format!("reduction {function}"));
                self.say(format!("reduction over {}", vars.len()));
                if let Some(start) = start {
                    self.say("reduction with start");
                    self.expr(start);
                }
                self.expr(body);
            }
            ExprKind::Collapse { body, from, .. } => self.shape(&format!("collapse of {}", from.len()), body),
            ExprKind::Split { body, .. } => self.shape("split", body),
            ExprKind::Concat { parts, .. } => {
                parts.iter().for_each(|p| self.shape(&format!("concat of {}", parts.len()), p));
            }
            ExprKind::Slice { body, start, end, step, .. } => {
                [start, end].into_iter().for_each(|b| self.bound(b));
                self.shape(if step.is_some() { "slice with step" } else { "slice" }, body);
            }
        }
    }

    fn bound(&mut self, b: &Affine) {
        if b.terms.iter().any(|(_, term)| matches!(term.factor, Factor::Var(_))) {
            self.say("slice to a size");
        }
        self.affine(b);
    }

    fn shape(&mut self, word: &str, body: &Expr) {
        self.say(word);
        self.expr(body);
    }

    fn function(&mut self, f: &Function) {
        self.say("item fn");
        f.params.iter().for_each(|(_, ty)| self.say(format!("parameter of {ty}")));
        self.say(format!("function to {}", f.result));
        self.say(format!("function of {}", f.params.len()));
        self.stmts(&f.body.stmts);
        self.expr(&f.body.value);
        f.properties.iter().for_each(|(p, _)| self.property(p));
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            let (word, e) = match s {
                Stmt::Let(_, e) => ("let", e),
                Stmt::Set(_, e) => ("set", e),
                Stmt::While(e, body) => {
                    self.stmts(body);
                    ("while", e)
                }
                Stmt::If(e, then, otherwise) => {
                    self.stmts(then);
                    self.stmts(otherwise);
                    (if otherwise.is_empty() { "if without else" } else { "if with else" }, e)
                }
            };
            self.say(format!("statement {word}"));
            self.expr(e);
        }
    }

    fn property(&mut self, p: &Property) {
        let at = |at: &Option<u64>| if at.is_some() { " at an argument" } else { "" };
        match p {
            Property::Commutative => self.say("property commutative"),
            Property::Associative => self.say("property associative"),
            Property::Idempotent => self.say("property idempotent"),
            Property::Identity(_, n) => self.say(format!("property identity{}", at(n))),
            Property::Annihilator(_, n) => self.say(format!("property annihilator{}", at(n))),
            Property::Iterate(set) => {
                self.say("property iterate");
                self.set(set);
            }
            Property::Derivative(_, e) => {
                self.say("property derivative");
                self.expr(e);
            }
            Property::Case(patterns, e) => {
                self.say("property case");
                for p in patterns {
                    match p {
                        Pattern::Literal(_) => self.say("pattern literal"),
                        Pattern::Name(_) => self.say("pattern name"),
                    }
                }
                self.expr(e);
            }
        }
    }

    fn set(&mut self, set: &SetExpr) {
        match set {
            SetExpr::Param(_) => self.say("set parameter"),
            SetExpr::All => self.say("set all"),
            SetExpr::Not(a) => {
                self.say("set !");
                self.set(a);
            }
            SetExpr::And(a, b) | SetExpr::Or(a, b) => {
                self.say(if matches!(set, SetExpr::And(..)) { "set &" } else { "set |" });
                self.set(a);
                self.set(b);
            }
        }
    }

    fn schedule(&mut self, schedule: &Schedule) {
        for command in &schedule.commands {
            let word = match &command.kind {
                CommandKind::None => "none",
                CommandKind::Pos { .. } => "pos",
                CommandKind::Coord { .. } => "coord",
                CommandKind::Collapse { .. } => "collapse",
                CommandKind::Split { parts: Parts::Of(_), .. } => "split",
                CommandKind::Split { parts: Parts::Into(_), .. } => "split_up",
                CommandKind::Reorder(_) => "reorder",
                CommandKind::Tensor(TensorCommand::Precompute { .. }) => "precompute",
                CommandKind::Bound(..) => "bound",
                CommandKind::Unroll(..) => "unroll",
                CommandKind::Parallelize(_, unit, race) => {
                    self.say(format!("unit {unit:?}"));
                    self.say(format!("race {race:?}"));
                    "parallelize"
                }
                CommandKind::Weigh { .. } => "weigh",
                CommandKind::Tensor(TensorCommand::Stage { .. }) => "stage",
                CommandKind::Tensor(TensorCommand::Store(..)) => "store",
                CommandKind::Tensor(TensorCommand::Copy(..)) => "copy",
                CommandKind::Tensor(TensorCommand::Protocol(_, protocol)) => {
                    self.say(format!("protocol {protocol:?}"));
                    "protocol"
                }
            };
            self.say(format!("command {word}"));
        }
    }
}

fn kind(index: &Index) -> &'static str {
    match index {
        Index::Affine { map, .. } => match &map.terms[..] {
            [(_, Term { coefficient: None, factor: Factor::Var(_), divisions })] if divisions.is_empty() => "bare",
            _ => "affine",
        },
        Index::Slice { .. } => "slice in place",
        Index::Access(_) => "gather",
        Index::Computed { .. } => "computed index",
    }
}

/// How many elements under indices that may leave their arrays the operands of one operation have, at most.
fn side_by_side(e: &Expr) -> usize {
    let moved = |a: &Access| a.indices.iter().any(|i| matches!(i, Index::Affine { permit: true, .. }));
    let of_argument = |a: &Argument| if let Argument::Expr(e) = a { side_by_side(e) } else { 0 };
    match &e.kind {
        ExprKind::Access(a) => usize::from(moved(a)),
        ExprKind::Binary(_, a, b) => side_by_side(a) + side_by_side(b),
        ExprKind::Call(_, args) => args.iter().map(of_argument).sum(),
        ExprKind::Literal(_) | ExprKind::Name(_) => 0,
        ExprKind::Unary(_, a) => side_by_side(a),
        ExprKind::If(c, a, b) => side_by_side(c) + side_by_side(a) + side_by_side(b),
        ExprKind::Reduce { body, .. }
        | ExprKind::Collapse { body, .. }
        | ExprKind::Split { body, .. }
        | ExprKind::Slice { body, .. } => side_by_side(body),
        ExprKind::Concat { parts, .. } => parts.iter().map(side_by_side).max().unwrap_or(0),
    }
}
