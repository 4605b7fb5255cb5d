//! Random kernels that test the checker against the machine: the machine never finds a rule broken that the checker promises.

use super::*;

/// Makes small kernels as text. The checker refuses most of them, as intended.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }

    fn expr(&mut self) -> String {
        let x = self.one(&["x", "y", "i", "j", "c", "n", "n", "2", "0"]);
        match self.below(6) {
            0 => format!("w[{x}]"),
            1 => format!("{x} + 1"),
            2 => format!("select({x} < 1, a[0], {x})"),
            3 => "capacity(r)".into(),
            _ => x.into(),
        }
    }

    fn block(&mut self, depth: usize) -> String {
        (0..1 + self.below(3)).map(|_| self.stmt(depth)).collect()
    }

    fn stmt(&mut self, depth: usize) -> String {
        let e = self.expr();
        match self.below(if depth == 0 { 9 } else { 13 }) {
            0 | 1 => format!("{} = {e}\n", self.one(&["x", "y"])),
            2 => format!("let c = {e}\n"),
            3 => format!("w[{}] = {e}\n", self.expr()),
            4 => format!("r[{}] = {e}\n", self.one(&["0", "1", "i"])),
            5 => format!("alloc {}[n] = 1\n", self.one(&["w", "r"])),
            6 => format!("reserve {}[2]\n", self.one(&["w", "r"])),
            7 => "finish r[0]\n".into(),
            8 => self.one(&["fail steps\n", "y = y + 1\n", "x = max(x, n)\n", "x = 0\n"]).into(),
            9 => format!("if {e} < 1 {{\n{}}} else {{\n{}}}\n", self.block(depth - 1), self.block(depth - 1)),
            10 => format!("while {e} < x {{\n{}}}\n", self.block(depth - 1)),
            _ => {
                let (how, i) = (self.one(&["", "", "vector ", "parallel "]), self.one(&["i", "j"]));
                format!("{how}for {i} in 0..{} {{\n{}}}\n", self.one(&["n", "2"]), self.block(depth - 1))
            }
        }
    }
}

#[test]
fn what_the_checker_takes_breaks_no_rule_that_it_promises() {
    let (mut taken, mut done, mut refused) = (0, 0, 0);
    for seed in 1..60_000_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let start = random.one(&["", "alloc w[n] = 0\n", "x = 0\ny = 1\nalloc r[2] = 0\nalloc w[3]\n"]);
        let end = random.one(&["", "alloc r[1] = 2\nfinish r[1]\n"]);
        let text =
            format!("kernel k(n)\noperand a: i64\nworkspace w: i64\nresult r: i64\n{start}{}{end}", random.block(2));
        // An expression may name an undefined variable: the reader refuses that.
        let Ok(kernel) = read(&text) else { continue };
        let checked = loops::check(&kernel);
        let a = Array::I64(vec![4].into());
        let limits = Limits { memory: 1 << 10, steps: 2_000 };
        let outcome = Prepared::unchecked(&kernel).and_then(|k| k.run(&[2], &[Some(&a), None, None], &limits));
        match (checked, outcome) {
            (Ok(()), Err(Fault::Broken(breach))) => {
                taken += 1;
                let static_rule = match breach.rule {
                    Rule::VariableSet | Rule::Allocated | Rule::ReadOnly => true,
                    Rule::Finished => breach.index < 0,
                    _ => false,
                };
                assert!(!static_rule, "{breach}\n{text}");
            }
            (Ok(()), outcome) => {
                taken += 1;
                done += outcome.is_ok() as u32;
            }
            (Err(_), _) => refused += 1,
        }
    }
    // There are many of both kinds.
    assert!(taken > 1_000 && done > 500 && refused > 1_000, "{taken} taken, {done} done, {refused} refused");
}
