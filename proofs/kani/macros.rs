//! Kani's attributes, as far as harnesses here use them: they check their arguments and leave the function as it is.
//!
//! Source: the attributes page of Kani's book. `proof` takes no argument and stands on a function without parameters, `unwind` takes
//! a number of 32 bits, `solver` the name of one.

extern crate proc_macro;

use proc_macro::{Delimiter, TokenStream, TokenTree};

/// Marks a harness.
#[proc_macro_attribute]
pub fn proof(args: TokenStream, function: TokenStream) -> TokenStream {
    assert!(args.is_empty(), "`proof` takes no argument");
    let tokens: Vec<TokenTree> = function.clone().into_iter().collect();
    let keyword = tokens.iter().position(|t| t.to_string() == "fn").expect("`proof` stands on a function");
    match tokens.get(keyword + 2) {
        Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis => {
            assert!(g.stream().is_empty(), "a harness has no parameters");
        }
        _ => panic!("a harness has no generic parameters"),
    }
    // As with Kani, nobody calls it.
    let mut unused: TokenStream = "#[allow(dead_code)]".parse().expect("an attribute");
    unused.extend(function);
    unused
}

/// Says how often loops are unrolled.
#[proc_macro_attribute]
pub fn unwind(args: TokenStream, function: TokenStream) -> TokenStream {
    let bound = args.to_string();
    assert!(bound.parse::<u32>().is_ok(), "`unwind` takes a number of 32 bits, not `{bound}`");
    function
}

/// Says which solver is asked.
#[proc_macro_attribute]
pub fn solver(args: TokenStream, function: TokenStream) -> TokenStream {
    let name = args.to_string();
    let known = ["cadical", "kissat", "minisat"].contains(&name.as_str()) || name.starts_with("bin =");
    assert!(known, "`solver` takes cadical, kissat, minisat or bin = \"…\", not `{name}`");
    function
}
