//! Programs whose loops follow what is stored, whatever the extents.

use super::data::Random;
use super::{Long, Operand, Size};
use fiberloom_core::algebra::{Mode, Type};
use fiberloom_core::format::{Format, LevelKind};
use fiberloom_core::shape::Magnitude;
use fiberloom_loops::Entry;
use fiberloom_loops::{Options, Widths};

/// Extents of long modes; what has to be an array is at most `CELLS` long.
pub const EXTENTS: [u64; 20] = [
    64,
    65,
    127,
    130,
    513,
    2001,
    4096,
    4097,
    5000,
    9000,
    32767,
    32768,
    32769,
    (1 << 31) - 1,
    1 << 31,
    (1 << 31) + 1,
    1 << 33,
    (1 << 62) + 1,
    i64::MAX as u64 - 1,
    i64::MAX as u64,
];

/// Extents of modes of few rows.
const ROWS: [u64; 7] = [1, 2, 3, 5, 9, 17, 66];

/// Lengths of arrays that are read at places which data say.
const SOURCES: [u64; 8] = [1, 8, 63, 65, 513, 1000, 2001, 5000];

/// Most cells of what is stored dense.
const CELLS: u128 = 40_000;

/// How a kind of programs is made.
#[derive(Clone, Copy)]
pub enum Made {
    /// Of operands, and of results with the statements that define them: `A:IJ` has a mode of I and one of J, `P:N->J` has
    /// coordinates below J; `?` is an operator, `TYPE` the type of the tensors.
    Of(&'static str, &'static [(&'static str, &'static str)]),
    /// With constants that are drawn.
    Drawn(fn(&mut Maker)),
}

/// The kinds of programs.
pub const KINDS: [(&str, Made); 32] = [
    ("product of a row", Made::Of("A:IJ x:J", &[("y:I", "y[i] = sum(j: A[i,j] * x[j])")])),
    ("two by element", Made::Of("A:IJ B:IJ", &[("R:IJ", "R[i,j] = A[i,j] ? B[i,j]")])),
    ("two vectors", Made::Of("x:J z:J", &[("R:J", "R[j] = x[j] ? z[j]")])),
    ("three by element", Made::Of("A:IJ B:IJ C:IJ", &[("R:IJ", "R[i,j] = A[i,j] ? B[i,j] ? C[i,j]")])),
    ("four vectors", Made::Of("x:J z:J u:J v:J", &[("R:J", "R[j] = (x[j] ? z[j]) ? (u[j] ? v[j])")])),
    ("matrix product", Made::Of("A:IJ B:JK", &[("R:IK", "R[i,k] = sum(j: A[i,j] * B[j,k])")])),
    ("masked product", Made::Of("A:IJ B:JK M:IK", &[("R:IK", "R[i,k] = M[i,k] * sum(j: A[i,j] * B[j,k])")])),
    ("outer products", Made::Of("A:IJ B:IK", &[("R:JK", "R[j,k] = sum(i: A[i,j] * B[i,k])")])),
    ("inner products", Made::Of("A:IJ B:HJ", &[("R:IH", "R[i,h] = sum(j: A[i,j] * B[h,j])")])),
    ("transpose", Made::Of("A:IJ", &[("R:JI", "R[j,i] = A[i,j]")])),
    ("column sums", Made::Of("A:IJ", &[("R:J", "R[j] = sum(i: A[i,j])")])),
    ("dot product", Made::Of("x:J z:J", &[("s:", "s[] = sum(j: x[j] * z[j])")])),
    ("largest", Made::Of("A:IJ", &[("y:I", "y[i] = max(j: A[i,j])")])),
    ("count", Made::Of("A:IJ", &[("y:I", "y[i] = convert(count(j: A[i,j] > 1), TYPE)")])),
    ("scattered", Made::Of("P:N->J x:N", &[("R:J", "R[P[n]] += x[n]")])),
    ("scattered twice", Made::Of("P:N->J Q:N->K x:N", &[("R:JK", "R[P[n],Q[n]] += x[n]")])),
    ("gathered", Made::Of("P:N->J x:J", &[("R:N", "R[n] = x[P[n]]")])),
    ("added to", Made::Of("A:IJ R:IJ", &[("", "R[i,j] += A[i,j]")])),
    ("rank 3 by element", Made::Of("A:IHJ B:IHJ", &[("R:IHJ", "R[i,h,j] = A[i,h,j] ? B[i,h,j]")])),
    ("tensor times vector", Made::Of("A:IHJ x:J", &[("R:IH", "R[i,h] = sum(j: A[i,h,j] * x[j])")])),
    ("tensor folded outside", Made::Of("A:IHJ x:I", &[("R:HJ", "R[h,j] = sum(i: A[i,h,j] * x[i])")])),
    ("outer product", Made::Of("x:I z:J", &[("R:IJ", "R[i,j] = x[i] * z[j]")])),
    (
        "two statements",
        Made::Of("A:IJ x:J z:J", &[("T:IJ", "T[i,j] = A[i,j] * x[j]"), ("y:I", "y[i] = sum(j: T[i,j] * z[j])")]),
    ),
    ("transposed beside", Made::Of("A:IJ B:JI", &[("R:IJ", "R[i,j] = A[i,j] ? B[j,i]")])),
    ("ranks", Made::Of("x:J z:I", &[("y:I", "y[i] = convert(count(j: x[j] > z[i]), TYPE)")])),
    ("up to a value", Made::Of("x:J u:J z:I", &[("y:I", "y[i] = sum(j: mask(x[j] <= z[i], u[j]))")])),
    ("compared", Made::Drawn(|m| m.compared())),
    ("moved", Made::Drawn(|m| m.moved())),
    ("sliced", Made::Drawn(|m| m.sliced())),
    ("concatenated", Made::Drawn(|m| m.concatenated())),
    ("collapsed and split", Made::Drawn(|m| m.collapsed())),
    ("window", Made::Drawn(|m| m.window())),
];

