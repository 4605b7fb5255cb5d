//! Values that are computed before a loop, by name. Decisions make the list, and the loop's code begins with it.

use crate::algebra::Type;
use crate::loops::choose::{Facts, scope::Scope, symbol::Sym};
use crate::notation::concrete::{AccessId, Expr};
use crate::stream::Interval;

/// A name, and its value.
pub enum Let {
    /// A variable with this value.
    Held { name: String, ty: Type, it: Sym, of: Sym },
    /// The value of an expression at a place in the loops.
    Value { it: Sym, of: Expr, at: Box<Scope> },
    /// The interval of the level that an access opens next at a place.
    Interval { of: AccessId, at: Box<Scope>, is: Interval<Sym> },
}

/// Names in the order in which they are computed.
#[derive(Default)]
pub struct Given(pub Vec<Let>);

impl Given {
    /// A new variable with a value.
    pub fn define(&mut self, cx: &Facts, name: &str, ty: Type, of: Sym) -> Sym {
        let it = cx.symbols.held();
        self.0.push(Let::Held { name: name.to_string(), ty, it, of });
        it
    }

    /// Names a coordinate or position in a variable, unless it is a variable or a constant.
    pub fn held(&mut self, cx: &Facts, name: &str, of: Sym) -> Sym {
        if cx.symbols.is_held(of) { of } else { self.define(cx, name, Type::I64, of) }
    }

    /// The value of an expression at a place.
    pub fn value(&mut self, cx: &Facts, of: &Expr, at: &Scope) -> Sym {
        let it = cx.symbols.read();
        self.0.push(Let::Value { it, of: of.clone(), at: Box::new(at.clone()) });
        it
    }

    /// The interval of the level that an access opens next at a place. `from_zero`: all intervals begin with 0.
    pub fn interval(&mut self, cx: &Facts, of: AccessId, at: &Scope, from_zero: bool) -> Interval<Sym> {
        let start = if from_zero { Sym::ZERO } else { cx.symbols.held() };
        let is = Interval { start, stop: cx.symbols.held(), base: cx.symbols.held() };
        self.0.push(Let::Interval { of, at: Box::new(at.clone()), is: is.clone() });
        is
    }
}
