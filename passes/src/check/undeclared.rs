//! Tensors that a program reads and does not declare: a call may give them.

use super::depth::{Node, accesses};
use fiberloom_core::notation::syntax::{Assign, Ident, Item, Program, Repeat, Statement, Turns};
use std::collections::HashSet;

/// A tensor that is read before the program defines it, and not declared.
#[derive(Clone, Debug, PartialEq)]
pub struct Undeclared {
    /// Its name, where it is read first.
    pub name: Ident,
    /// How many indices it is read under there.
    pub rank: usize,
}

/// What a program reads before it defines it, and does not declare, each name once.
pub fn undeclared(program: &Program) -> Vec<Undeclared> {
    let declared = program.items.iter().flat_map(|item| match item {
        Item::Tensor(t) => vec![t.name.name.as_str()],
        Item::Table(t) => t.columns.iter().map(|c| &c.name).chain([&t.name]).map(|name| name.name.as_str()).collect(),
        _ => vec![],
    });
    let mut reads = Reads { known: declared.collect(), found: Vec::new() };
    reads.items(&program.items);
    reads.found
}

struct Reads<'a> {
    /// Names that are declared, defined, or found already.
    known: HashSet<&'a str>,
    found: Vec<Undeclared>,
}

impl<'a> Reads<'a> {
    fn items(&mut self, items: &'a [Item]) {
        for item in items {
            match item {
                Item::Statement(s) => self.statement(s),
                Item::Repeat(Repeat { turns, body, .. }) => {
                    if let Turns::While(condition) = turns {
                        self.node(Node::Expr(condition));
                    }
                    self.items(body);
                }
                Item::Dim(_)
                | Item::Domain(_)
                | Item::Table(_)
                | Item::Tensor(_)
                | Item::Function(_)
                | Item::Schedule(_) => {}
            }
        }
    }

    /// A statement reads what its block and its right side do, then its indices, then, unless it defines the whole, its tensor.
    fn statement(&mut self, s: &'a Statement) {
        let hidden: Vec<&str> = s.locals.iter().map(|l| l.lhs.tensor.name.as_str()).collect();
        let added: Vec<&str> = hidden.into_iter().filter(|name| self.known.insert(name)).collect();
        s.locals.iter().for_each(|local| self.statement(local));
        self.node(Node::Expr(&s.rhs));
        self.known.retain(|name| !added.contains(name));
        let is_whole = s.op == Assign::Set && s.lhs.indices.iter().all(|i| i.variable().is_some());
        if is_whole {
            self.known.insert(&s.lhs.tensor.name);
        }
        self.node(Node::Access(&s.lhs));
    }

    fn node(&mut self, node: Node<'a>) {
        accesses(node, &mut |a| {
            if self.known.insert(&a.tensor.name) {
                self.found.push(Undeclared { name: a.tensor.clone(), rank: a.indices.len() });
            }
        });
    }
}
