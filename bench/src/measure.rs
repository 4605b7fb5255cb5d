//! Alternating pairs, medians, ratios.

use std::fmt;

/// One kernel on one input.
#[derive(Clone, Debug)]
pub struct Row {
    /// The kernel.
    pub kernel: &'static str,
    /// The matrix family.
    pub family: &'static str,
    /// Stored values.
    pub nonzeros: usize,
    /// Median seconds of the generated loops.
    pub loops: f64,
    /// Median seconds of the hand-written ones.
    pub hand: f64,
    /// Median over pairs of generated / by hand.
    pub ratio: f64,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (loops, hand) = (self.loops * 1e3, self.hand * 1e3);
        let Row { kernel, family, nonzeros, ratio, .. } = self;
        write!(f, "{kernel:<10} {family:<8} {nonzeros:>9}  {loops:>10.4} {hand:>10.4}  {ratio:.3}")
    }
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Median times of both sides and the median ratio, of `n` pairs in which each side goes first in turn. A side that
/// takes less than a millisecond is repeated within its turn.
pub fn pairs(n: usize, loops: &mut dyn FnMut() -> f64, hand: &mut dyn FnMut() -> f64) -> (f64, f64, f64) {
    let repeats = ((1e-3 / hand().max(1e-9)) as usize).clamp(1, 200);
    loops();
    let turn = |side: &mut dyn FnMut() -> f64| (0..repeats).map(|_| side()).fold(f64::INFINITY, f64::min);
    let (mut a, mut b, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for k in 0..n {
        let (x, y) = if k % 2 == 0 {
            let x = turn(loops);
            (x, turn(hand))
        } else {
            let y = turn(hand);
            (turn(loops), y)
        };
        a.push(x);
        b.push(y);
        ratios.push(x / y);
    }
    (median(a), median(b), median(ratios))
}

/// Geometric mean and worst ratio of a kernel.
pub fn summary(kernel: &str, rows: &[Row]) -> String {
    let mean = (rows.iter().map(|r| r.ratio.ln()).sum::<f64>() / rows.len().max(1) as f64).exp();
    let worst = rows.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let worst = worst.map_or(String::new(), |r| format!("{:.3} ({}, {})", r.ratio, r.family, r.nonzeros));
    format!("{kernel}: geometric mean {mean:.3}, worst {worst}")
}

/// Rows as a JSON array.
pub fn json(rows: &[Row]) -> String {
    let row = |r: &Row| {
        format!(
            "{{\"kernel\": \"{}\", \"family\": \"{}\", \"nonzeros\": {}, \"loops_s\": {:e}, \"hand_s\": {:e}, \"ratio\": {:.4}}}",
            r.kernel, r.family, r.nonzeros, r.loops, r.hand, r.ratio
        )
    };
    format!("[\n  {}\n]\n", rows.iter().map(row).collect::<Vec<_>>().join(",\n  "))
}