/// A program of any kind, without entries.
pub fn any(random: &mut Random) -> Long {
    let (kind, made) = random.one(&KINDS);
    let ty = random.one(&[Type::I64, Type::F64, Type::F64, Type::I32, Type::F32]);
    let wide = random.below(3) == 0;
    let long = Long {
        kind,
        sizes: vec![],
        operands: vec![],
        lines: vec![],
        mode: Mode::Algebraic,
        few: random.one(&[Entry::FEW, Entry::FEW, 0, 3, 64]),
        sought: random.one(&[Options::SOUGHT, 1, 1]),
        thin: random.below(2) == 0,
        made: if wide { Widths::WIDE } else { Widths::NARROW },
    };
    let mut m = Maker { random, long, ty };
    match made {
        Made::Of(operands, statements) => {
            m.operands(operands);
            statements.iter().for_each(|(result, statement)| m.define(result, statement));
        }
        Made::Drawn(make) => make(&mut m),
    }
    let Maker { mut long, .. } = m;
    if long.sizes.iter().any(|s| s.extent > 1 << 31) {
        long.made.crd = Type::I64;
    }
    long
}

/// A program in the making.
pub struct Maker<'r> {
    random: &'r mut Random,
    long: Long,
    ty: Type,
}

impl Maker<'_> {
    /// The size of a letter, drawn where it is new.
    fn size(&mut self, letter: char) -> usize {
        let name = match letter {
            'I' => "I",
            'H' => "H",
            'J' => "J",
            'K' => "K",
            'N' => "N",
            other => unreachable!("no size is called {other}"),
        };
        if let Some(n) = self.long.sizes.iter().position(|s| s.name == name) {
            return n;
        }
        let extent = match letter {
            'I' | 'H' => self.random.one(&ROWS),
            'N' => self.random.one(&SOURCES),
            _ => self.random.one(&EXTENTS),
        };
        self.sized(name, extent)
    }

    /// A size of this extent.
    fn sized(&mut self, name: &'static str, extent: u64) -> usize {
        let [.., wide, widest] = Magnitude::ALL;
        let own = Magnitude::of(extent);
        // One that is taken for a narrow one may have an array of its extent, or a key of too few bits.
        let taken_for = match extent {
            0..=100_000 => self.random.one(&[None, Some(own), Some(wide), Some(widest)]),
            _ if self.random.below(8) == 0 => {
                self.random.one(&[None, Some(Magnitude::ALL[0]), Some(Magnitude::ALL[1])])
            }
            _ => self.random.one(&[Some(own), Some(widest)]),
        };
        let said = self.random.below(3) == 0;
        self.long.sizes.push(Size { name, extent, said, taken_for });
        self.long.sizes.len() - 1
    }

    /// Operands, as [`Made::Of`] writes them.
    fn operands(&mut self, all: &'static str) {
        for one in all.split(' ') {
            let (name, modes) = one.split_once(':').expect("a name and its modes");
            let (modes, points) = modes.split_once("->").map_or((modes, None), |(m, p)| (m, p.chars().next()));
            let sizes = modes.chars().map(|letter| self.size(letter)).collect();
            let points = points.map(|letter| self.size(letter));
            self.operand(name, sizes, points);
        }
    }

    fn operand(&mut self, name: &'static str, sizes: Vec<usize>, points: Option<usize>) {
        let extents: Vec<u64> = sizes.iter().map(|n| self.long.sizes[*n].extent).collect();
        let format = if points.is_some() { Format::of(vec![LevelKind::Dense]) } else { self.format(&extents) };
        let far = extents.iter().any(|e| *e > 1 << 31);
        let mut width = |must: bool| if must || self.random.below(3) == 0 { Type::I64 } else { Type::I32 };
        let widths = Widths { pos: width(false), crd: width(far) };
        let ty = if points.is_some() { Type::I64 } else { self.ty };
        self.long.operands.push(Operand { name, ty, sizes, format, widths, points, entries: vec![] });
    }

    /// A format of these extents: levels that have an array of their extent only where that is short.
    fn format(&mut self, extents: &[u64]) -> Format {
        let rank = extents.len();
        let mut order: Vec<usize> = (0..rank).collect();
        if self.random.below(3) == 0 {
            order.rotate_left(self.random.below(rank.max(1) as u64) as usize);
        }
        let (mut levels, mut fibers): (Vec<LevelKind>, u128) = (vec![], 1);
        while levels.len() < rank {
            let extent = extents[order[levels.len()]] as u128;
            let last = levels.len() + 1 == rank;
            use LevelKind::*;
            let mut kinds = vec![Compressed, Compressed, Compressed, Hashed, Nonunique];
            if fibers * extent <= CELLS {
                kinds.extend([Dense, Dense, Dense, Bytemap, Bitmap]);
                kinds.extend([Band, Runs, Packbits].into_iter().filter(|_| last));
            }
            kinds.extend([Vbl, Blocked].into_iter().filter(|_| last));
            let kind = self.random.one(&kinds);
            levels.push(kind);
            if kind == Nonunique {
                levels.resize(rank, Singleton);
            }
            fibers = (fibers * extent).min(CELLS);
        }
        Format { levels: levels.into(), order: order.into() }
    }

    /// A statement, and the declaration of its result if there is to be one.
    fn define(&mut self, result: &str, statement: &str) {
        if let Some((name, modes)) = result.split_once(':') {
            let sizes: Vec<usize> = modes.chars().map(|letter| self.size(letter)).collect();
            self.declare(name, &sizes);
        }
        let ty = self.ty.to_string();
        let mut line = String::new();
        for (n, part) in statement.split('?').enumerate() {
            let operator = self.random.one(&["*", "+", "-", "*", "+"]);
            line += if n > 0 { operator } else { "" };
            line += &part.replace("TYPE", &ty);
        }
        let protocols: Vec<String> = (0..self.long.operands.len()).filter_map(|n| self.protocol(n, &line)).collect();
        if !protocols.is_empty() {
            line += &format!(" schedule {{ {} }}", protocols.join(" "));
        }
        self.long.lines.push(line);
    }

    fn declare(&mut self, name: &str, sizes: &[usize]) {
        let extents: Vec<u64> = sizes.iter().map(|n| self.long.sizes[*n].extent).collect();
        let format = self.format(&extents);
        // Nothing else says what only a result has.
        for n in sizes {
            let read = self.long.operands.iter().any(|a| a.sizes.contains(n));
            self.long.sizes[*n].said |= !read;
        }
        let names: Vec<&str> = sizes.iter().map(|n| self.long.sizes[*n].name).collect();
        self.long.lines.push(format!("tensor {name}: {}[{}] {format}", self.ty, names.join(", ")));
    }

    /// How the statement iterates an operand along a mode, if it says so.
    fn protocol(&mut self, n: usize, line: &str) -> Option<String> {
        // What gathers, is gathered or is added to is in no nest of loops that could choose.
        if line.contains("[P") || line.contains("+=") {
            return None;
        }
        let Operand { name, format, .. } = self.long.operands[n].clone();
        let at = line.find(&format!("{name}["))?;
        let modes: Vec<&str> = line[at + name.len() + 1..].split(']').next()?.split(',').collect();
        if self.random.below(3) > 0 || modes.is_empty() || !modes.iter().all(|m| m.len() == 1) {
            return None;
        }
        let level = self.random.below(format.rank() as u64) as usize;
        let lists = format.levels[level].is_list();
        let protocol =
            self.random.one(if lists { &["gallop", "gallop", "walk", "locate"][..] } else { &["walk", "locate"] });
        Some(format!("protocol({name}[{}], {protocol});", modes[format.order[level]]))
    }

    /// A coordinate of a size's extent, or its border.
    fn within(&mut self, size: usize) -> u64 {
        let extent = self.long.sizes[size].extent;
        let any = self.random.below(extent);
        self.random.one(&[0, any, any / 2, extent - 1, extent / 2, any & !63])
    }

    fn compared(&mut self) {
        self.operands("A:IJ B:IJ");
        let j = self.size('J');
        let (c, op) = (self.within(j), self.random.one(&["<", "<=", ">", ">=", "=="]));
        let sign = self.random.one(&["-", "+"]);
        let d = self.random.one(&[1, 8, 4096, c, i64::MAX as u64]);
        let forms = [
            format!("R[i,j] = mask(j {sign} {d} {op} {c}, A[i,j]) ? B[i,j]"),
            format!("R[i,j] = mask(j - i {op} {c}, A[i,j]) ? B[i,j]"),
            format!("R[i,j] = mask({c} {sign} i {op} j, A[i,j])"),
            format!("R[i,j] = mask(j {op} {c}, A[i,j]) ? B[i,j]"),
            format!("R[i,j] = if j {op} {c} then A[i,j] else B[i,j]"),
            format!("R[i,j] = mask(j {op} i + {c}, A[i,j])"),
        ];
        let form = self.random.one(&forms);
        self.define("R:IJ", &form);
    }

    /// A vector beside itself, or another, some coordinates further or back.
    fn moved(&mut self) {
        self.operands("x:J z:J");
        let j = self.size('J');
        let (c, d) = (self.within(j), self.random.one(&[1, 2, 8, 64, 4096]));
        // Integers of an index are below 2⁶², and no index may exceed 64 bits.
        let far = self.random.one(&[c.min((1 << 62) - 1), d]);
        let (c, sign) = match self.long.sizes[j].extent {
            0..=0x3fff_ffff_ffff_ffff => (far, self.random.one(&["-", "+"])),
            _ => (far, "-"),
        };
        let moved = format!("coalesce(z[~(j {sign} {c})], convert(0, TYPE))");
        self.define("R:J", &format!("R[j] = x[j] ? {moved}"));
    }

    /// Two slices of as many coordinates, at other places.
    fn sliced(&mut self) {
        self.operands("x:J z:K");
        let (j, k) = (self.size('J'), self.size('K'));
        let [a, b] = [j, k].map(|n| self.long.sizes[n].extent);
        let step = self.random.one(&[1, 1, 1, 2, 3, 64]);
        let most = (a / step).min(b).max(1);
        let any = 1 + self.random.below(most);
        let n = self.random.one(&[most, any, any]);
        let (room, other) = (a.saturating_sub(n * step), b - n);
        let from = self.random.below(room + 1);
        let from = self.random.one(&[0, room, from]);
        let to = self.random.below(other + 1);
        let to = self.random.one(&[0, other, to]);
        let stop = (from + n * step).min(a);
        let n = (stop - from).div_ceil(step);
        let steps = if step == 1 { String::new() } else { format!(":{step}") };
        let parts =
            [format!("slice(x[j], j -> m, {from}:{stop}{steps})"), format!("slice(z[k], k -> m, {to}:{})", to + n)];
        if self.random.below(2) == 0 {
            self.define("s:", &format!("s[] = sum(m: {} * {})", parts[0], parts[1]));
            return;
        }
        let m = self.sized("M", n);
        self.declare("R", &[m]);
        self.define("", &format!("R[m] = {} ? {}", parts[0], parts[1]));
    }

    fn concatenated(&mut self) {
        let half = |m: &mut Self| m.random.one(&EXTENTS).min((1 << 62) - 1);
        let (a, b) = (half(self), half(self));
        let (j, k) = (self.sized("J", a), self.sized("K", b));
        self.operand("x", vec![j], None);
        self.operand("z", vec![k], None);
        let m = self.sized("M", a + b - 1);
        self.long.sizes[m].extent = a + b;
        self.operand("u", vec![m], None);
        self.declare("R", &[m]);
        self.define("", "R[m] = concat((x[j], z[k]), (j, k) -> m) ? u[m]");
    }

    /// A matrix as a vector, or a vector as a matrix.
    fn collapsed(&mut self) {
        let rows = self.random.one(&ROWS);
        let columns = self.random.one(&EXTENTS).min(i64::MAX as u64 / rows);
        let (i, j) = (self.sized("I", rows), self.sized("J", columns));
        let m = self.sized("M", rows * columns);
        if self.random.below(2) == 0 {
            self.operand("A", vec![i, j], None);
            self.operand("u", vec![m], None);
            self.declare("R", &[m]);
            self.define("", "R[m] = collapse(A[i,j], (i, j) -> m) ? u[m]");
        } else {
            self.operand("u", vec![m], None);
            self.operand("A", vec![i, j], None);
            self.declare("R", &[i, j]);
            self.define("", "R[i,j] = split(u[m], m -> (i, j)) ? A[i,j]");
        }
    }

    /// Weighted sums of neighbours.
    fn window(&mut self) {
        let extent = self.random.one(&EXTENTS[..13]);
        let width = self.random.one(&[1, 3, 9]);
        let (i, w) = (self.sized("J", extent), self.sized("W", width));
        let m = self.sized("M", extent + width - 1);
        self.operand("x", vec![m], None);
        self.operand("w", vec![w], None);
        self.declare("R", &[i]);
        self.define("", "R[j] = sum(d: x[j + d] * w[d])");
    }
}
