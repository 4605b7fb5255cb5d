//! The two evaluations of the meaning on generated programs: index maps, shape operators, gathers, `missing`, folds with
//! and without a start, declared functions; what is refused is refused by both.
//!
//! Index variables have extents 2, 4, 8 and 16, so that slices, bare indices, concatenations, and collapsed modes fit.

use fiberloom_core::algebra::{Mode, Type, Value};
use fiberloom_core::format::{Format, Tensor};
use fiberloom_passes::check::check;
use fiberloom_semantics::algebra::same;
use fiberloom_semantics::meaning::{Limits, Refusal, evaluate, evaluate_stored};
use std::collections::BTreeMap;

struct Maker {
    seed: u64,
    ty: &'static str,
    /// Index variables in scope and their extents.
    scope: Vec<(String, u64)>,
    fresh: usize,
}

impl Maker {
    fn below(&mut self, n: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.seed >> 33) as usize % n
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn name(&mut self) -> String {
        self.fresh += 1;
        format!("v{}", self.fresh)
    }

    fn number(&mut self) -> String {
        let n = self.one(&["0", "1", "2", "3", "-1"]);
        if self.ty == "f64" { format!("{n}.0") } else { n.to_string() }
    }

    /// A variable of this extent, if there is one in scope.
    fn var(&mut self, extent: u64) -> Option<String> {
        let fit: Vec<String> = self.scope.iter().filter(|(_, n)| *n == extent).map(|(v, _)| v.clone()).collect();
        (!fit.is_empty()).then(|| self.one(&fit))
    }

    /// An expression that says the variable's extent.
    fn says(&mut self, v: &str, n: u64) -> String {
        let (a, b) = (self.name(), self.name());
        match n {
            2 => format!("slice(a[{a}], {a} -> {v}, 1:4:2)"),
            4 => format!("a[{v}]"),
            8 => format!("concat((a[{a}], m[0, {b}]), ({a}, {b}) -> {v})"),
            _ => format!("c[{v}]"),
        }
    }

    /// What reads something under a variable, or a number.
    fn leaf(&mut self) -> String {
        if self.scope.is_empty() {
            return self.number();
        }
        let (v, n) = self.one(&self.scope.clone());
        let (a, b) = (self.name(), self.name());
        let w = self.var(4).unwrap_or_else(|| "0".to_string());
        let x = if n == 4 { v.clone() } else { format!("{v} % 4") };
        match (self.below(8), n) {
            (0, _) => format!("a[{x}]"),
            (1, _) => format!("coalesce(a[~({v} - {})], {})", self.below(4), self.number()),
            (2, _) => format!("coalesce(m[~(2*{v} - {w}), {w}] * 2, {})", self.number()),
            (3, _) => format!("a[p[{x}]]"),
            (4, _) if self.ty == "i64" => v,
            (5, _) => format!("coalesce(a[~({} - {v})], m[{w}, {x}])", self.below(9)),
            (_, 2) => format!("slice(a[{a}], {a} -> {v}, 1:4:2)"),
            (6, 4) => format!("m[{v}, {w}]"),
            (_, 4) if w != v && w != "0" => {
                let body = self.within(&[(&a, 16)], |m| format!("{} * c[{a}]", m.leaf()));
                format!("split({body}, {a} -> ({v}, {w}))")
            }
            (_, 4) => format!("m[{w}, {v}]"),
            (_, 8) => {
                let one = self.within(&[(&a, 4)], |m| format!("(a[{a}] + {})", m.leaf()));
                format!("concat(({one}, m[{w}, {b}]), ({a}, {b}) -> {v})")
            }
            _ => {
                let body = self.within(&[(&a, 4), (&b, 4)], |m| format!("m[{b}, {a}] * {}", m.leaf()));
                format!("collapse({body}, ({a}, {b}) -> {v})")
            }
        }
    }

    fn within(&mut self, vars: &[(&String, u64)], f: impl FnOnce(&mut Self) -> String) -> String {
        let depth = self.scope.len();
        self.scope.extend(vars.iter().map(|(v, n)| (v.to_string(), *n)));
        let made = f(self);
        self.scope.truncate(depth);
        made
    }

