use fiberloom_core::algebra::*;
use fiberloom_core::format::Format;
use fiberloom_core::loops::{Entry, Kernel, Stmt};
use fiberloom_core::notation::Span;
use fiberloom_core::notation::typed::{self, Fun, Index, Kind, Map, Size, SizeId, Tensor, TensorId, VarId};

struct B {
    p: typed::Program,
}
impl B {
    fn size(&mut self, n: &str) -> SizeId {
        if let Some(i) = self.p.sizes.iter().position(|s| s.name.as_deref() == Some(n)) {
            return SizeId(i as u32);
        }
        self.p.sizes.push(Size { name: Some(n.into()), value: None, span: Span::default() });
        SizeId(self.p.sizes.len() as u32 - 1)
    }
    fn var(&mut self, n: &str) -> VarId {
        self.p.vars.push(typed::Var { name: n.into(), span: Span::default() });
        VarId(self.p.vars.len() as u32 - 1)
    }
    fn t(&mut self, n: &str, sizes: &str, f: &str, role: typed::Role) -> TensorId {
        let sizes: Vec<SizeId> = sizes.split_whitespace().map(|s| self.size(s)).collect();
        let format = Format::named(f, sizes.len());
        self.p.tensors.push(Tensor {
            name: n.into(),
            ty: Type::F64,
            sizes,
            fill: Some(Value::zero(Type::F64)),
            format,
            role,
            span: Span::default(),
        });
        TensorId(self.p.tensors.len() as u32 - 1)
    }
}
fn at(t: TensorId, vars: &[VarId]) -> typed::Expr {
    typed::Expr { kind: Kind::Access(t, idx(vars)), ty: Type::F64, span: Span::default() }
}
fn idx(vars: &[VarId]) -> Vec<Index> {
    vars.iter().map(|v| Index { permit: false, map: Map::Var(*v), span: Span::default() }).collect()
}
fn op(o: Op, a: typed::Expr, b: typed::Expr) -> typed::Expr {
    typed::Expr { kind: Kind::Call(Fun::Op(o), vec![a, b]), ty: Type::F64, span: Span::default() }
}
fn sum(vars: &[VarId], b: typed::Expr) -> typed::Expr {
    typed::Expr {
        kind: Kind::Reduce { fun: Fun::Op(Op::Add), vars: vars.to_vec(), body: Box::new(b), start: None },
        ty: Type::F64,
        span: Span::default(),
    }
}
fn main() {
    let which = std::env::args().nth(1).unwrap();
    let mut b = B { p: Default::default() };
    use typed::Role::*;
    let (i, j, k) = (b.var("i"), b.var("j"), b.var("k"));
    let (t, vars, rhs) = match which.as_str() {
        "spmv" | "spmvc" | "spmvd" => {
            let f = match which.as_str() {
                "spmv" => "csr",
                "spmvc" => "csc",
                _ => "dcsr",
            };
            let a = b.t("A", "I J", f, Input);
            let x = b.t("x", "J", "dense", Input);
            let y = b.t("y", "I", "dense", Result);
            (y, vec![i], sum(&[j], op(Op::Mul, at(a, &[i, j]), at(x, &[j]))))
        }
        "add" | "addd" | "mulcsr" | "adddense" => {
            let f = if which == "addd" { "dcsr" } else { "csr" };
            let a = b.t("A", "I J", f, Input);
            let x = b.t("B", "I J", if which == "adddense" { "dense" } else { f }, Input);
            let y = b.t("C", "I J", if which == "adddense" { "dense" } else { f }, Result);
            (y, vec![i, j], op(if which == "mulcsr" { Op::Mul } else { Op::Add }, at(a, &[i, j]), at(x, &[i, j])))
        }
        "add3" => {
            let a = b.t("A", "I J", "dcsr", Input);
            let x = b.t("B", "I J", "csr", Input);
            let z = b.t("D", "I J", "dcsr", Input);
            let y = b.t("C", "I J", "csr", Result);
            (y, vec![i, j], op(Op::Add, op(Op::Add, at(a, &[i, j]), at(x, &[i, j])), at(z, &[i, j])))
        }
        "spgemm" => {
            let a = b.t("A", "I K", "csr", Input);
            let x = b.t("D", "K J", "csr", Input);
            let y = b.t("C", "I J", "csr", Result);
            (y, vec![i, j], sum(&[k], op(Op::Mul, at(a, &[i, k]), at(x, &[k, j]))))
        }
        "trans" => {
            let a = b.t("A", "I J", "csc", Input);
            let y = b.t("C", "I J", "csr", Result);
            (y, vec![i, j], at(a, &[i, j]))
        }
        "sddmm" => {
            let a = b.t("A", "I J", "csr", Input);
            let u = b.t("U", "I K", "dense", Input);
            let v = b.t("V", "K J", "dense", Input);
            let y = b.t("C", "I J", "csr", Result);
            (y, vec![i, j], op(Op::Mul, at(a, &[i, j]), sum(&[k], op(Op::Mul, at(u, &[i, k]), at(v, &[k, j])))))
        }
        "spmm" => {
            let a = b.t("A", "I K", "csr", Input);
            let x = b.t("B", "K J", "dense", Input);
            let y = b.t("C", "I J", "dense", Result);
            (y, vec![i, j], sum(&[k], op(Op::Mul, at(a, &[i, k]), at(x, &[k, j]))))
        }
        "mttkrp" => {
            let r = b.var("r");
            let x = b.t("X", "I K L", "csf", Input);
            let y = b.t("Y", "K R", "dense", Input);
            let z = b.t("Z", "L R", "dense", Input);
            let m = b.t("M", "I R", "dense", Result);
            (m, vec![i, r], sum(&[k, j], op(Op::Mul, op(Op::Mul, at(x, &[i, k, j]), at(y, &[k, r])), at(z, &[j, r]))))
        }
        "diag" => {
            let a = b.t("A", "I I", "dcsr", Input);
            let y = b.t("y", "I", "sparse", Result);
            (y, vec![i], at(a, &[i, i]))
        }
        "hoist" => {
            let a = b.t("A", "I J", "csr", Input);
            let x = b.t("B", "I K", "csr", Input);
            let z = b.t("D", "K J", "csc", Input);
            let y = b.t("C", "I J", "csr", Result);
            (y, vec![i, j], op(Op::Add, at(a, &[i, j]), sum(&[k], op(Op::Mul, at(x, &[i, k]), at(z, &[k, j])))))
        }
        _ => panic!(),
    };
    b.p.statements.push(typed::Statement {
        tensor: t,
        indices: idx(&vars),
        fold: None,
        rhs,
        vars,
        folded: vec![],
        schedule: None,
        span: Span::default(),
    });
    let l = fiberloom_core::lower(&b.p, &Default::default()).unwrap();
    println!("{}", l.concrete);
    println!("{}{}", l.show_looplets(), l.show_lattice());
    show(&l.kernel, &l.kernel.body, 0);
}
fn e(k: &Kernel, x: &fiberloom_core::loops::Expr) -> String {
    use fiberloom_core::loops::Expr as E;
    match x {
        E::Const(v) => format!("{v}"),
        E::Var(v) => k.vars[v.0 as usize].0.clone(),
        E::Load(b, i) => format!("{}[{}]", k.buffers[b.0 as usize].name, e(k, i)),
        E::Op(Op::Convert(_), a) => e(k, &a[0]),
        E::Op(o, a) if a.len() == 2 => format!("({} {} {})", e(k, &a[0]), o.name(), e(k, &a[1])),
        E::Op(o, a) => format!("{}({})", o.name(), a.iter().map(|x| e(k, x)).collect::<Vec<_>>().join(", ")),
        E::Capacity(b) => format!("cap({})", k.buffers[b.0 as usize].name),
    }
}
fn show(k: &Kernel, s: &[Stmt], d: usize) {
    let p = "  ".repeat(d);
    for s in s {
        match s {
            Stmt::Let(v, x) => println!("{p}let {} = {}", k.vars[v.0 as usize].0, e(k, x)),
            Stmt::Set(v, x) => println!("{p}{} = {}", k.vars[v.0 as usize].0, e(k, x)),
            Stmt::Store(b, i, x) => println!("{p}{}[{}] = {}", k.buffers[b.0 as usize].name, e(k, i), e(k, x)),
            Stmt::If(c, t, f) => {
                println!("{p}if {} {{", e(k, c));
                show(k, t, d + 1);
                if !f.is_empty() {
                    println!("{p}}} else {{");
                    show(k, f, d + 1);
                }
                println!("{p}}}");
            }
            Stmt::While(c, b) => {
                println!("{p}while {} {{", e(k, c));
                show(k, b, d + 1);
                println!("{p}}}");
            }
            Stmt::For { var, lo, hi, body, .. } => {
                println!("{p}for {} in {}..{} {{", k.vars[var.0 as usize].0, e(k, lo), e(k, hi));
                show(k, body, d + 1);
                println!("{p}}}");
            }
            Stmt::Call(c) => match c {
                Entry::Alloc { buffer, len, fill } => {
                    println!("{p}alloc {}[{}] = {fill:?}", k.buffers[buffer.0 as usize].name, e(k, len))
                }
                Entry::Reserve { buffer, len } => {
                    println!("{p}reserve {}[{}]", k.buffers[buffer.0 as usize].name, e(k, len))
                }
                Entry::Finish { buffer, len } => {
                    println!("{p}finish {}[{}]", k.buffers[buffer.0 as usize].name, e(k, len))
                }
                other => println!("{p}{other:?}"),
            },
            Stmt::Comment(c) => println!("{p}# {c}"),
        }
    }
}
