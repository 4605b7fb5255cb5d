//! Reads the PTX that LLVM prints. What is not known is refused, with its line.

mod instruction;
mod name;

use super::Refused;
use super::flow::meets;
use super::ir::{Function, Instruction, Op, Reg, Ty};
use super::token::{Token, Tokens};
use instruction::Reader;
use std::collections::HashMap;

/// A label before it is found.
const NOWHERE: usize = usize::MAX;

/// The kernels of a text.
pub(super) fn functions(text: &str) -> Result<Vec<Function>, Refused> {
    let mut tokens = Tokens::of(text)?;
    let (mut all, mut shared) = (vec![], Areas::default());
    while let Some(token) = tokens.peek() {
        let line = tokens.line();
        match token {
            Token::Word(".version" | ".target" | ".address_size") => {
                tokens.take();
                rest_of_line(&mut tokens, line);
            }
            Token::Word(".visible" | ".weak") => _ = tokens.take(),
            Token::Word(".shared") => shared.declare(&mut tokens)?,
            Token::Word(".entry") => all.push(entry(&mut tokens, &shared)?),
            _ => return Err(tokens.unexpected("an entry or shared memory")),
        }
    }
    Ok(all)
}

/// Passes over what else stands in a line.
fn rest_of_line(tokens: &mut Tokens, line: u32) {
    while tokens.peek().is_some() && tokens.line() == line {
        tokens.take();
    }
}

/// Arrays in shared or local memory: each with its first byte.
#[derive(Clone, Default)]
pub(super) struct Areas {
    places: HashMap<String, u64>,
    bytes: u64,
}

impl Areas {
    /// Reads `.shared .align 8 .b8 name[64];`.
    fn declare(&mut self, tokens: &mut Tokens) -> Result<(), Refused> {
        tokens.take();
        let mut align = 1;
        let mut word = tokens.word()?;
        if word == ".align" {
            let given = u64::try_from(tokens.number()?).ok().filter(|n| n.is_power_of_two() && *n <= MOST);
            align = given.ok_or_else(|| tokens.refused("an alignment is a power of two"))?;
            word = tokens.word()?;
        }
        let ty = word.strip_prefix('.').and_then(Ty::named);
        let ty = ty.ok_or_else(|| tokens.refused(format!("`{word}`: the type of an array is expected")))?;
        let name = tokens.word()?.to_string();
        let mut elements = 1;
        if tokens.has('[') {
            elements = u64::try_from(tokens.number()?).map_err(|_| tokens.refused("an array has a length"))?;
            tokens.mark(']')?;
        }
        tokens.mark(';')?;
        let begin = self.bytes.next_multiple_of(align.max(ty.bytes()));
        let bytes = elements.saturating_mul(ty.bytes());
        self.bytes = begin.saturating_add(bytes);
        if self.bytes > MOST {
            return Err(tokens.refused(format!("arrays of {} bytes, of at most {MOST}", self.bytes)));
        }
        self.places.insert(name, begin);
        Ok(())
    }

    pub fn place(&self, name: &str) -> Option<u64> {
        self.places.get(name).copied()
    }
}

/// The most bytes of shared memory, and of a thread's local memory.
const MOST: u64 = 48 << 10;