    fn expr(&mut self, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1).filter(|_| self.below(5) > 0) else { return self.leaf() };
        match self.below(12) {
            0..=3 => format!("({} * {})", self.expr(depth), self.expr(depth)),
            4 | 5 => format!("({} {} {})", self.expr(depth), self.one(&["+", "-"]), self.expr(depth)),
            6 => format!("{}({}, {})", self.one(&["min", "max", "f"]), self.expr(depth), self.expr(depth)),
            7 => {
                format!("(if {} > {} then {} else {})", self.leaf(), self.number(), self.expr(depth), self.expr(depth))
            }
            8 => format!("mask({} != {}, {})", self.leaf(), self.number(), self.expr(depth)),
            _ => {
                let (v, n) = (self.name(), self.one(&[2, 4, 4, 8, 16]));
                let body = self.within(&[(&v, n)], |m| m.expr(depth));
                let body = format!("({body} {} {})", self.one(&["*", "+"]), self.says(&v, n));
                let start = if self.below(4) == 0 { format!(" start {}", self.leaf()) } else { String::new() };
                format!("{}({v}: {body}{start})", self.one(&["sum", "sum", "min", "max", "prod", "f"]))
            }
        }
    }

    fn program(&mut self) -> String {
        let ty = self.ty;
        let mut text = format!("fn f(x: {ty}, y: {ty}) -> {ty} {{ if x < y {{ x = y; }} x }} where associative\n");
        for (name, modes) in [("a", "4"), ("c", "16"), ("m", "4, 4")] {
            let fill = if self.below(4) == 0 { format!("fill {}", self.number()) } else { String::new() };
            text += &format!("tensor {name}: {ty}[{modes}] {fill} csf\n");
        }
        text += "tensor p: i64[4] csf\n";
        for n in 0..2 {
            let left: Vec<(String, u64)> =
                (0..self.below(3)).map(|_| (self.name(), self.one(&[2, 4, 8, 16]))).collect();
            self.scope = left.clone();
            let mut e = self.expr(3);
            for (v, n) in &left {
                e = format!("({e} {} {})", self.one(&["*", "+"]), self.says(v, *n));
            }
            let names: Vec<&str> = left.iter().map(|(v, _)| v.as_str()).collect();
            let op = self.one(&["=", "=", "+=", "min="]);
            if self.below(3) > 0 || op != "=" {
                let sizes: Vec<String> = left.iter().map(|(_, n)| n.to_string()).collect();
                let format = if left.is_empty() { "" } else { "csf" };
                text += &format!("tensor r{n}: {ty}[{}] {format}\n", sizes.join(", "));
            }
            text += &format!("r{n}[{}] {op} {e}\n", names.join(", "));
        }
        text
    }

    fn operand(&mut self, name: &str, extents: &[u64], fill: Value) -> Tensor<'static> {
        let (sparsity, mut entries) = (self.below(4) + 1, vec![]);
        for cell in 0..extents.iter().product::<u64>() {
            if self.below(sparsity) == 0 {
                let at = if extents.len() == 2 { vec![cell as i64 / 4, cell as i64 % 4] } else { vec![cell as i64] };
                let small = self.below(if name == "p" { 4 } else { 7 }) as i128 - if name == "p" { 0 } else { 3 };
                entries.push((at, Value::from_i128(fill.ty(), small)));
            }
        }
        let format = Format::csf(extents.len());
        Tensor::from_entries(extents.to_vec(), format, fill, Type::I32, Type::I32, entries).unwrap()
    }
}

#[test]
fn both_evaluations_are_one_meaning() {
    let (mut evaluated, mut refused, mut long, mut rejected) = (0, 0, 0, BTreeMap::new());
    for seed in 0..800 {
        let mut m = Maker { seed, ty: if seed % 2 == 0 { "i64" } else { "f64" }, scope: vec![], fresh: 0 };
        let text = m.program();
        let (syntax, errors) = fiberloom_front::parse(&text);
        assert_eq!(errors, [], "{text}");
        let typed = match check(&syntax.unwrap()) {
            Ok(typed) => typed,
            Err(wrong) => {
                *rejected.entry(wrong[0].message.clone()).or_insert(0) += 1;
                continue;
            }
        };
        let mut operands = BTreeMap::new();
        for (name, extents) in [("a", &[4][..]), ("c", &[16]), ("m", &[4, 4]), ("p", &[4])] {
            let fill = typed.tensors.iter().find(|t| t.name == name).and_then(|t| t.fill).unwrap();
            operands.insert(name.to_string(), m.operand(name, extents, fill));
        }
        for mode in [Mode::Algebraic, Mode::Strict] {
            let pointwise = evaluate(&typed, &operands, mode, &Limits { steps: 1 << 15 });
            let stored = evaluate_stored(&typed, &operands, mode, &Limits { steps: 1 << 20 });
            match (pointwise, stored) {
                (Ok(pointwise), Ok(stored)) => {
                    evaluated += 1;
                    for (name, function) in &pointwise {
                        same(function, &stored[name], mode).unwrap_or_else(|e| panic!("{mode:?} `{name}` {e}\n{text}"));
                    }
                }
                (Err(Refusal::Steps), _) => long += 1,
                (Err(a), Err(b)) if a == b => refused += 1,
                (a, b) => panic!("{a:?}\n{b:?}\n{text}"),
            }
        }
    }
    let sum = format!("{evaluated} evaluated, {refused} refused, {long} too long, rejected: {rejected:#?}");
    assert!(evaluated > 600, "{sum}");
}
