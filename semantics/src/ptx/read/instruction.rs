//! Reads one instruction: its name with its modifiers, and its operands.

use super::super::Refused;
use super::super::ir::{
    Address, Atomic, Binary, Compare, Instruction, Kind, Op, Reg, Round, Shuffle, Source, Space, Ternary, Ty, Unary,
};
use super::super::token::{Token, Tokens, integer};
use super::name::{Name, binary, only, special, ternary, unary};
use super::{Areas, branch};
use std::collections::HashMap;

/// What is known while a kernel is read.
#[derive(Default)]
pub(super) struct Reader {
    pub params: HashMap<String, usize>,
    pub known: HashMap<String, (Reg, Ty)>,
    pub names: Vec<String>,
    pub shared: Areas,
    pub local: Areas,
}

impl Reader {
    /// An instruction, and the label of a branch.
    pub fn instruction<'t>(&self, tokens: &mut Tokens<'t>) -> Result<(Instruction, Option<&'t str>), Refused> {
        let line = tokens.line();
        let mut guard = None;
        if tokens.has('@') {
            let holds = !tokens.has('!');
            guard = Some((self.register_of(tokens, Kind::Predicate)?, holds));
        }
        let whole = tokens.word()?;
        let name = Name::of(whole, line);
        let mut label = None;
        let op = match name.parts[0] {
            "bra" => {
                label = Some(tokens.word()?);
                branch()
            }
            "ret" | "exit" => Op::Return,
            "mov" => self.moves(&name, tokens)?,
            "ld" => self.loads(&name, tokens)?,
            "st" => self.stores(&name, tokens)?,
            "atom" | "red" => self.atomics(&name, tokens)?,
            "cvt" => self.converts(&name, tokens)?,
            "cvta" => self.addresses(&name, tokens)?,
            "setp" => self.compares(&name, tokens)?,
            "bar" | "barrier" => self.barriers(&name, tokens)?,
            "shfl" => self.shuffles(&name, tokens)?,
            "membar" | "fence" => Op::Fence,
            _ => self.computes(&name, tokens)?,
        };
        tokens.mark(';')?;
        Ok((Instruction { guard, op, line }, label))
    }

    fn register_of(&self, tokens: &mut Tokens, kind: Kind) -> Result<Reg, Refused> {
        let line = tokens.line();
        let word = tokens.word()?;
        let (reg, ty) = self.register_named(word, line)?;
        match (kind == Kind::Predicate) == (ty.kind == Kind::Predicate) {
            true => Ok(reg),
            false => Err(Refused { line, what: format!("`{word}` is a register of another kind") }),
        }
    }

    fn register_named(&self, word: &str, line: u32) -> Result<(Reg, Ty), Refused> {
        let known = self.known.get(word).copied();
        known.ok_or_else(|| Refused { line, what: format!("`{word}` is no register that is declared") })
    }

    /// A register that gets a value of as many bits.
    fn into(&self, tokens: &mut Tokens, bits: u32) -> Result<Reg, Refused> {
        let line = tokens.line();
        let word = tokens.word()?;
        let (reg, ty) = self.register_named(word, line)?;
        // Bytes are kept in registers of 16 bits.
        match ty.bits == bits || bits == 8 && ty.bits >= 16 {
            true => Ok(reg),
            false => Err(Refused { line, what: format!("`{word}` has {} bits, and {bits} are written", ty.bits) }),
        }
    }

    /// A register that gets a value that is loaded, extended if it has more bits; and its own type.
    fn loaded_into(&self, tokens: &mut Tokens, ty: Ty) -> Result<(Reg, Ty), Refused> {
        let line = tokens.line();
        let word = tokens.word()?;
        let (reg, held) = self.register_named(word, line)?;
        match held.bits == ty.bits || held.bits > ty.bits && ty.kind != Kind::Float {
            true => Ok((reg, held)),
            false => {
                Err(Refused { line, what: format!("`{word}` has {} bits, and {} are written", held.bits, ty.bits) })
            }
        }
    }

    fn source(&self, tokens: &mut Tokens, ty: Ty) -> Result<Source, Refused> {
        self.source_of(tokens, ty, &|held| held.bits == ty.bits || ty.bits == 8 && held.bits >= 16)
    }

    /// What is stored: the low bits of a register that has more.
    fn stored(&self, tokens: &mut Tokens, ty: Ty) -> Result<Source, Refused> {
        self.source_of(tokens, ty, &|held| held.bits >= ty.bits)
    }

    fn source_of(&self, tokens: &mut Tokens, ty: Ty, fits: &dyn Fn(&Ty) -> bool) -> Result<Source, Refused> {
        let line = tokens.line();
        let word = tokens.word()?;
        let refused = |what: String| Err(Refused { line, what });
        if let Some((reg, held)) = self.known.get(word) {
            return match fits(held) {
                true => Ok(Source::Register(*reg)),
                false => refused(format!("`{word}` has {} bits, and {} are read", held.bits, ty.bits)),
            };
        }
        if let Some(special) = special(word) {
            return Ok(Source::Special(special));
        }
        let float = |digits: &str, bits| u64::from_str_radix(digits, 16).ok().filter(|_| ty.bits == bits);
        let number = match (word.strip_prefix("0d"), word.strip_prefix("0f")) {
            (Some(digits), _) => float(digits, 64),
            (_, Some(digits)) => float(digits, 32),
            _ => integer(word).map(|x| x as u64 & ty.mask()),
        };
        number
            .map_or_else(|| refused(format!("`{word}` is neither a register nor a number")), |x| Ok(Source::Number(x)))
    }

    fn sources<const N: usize>(&self, tokens: &mut Tokens, types: [Ty; N]) -> Result<[Source; N], Refused> {
        let mut all = [Source::Number(0); N];
        for (source, ty) in all.iter_mut().zip(types) {
            tokens.mark(',')?;
            *source = self.source(tokens, ty)?;
        }
        Ok(all)
    }

    fn address(&self, tokens: &mut Tokens) -> Result<Address, Refused> {
        tokens.mark('[')?;
        let line = tokens.line();
        let word = tokens.word()?;
        let base = match (self.known.get(word), self.area(word), integer(word)) {
            (Some((reg, ty)), ..) if ty.bits >= 32 => Source::Register(*reg),
            (_, Some(place), _) => Source::Number(place),
            (.., Some(place)) => Source::Number(place as u64),
            _ => return Err(Refused { line, what: format!("`{word}` is no address") }),
        };
        let offset = self.offset(tokens)?;
        Ok(Address { base, offset })
    }

    /// The rest of an address, from its offset on.
    fn offset(&self, tokens: &mut Tokens) -> Result<i64, Refused> {
        let offset = if tokens.has('+') { tokens.number()? } else { 0 };
        tokens.mark(']').map(|()| offset)
    }

    fn area(&self, name: &str) -> Option<u64> {
        self.shared.place(name).or(self.local.place(name))
    }

    fn moves(&self, name: &Name, tokens: &mut Tokens) -> Result<Op, Refused> {
        let ty = name.ty()?;
        if tokens.has('{') {
            let low = self.into(tokens, ty.bits / 2)?;
            tokens.mark(',')?;
            let high = self.into(tokens, ty.bits / 2)?;
            tokens.mark('}')?;
            let [of] = self.sources(tokens, [ty])?;
            return Ok(Op::Unpack([low, high], of, ty.bits / 2));
        }
        let into = self.into(tokens, ty.bits)?;
        tokens.mark(',')?;
        if tokens.has('{') {
            let half = Ty::new(Kind::Bits, ty.bits / 2);
            let low = self.source(tokens, half)?;
            let [high] = self.sources(tokens, [half])?;
            tokens.mark('}')?;
            return Ok(Op::Pack(into, [low, high], half.bits));
        }
        let area = tokens.peek().and_then(|token| if let Token::Word(word) = token { self.area(word) } else { None });
        if let Some(place) = area {
            tokens.take();
            return Ok(Op::Move(into, Source::Number(place)));
        }
        Ok(Op::Move(into, self.source(tokens, ty)?))
    }

    fn space(&self, name: &Name) -> Result<Space, Refused> {
        let spaces = [("global", Space::Global), ("shared", Space::Shared), ("local", Space::Local)];
        let found = name.parts.iter().find_map(|part| spaces.iter().find(|(named, _)| named == part));
        Ok(found.map_or(Space::Generic, |(_, space)| *space))
    }

    fn loads(&self, name: &Name, tokens: &mut Tokens) -> Result<Op, Refused> {
        let ty = name.ty()?;
        let modifiers = name.modifiers(1);
        if modifiers == ["param"] {
            let into = self.into(tokens, ty.bits)?;
            tokens.mark(',')?;
            tokens.mark('[')?;
            let line = tokens.line();
            let word = tokens.word()?;
            let place = self.params.get(word).copied();
            let place = place.ok_or_else(|| Refused { line, what: format!("`{word}` is no parameter") })?;
            return Ok(Op::Parameter(ty, into, place, self.offset(tokens)?));
        }
        only(
            name,
            modifiers,
            &["global", "shared", "local", "nc", "relaxed", "acquire", "weak", "gpu", "cta", "v2", "v4"],
        )?;
        let mut into = vec![];
        self.list(name, tokens, &mut |tokens| self.loaded_into(tokens, ty).map(|reg| into.push(reg)))?;
        tokens.mark(',')?;
        Ok(Op::Load(self.space(name)?, modifiers.contains(&"nc"), ty, into, self.address(tokens)?))
    }

    /// One operand, or as many as a vector has.
    fn list(
        &self,
        name: &Name,
        tokens: &mut Tokens,
        one: &mut dyn FnMut(&mut Tokens) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let lanes = if name.parts.contains(&"v4") { 4 } else { 1 + usize::from(name.parts.contains(&"v2")) };
        if lanes == 1 {
            return one(tokens);
        }
        tokens.mark('{')?;
        for lane in 0..lanes {
            if lane > 0 {
                tokens.mark(',')?;
            }
            one(tokens)?;
        }
        tokens.mark('}')
    }

    fn stores(&self, name: &Name, tokens: &mut Tokens) -> Result<Op, Refused> {
        let ty = name.ty()?;
        let modifiers = name.modifiers(1);
        only(name, modifiers, &["global", "shared", "local", "relaxed", "release", "weak", "gpu", "cta", "v2", "v4"])?;
        let address = self.address(tokens)?;
        tokens.mark(',')?;
        let mut of = vec![];
        self.list(name, tokens, &mut |tokens| self.stored(tokens, ty).map(|source| of.push(source)))?;
        Ok(Op::Store(self.space(name)?, ty, of, address))
    }

    fn atomics(&self, name: &Name, tokens: &mut Tokens) -> Result<Op, Refused> {
        let ty = name.ty()?;
        let functions = [
            ("add", Atomic::Add),
            ("min", Atomic::Min),
            ("max", Atomic::Max),
            ("and", Atomic::And),
            ("or", Atomic::Or),
            ("xor", Atomic::Xor),
            ("exch", Atomic::Exchange),
            ("cas", Atomic::Cas),
        ];
        let found = functions.iter().find(|(named, _)| name.parts.contains(named));
        let function = found.ok_or_else(|| name.unknown())?.1;
        let mut known = vec!["global", "shared", "relaxed", "acq_rel", "gpu", "cta", "sys"];
        known.extend(functions.iter().map(|(named, _)| named));
        only(name, name.modifiers(1), &known)?;
        if !is_atomic(name, function, ty) {
            return Err(name.unknown());
        }
        let mut into = None;
        if name.parts[0] == "atom" {
            into = Some(self.into(tokens, ty.bits)?);
            tokens.mark(',')?;
        }
        let address = self.address(tokens)?;
        let [first] = self.sources(tokens, [ty])?;
        let second = if function == Atomic::Cas { self.sources(tokens, [ty])?[0] } else { first };
        Ok(Op::Atomic(function, self.space(name)?, ty, into, address, [first, second]))
    }

    fn converts(&self, name: &Name, tokens: &mut Tokens) -> Result<Op, Refused> {
        let from = name.ty()?;
        let to = name.parts.len().checked_sub(2).and_then(|at| Ty::named(name.parts[at]));
        let to = to.ok_or_else(|| name.unknown())?;
        let rounds = [
            ("rn", Round::Near),
            ("rni", Round::Integer),
            ("rzi", Round::Zero),
            ("rmi", Round::Down),
            ("rpi", Round::Up),
        ];
        let modifiers = name.modifiers(2);
        let round = match modifiers {
            [] => Round::Near,
            [one] => rounds.iter().find(|(named, _)| named == one).ok_or_else(|| name.unknown())?.1,
            _ => return Err(name.unknown()),
        };
        let integral = from.kind == Kind::Float && to.kind != Kind::Float;
        if integral && round == Round::Near || from.kind == Kind::Predicate || to.kind == Kind::Predicate {
            return Err(name.unknown());
        }
        // A narrow result is in a register that is at least 16 bits wide, and may be wider than it.
        let into = self.any_register(tokens, to)?;
        tokens.mark(',')?;
        let of = match tokens.peek() {
            Some(Token::Word(word)) if self.known.contains_key(word) => {
                Source::Register(self.any_register(tokens, from)?.0)
            }
            _ => self.source(tokens, from)?,
        };
        Ok(Op::Convert { to, from, round, into, of })
    }

    /// A register that is at least as wide as a type.
    fn any_register(&self, tokens: &mut Tokens, ty: Ty) -> Result<(Reg, Ty), Refused> {
        let line = tokens.line();
        let word = tokens.word()?;
        let (reg, held) = self.register_named(word, line)?;
        match held.bits >= ty.bits {
            true => Ok((reg, held)),
            false => Err(Refused { line, what: format!("`{word}` has {} bits, fewer than {}", held.bits, ty.bits) }),
        }
    }

    fn addresses(&self, name: &Name, tokens: &mut Tokens) -> Result<Op, Refused> {
        only(name, name.modifiers(1), &["to", "global", "shared", "local"])?;
        let back = name.parts.contains(&"to");
        let word = Ty::new(Kind::Bits, 64);
        let into = self.into(tokens, 64)?;
        let [of] = self.sources(tokens, [word])?;
        Ok(Op::Generic { space: self.space(name)?, back, into, of })
    }

    fn compares(&self, name: &Name, tokens: &mut Tokens) -> Result<Op, Refused> {
        let ty = name.ty()?;
        let [how] = name.modifiers(1) else { return Err(name.unknown()) };
        let float = ty.kind == Kind::Float;
        let (how, unordered) = match how.strip_suffix('u').filter(|how| float && how.len() == 2) {
            Some(how) => (how, true),
            None => (*how, false),
        };
        let compare = match how {
            "eq" => Compare::Eq,
            "ne" => Compare::Ne,
            "lt" | "lo" => Compare::Lt,
            "le" | "ls" => Compare::Le,
            "gt" | "hi" => Compare::Gt,
            "ge" | "hs" => Compare::Ge,
            "num" if float => Compare::Ordered,
            "nan" if float => Compare::Unordered,
            _ => return Err(name.unknown()),
        };
        let into = self.register_of(tokens, Kind::Predicate)?;
        Ok(Op::Set(compare, unordered, ty, into, self.sources(tokens, [ty, ty])?))
    }

    fn barriers(&self, name: &Name, tokens: &mut Tokens) -> Result<Op, Refused> {
        let word = Ty::new(Kind::Bits, 32);
        match &name.parts[1..] {
            ["warp", "sync"] => Ok(Op::WarpBarrier(self.source(tokens, word)?)),
            ["sync"] | ["cta", "sync"] | ["sync", "aligned"] if self.source(tokens, word)? == Source::Number(0) => {
                Ok(Op::Barrier)
            }
            _ => Err(name.unknown()),
        }
    }

    fn shuffles(&self, name: &Name, tokens: &mut Tokens) -> Result<Op, Refused> {
        let word = Ty::new(Kind::Bits, 32);
        let how = match &name.parts[1..] {
            ["sync", "up", "b32"] => Shuffle::Up,
            ["sync", "down", "b32"] => Shuffle::Down,
            ["sync", "bfly", "b32"] => Shuffle::Butterfly,
            ["sync", "idx", "b32"] => Shuffle::Index,
            _ => return Err(name.unknown()),
        };
        let into = self.into(tokens, 32)?;
        let found = if tokens.has('|') { Some(self.register_of(tokens, Kind::Predicate)?) } else { None };
        Ok(Op::Shuffle(how, into, found, self.sources(tokens, [word; 4])?))
    }

    /// Functions of values.
    fn computes(&self, name: &Name, tokens: &mut Tokens) -> Result<Op, Refused> {
        let ty = name.ty()?;
        if let Some(op) = unary(name, ty) {
            let counts = matches!(op, Unary::Ones | Unary::LeadingZeros);
            let into = self.into(tokens, if counts { 32 } else { ty.bits })?;
            let [of] = self.sources(tokens, [ty])?;
            return Ok(Op::Unary(op, ty, into, of));
        }
        if let Some(op) = binary(name, ty) {
            let into = self.into(tokens, if op == Binary::MulWide { 2 * ty.bits } else { ty.bits })?;
            let second = if matches!(op, Binary::Left | Binary::Right) { Ty::new(Kind::Unsigned, 32) } else { ty };
            return Ok(Op::Binary(op, ty, into, self.sources(tokens, [ty, second])?));
        }
        if let Some(op) = ternary(name, ty) {
            let wide = Ty::new(ty.kind, 2 * ty.bits);
            let word = Ty::new(Kind::Unsigned, 32);
            let into = self.into(tokens, if op == Ternary::FusedWide { wide.bits } else { ty.bits })?;
            let types = match op {
                Ternary::Fused | Ternary::FunnelLeft { .. } | Ternary::FunnelRight { .. } => [ty; 3],
                Ternary::FusedWide => [ty, ty, wide],
                Ternary::Field => [ty, word, word],
            };
            return Ok(Op::Ternary(op, ty, into, self.sources(tokens, types)?));
        }
        if name.parts[0] == "selp" && name.parts.len() == 2 {
            let into = self.into(tokens, ty.bits)?;
            let [yes, no, which] = self.sources(tokens, [ty, ty, Ty::new(Kind::Predicate, 1)])?;
            return Ok(Op::Select(into, [yes, no], which));
        }
        Err(name.unknown())
    }
}

/// Whether there is such a read-modify-write: floats are added alone, and `red` gives nothing back that was found.
fn is_atomic(name: &Name, function: Atomic, ty: Ty) -> bool {
    let gives_back = matches!(function, Atomic::Exchange | Atomic::Cas);
    ty.bits >= 32 && (ty.kind != Kind::Float || function == Atomic::Add) && !(gives_back && name.parts[0] == "red")
}
