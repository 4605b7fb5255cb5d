//! Where a law's data comes from.

/// A source of choices: exhaustive, or symbolic.
pub trait Choose {
    /// A number in `0..=most`.
    fn upto(&mut self, most: usize) -> usize;

    /// A truth value.
    fn flag(&mut self) -> bool {
        self.upto(1) == 1
    }
}

#[cfg(test)]
impl Choose for exhaustigen::Gen {
    fn upto(&mut self, most: usize) -> usize {
        self.r#gen(most)
    }
}

/// Runs a law on every choice and returns how many there were.
#[cfg(test)]
pub fn every(mut law: impl FnMut(&mut exhaustigen::Gen)) -> usize {
    let mut all = exhaustigen::Gen::new();
    let mut runs = 0;
    while !all.done() {
        law(&mut all);
        runs += 1;
    }
    runs
}

/// Symbolic choices, for Kani.
#[cfg(kani)]
pub struct Any;

#[cfg(kani)]
impl Choose for Any {
    fn upto(&mut self, most: usize) -> usize {
        let x: usize = kani::any();
        kani::assume(x <= most);
        x
    }
}