fn entry(tokens: &mut Tokens, shared: &Areas) -> Result<Function, Refused> {
    tokens.take();
    let name = tokens.word()?.to_string();
    let (names, params) = params(tokens)?;
    // Bounds on threads are for the assembler.
    while let Some(Token::Word(".maxntid" | ".reqntid" | ".minnctapersm" | ".maxnreg")) = tokens.peek() {
        rest_of_line(tokens, tokens.line());
    }
    tokens.mark('{')?;
    let mut reader = Reader { params: names, shared: shared.clone(), ..Reader::default() };
    let mut code: Vec<Instruction> = vec![];
    let mut labels: HashMap<&str, usize> = HashMap::new();
    let mut wanted: Vec<(usize, &str, u32)> = vec![];
    let mut blocks = 1;
    while blocks > 0 {
        match tokens.peek() {
            // A register of a block may have the name of another's.
            Some(Token::Mark(mark @ ('{' | '}'))) => {
                tokens.take();
                blocks = if mark == '{' { blocks + 1 } else { blocks - 1 };
            }
            Some(Token::Word(".reg")) => reader.registers(tokens)?,
            Some(Token::Word(".shared")) => reader.shared.declare(tokens)?,
            Some(Token::Word(".local")) => reader.local.declare(tokens)?,
            Some(Token::Word(".pragma")) => {
                tokens.take();
                tokens.word()?;
                tokens.mark(';')?;
            }
            Some(Token::Word(label)) if tokens.peek_second() == Some(Token::Mark(':')) => {
                tokens.take();
                tokens.take();
                if labels.insert(label, code.len()).is_some() {
                    return Err(tokens.refused(format!("the label `{label}` is there twice")));
                }
            }
            _ => {
                let (instruction, label) = reader.instruction(tokens)?;
                wanted.extend(label.map(|label| (code.len(), label, instruction.line)));
                code.push(instruction);
            }
        }
    }
    for (at, label, line) in wanted {
        let unknown = || Refused { line, what: format!("there is no label `{label}`") };
        code[at].op = Op::Branch(*labels.get(label).ok_or_else(unknown)?);
    }
    let meets = meets(&code);
    let Reader { names, local, shared, .. } = reader;
    let (local, shared) = (local.bytes, shared.bytes);
    Ok(Function { name, params, code, registers: names.len(), names, local, shared, meets })
}

/// The parameters' names, with their places, and types.
fn params(tokens: &mut Tokens) -> Result<(HashMap<String, usize>, Vec<Ty>), Refused> {
    let (mut names, mut types) = (HashMap::new(), vec![]);
    tokens.mark('(')?;
    while !tokens.has(')') {
        if tokens.word()? != ".param" {
            return Err(tokens.refused("`.param` is expected"));
        }
        let word = tokens.word()?;
        let ty = word.strip_prefix('.').and_then(Ty::named);
        types.push(ty.ok_or_else(|| tokens.refused(format!("`{word}`: the type of a parameter is expected")))?);
        // What an address is known to be of: `.ptr .global .align 8`.
        let mut name = tokens.word()?;
        while name.starts_with('.') {
            if name == ".align" {
                tokens.number()?;
            }
            name = tokens.word()?;
        }
        names.insert(name.to_string(), types.len() - 1);
        tokens.has(',');
    }
    Ok((names, types))
}

impl Reader {
    /// Reads `.reg .b32 %r<8>;`.
    fn registers(&mut self, tokens: &mut Tokens) -> Result<(), Refused> {
        tokens.take();
        let word = tokens.word()?;
        let ty = word.strip_prefix('.').and_then(Ty::named);
        let ty = ty.ok_or_else(|| tokens.refused(format!("`{word}`: the type of registers is expected")))?;
        loop {
            let name = tokens.word()?;
            let count = if tokens.has('<') {
                let count = tokens.number()?;
                tokens.mark('>')?;
                Some(usize::try_from(count).ok().filter(|n| self.names.len() + n <= REGISTERS))
            } else {
                None
            };
            match count {
                None => self.register(name.to_string(), ty),
                Some(None) => return Err(tokens.refused(format!("more than {REGISTERS} registers"))),
                Some(Some(count)) => (0..count).for_each(|n| self.register(format!("{name}{n}"), ty)),
            }
            if !tokens.has(',') {
                return tokens.mark(';');
            }
        }
    }

    fn register(&mut self, name: String, ty: Ty) {
        self.known.insert(name.clone(), (self.names.len() as Reg, ty));
        self.names.push(name);
    }
}

/// The most registers of a kernel.
const REGISTERS: usize = 1 << 20;

/// A branch whose label is not looked up yet.
fn branch() -> Op {
    Op::Branch(NOWHERE)
}
