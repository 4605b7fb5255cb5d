//! The free variables of expressions.

use fiberloom_core::notation::concrete::{Expr, Index, Provenance};

/// The variables of a body that are not bound inside it, in order of appearance: loops' and parts' variables, of which mapped ones are
/// functions.
pub(super) fn free_in(graph: &Provenance, body: &Expr, bound: &[Index]) -> Vec<Index> {
    fn visit(graph: &Provenance, e: &Expr, bound: &mut Vec<Index>, free: &mut Vec<Index>) {
        let mut seen = |made_of: Vec<Index>| {
            for v in made_of {
                if !bound.contains(&v) && !free.contains(&v) {
                    free.push(v);
                }
            }
        };
        match e {
            Expr::Literal(_) => {}
            Expr::Index(v) => seen(graph.made_of(*v)),
            Expr::Access(a, _) => graph.accesses[a.0].vars.iter().for_each(|v| seen(graph.made_of(*v))),
            Expr::Column(c) => graph.accesses[c.of.0].vars.iter().for_each(|v| seen(graph.made_of(*v))),
            Expr::Concat(c, _) => {
                seen(c.of.factors.keys().copied().collect());
                for (v, part) in &c.parts {
                    bound.push(*v);
                    visit(graph, part, bound, free);
                    bound.pop();
                }
                c.outside.iter().for_each(|e| visit(graph, e, bound, free));
            }
            Expr::Call(_, args, _) => args.iter().for_each(|a| visit(graph, a, bound, free)),
            Expr::Where(made, _) => visit(graph, &made.nest.rhs, bound, free),
            Expr::Reduce(_, vars, body, _) => {
                let outer = bound.len();
                bound.extend(vars);
                visit(graph, body, bound, free);
                bound.truncate(outer);
            }
            Expr::Fold(fold, _) => {
                fold.start.iter().for_each(|e| visit(graph, e, bound, free));
                let outer = bound.len();
                bound.extend(&fold.vars);
                visit(graph, &fold.body, bound, free);
                bound.truncate(outer);
            }
        }
    }
    let mut free = Vec::new();
    visit(graph, body, &mut bound.to_vec(), &mut free);
    free
}
