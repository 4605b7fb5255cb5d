//! What is read of PTX: entries, and instructions over numbered registers.
//!
//! A register holds up to 64 bits; those above its type's width are 0. A predicate is 0 or 1.

/// How an instruction understands bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Unsigned,
    Signed,
    Float,
    Bits,
    Predicate,
}

/// The type of an instruction's operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ty {
    pub kind: Kind,
    pub bits: u32,
}

impl Ty {
    pub const fn new(kind: Kind, bits: u32) -> Ty {
        Ty { kind, bits }
    }

    /// The type with this name, without its dot.
    pub fn named(name: &str) -> Option<Ty> {
        if name == "pred" {
            return Some(Ty::new(Kind::Predicate, 1));
        }
        let kind = match name.chars().next()? {
            'u' => Kind::Unsigned,
            's' => Kind::Signed,
            'f' => Kind::Float,
            'b' => Kind::Bits,
            _ => return None,
        };
        let bits = name[1..].parse().ok().filter(|bits| [8, 16, 32, 64].contains(bits))?;
        Some(Ty::new(kind, bits)).filter(|ty| kind != Kind::Float || ty.bits >= 32)
    }

    pub fn bytes(self) -> u64 {
        u64::from(self.bits.div_ceil(8))
    }

    /// The bits of a value of this type.
    pub fn mask(self) -> u64 {
        if self.bits >= 64 { u64::MAX } else { (1 << self.bits) - 1 }
    }

    /// What a register of another type, at least as wide, holds of a value: it is extended, by its sign if it has one.
    pub fn within(self, held: Ty, bits: u64) -> u64 {
        if self.kind == Kind::Signed { self.signed(bits) as u64 & held.mask() } else { bits }
    }

    /// A value as a signed number.
    pub fn signed(self, x: u64) -> i64 {
        let free = 64 - self.bits;
        ((x << free) as i64) >> free
    }
}

/// The number of a register.
pub(super) type Reg = usize;

/// What an instruction reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Register(Reg),
    Number(u64),
    Special(Special),
}

/// A register that says where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Special {
    /// The thread in its block.
    Thread,
    /// The threads of a block.
    Threads,
    /// The block.
    Block,
    /// The blocks.
    Blocks,
    /// The thread in its warp.
    Lane,
    /// A place in the other two dimensions, which are 1 wide.
    Zero,
    /// A width of the other two dimensions.
    One,
}

/// A part of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Space {
    Global,
    Shared,
    Local,
    /// Any of these, by the address.
    Generic,
}

/// An address: a register or a number, and an offset in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub base: Source,
    pub offset: i64,
}

/// Functions of one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unary {
    Not,
    Neg,
    Abs,
    Sqrt,
    Reciprocal,
    Ones,
    LeadingZeros,
    Reversed,
}

/// Functions of two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binary {
    Add,
    Sub,
    /// The low half of a product; of floats, the product.
    Mul,
    /// The high half.
    MulHigh,
    /// Both halves, in a register twice as wide.
    MulWide,
    Div,
    Rem,
    Min,
    Max,
    /// The least, or NaN if an argument is.
    MinNan,
    MaxNan,
    And,
    Or,
    Xor,
    Left,
    Right,
}

/// Functions of three values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ternary {
    /// `a · b + c`, rounded once; of integers its low half.
    Fused,
    /// `a · b + c`, where `c` is twice as wide.
    FusedWide,
    /// Bits of `a` from `b` on, `c` of them.
    Field,
    /// The high half of `b:a` shifted left by `c`, at most its width.
    FunnelLeft { clamps: bool },
    /// The low half of `b:a` shifted right by `c`.
    FunnelRight { clamps: bool },
}

/// Comparisons. Those of floats are false of a NaN, unless they are unordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Neither is NaN.
    Ordered,
    /// One is NaN.
    Unordered,
}

/// How a conversion rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Round {
    /// Not at all, or to the nearest float.
    Near,
    /// To the nearest integer, ties to even.
    Integer,
    /// To the integer nearest to zero.
    Zero,
    Down,
    Up,
}

/// Read-modify-write functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Atomic {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    /// Sets the second value where the first was found.
    Cas,
}

/// From which lane a shuffle reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What an instruction does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Move(Reg, Source),
    /// A value of halves, the low one first.
    Pack(Reg, [Source; 2], u32),
    Unpack([Reg; 2], Source, u32),
    Unary(Unary, Ty, Reg, Source),
    Binary(Binary, Ty, Reg, [Source; 2]),
    Ternary(Ternary, Ty, Reg, [Source; 3]),
    /// The flag says whether the comparison of floats holds of a NaN.
    Set(Compare, bool, Ty, Reg, [Source; 2]),
    /// The first where the predicate holds, else the second.
    Select(Reg, [Source; 2], Source),
    /// Into a register of a type that may be wider than the result.
    Convert {
        to: Ty,
        from: Ty,
        round: Round,
        into: (Reg, Ty),
        of: Source,
    },
    /// An address of a space as a generic one, or the inverse.
    Generic {
        space: Space,
        back: bool,
        into: Reg,
        of: Source,
    },
    /// A parameter, from a byte on.
    Parameter(Ty, Reg, usize, i64),
    /// The flag says whether nothing changes the element while the kernel runs.
    Load(Space, bool, Ty, Vec<(Reg, Ty)>, Address),
    Store(Space, Ty, Vec<Source>, Address),
    Atomic(Atomic, Space, Ty, Option<Reg>, Address, [Source; 2]),
    Branch(usize),
    Return,
    /// All threads of the block.
    Barrier,
    /// The lanes of a mask.
    WarpBarrier(Source),
    /// The value, the distance or lane, the clamp, and the lanes that take part.
    Shuffle(Shuffle, Reg, Option<Reg>, [Source; 4]),
    /// Orders a thread's accesses: atomics here are in order.
    Fence,
}

/// An instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Instruction {
    /// The predicate under which it is executed, and its value.
    pub guard: Option<(Reg, bool)>,
    pub op: Op,
    /// Its line in the text, from 1.
    pub line: u32,
}

/// A kernel.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub name: String,
    /// The types of the parameters.
    pub params: Vec<Ty>,
    pub code: Vec<Instruction>,
    /// How many registers there are.
    pub registers: usize,
    /// The names of registers, for messages.
    pub names: Vec<String>,
    /// The bytes of a thread's local memory, and of a block's shared memory.
    pub local: u64,
    pub shared: u64,
    /// For each instruction, where threads that part at it meet again; the code's length is its end.
    pub meets: Vec<usize>,
}
