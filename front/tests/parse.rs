//! What the parser reads, what it says, and that print and read are inverse.

use fiberloom_core::notation::{Diagnostic, Span, syntax};
use fiberloom_front::{DEEPEST, parse, render};

fn read(text: &str) -> syntax::Program {
    let (program, diagnostics) = parse(text);
    assert!(diagnostics.is_empty(), "{}", render("test.loom", text, &diagnostics, false));
    program.expect("no diagnostics")
}

/// Each program reads, and its print reads as the same program.
#[test]
fn print_reads_back() {
    for text in [
        "dim I = 4\ntensor A: f64[I, 5] fill -inf {dense, compressed} order(1, 0)\ntensor s: f64[]\ns[] = 1",
        "tensor A: f64[I, 5, J] csf order(2, 0, 1)\ns[] = A[i,j,k]",
        "tensor A: f64[I, J] csr\ny[i] = A[i,j] * x[j]",
        "y[i] += a[i] - b[i] - (c[i] - d[i]) * -2 / -(3) % 4\ny[i] min= -a[i]",
        "y[i] = if a[i] < b[i] && !(c[i] == 0) || true then -inf else if z then nan else 1e300 + 0.5",
        "y[i] = (if a[i] > 1 then 2 else 3) + 1 << 2 >> 1 & 3 ^ 4 | 5",
        "y[i] = sum(j, k: A[i,j,k] start 3) + min(j: B[i,j]) * f() + convert(x[i], u8) + g(i) + select(true, 1, 2)",
        "y[l] = sum(j: concat((A[i,j], B[k,j]), (i,k) -> l) * x[j])",
        "c[k] = collapse(split(slice(B[i,j], j -> q, 0:8:2), q -> (r, s)), (r, s) -> k) + slice(a[i], i -> k, 1:2)",
        "D[i,j] = A[i(0:8), j(:20:2)] + B[i(3:), j(:)] + coalesce(a[~(i+2*k-5)/3%2 + 1], 0) + A[P[i], 2*(i+1)/2, 7]",
        "fn f(x: i64, y: u8) -> i64 {\n let a = abs(x); while a != 0 { a = a - 1; if a > 3 { a = 0; } else { a = 1; } }\n a } \
         where commutative, associative, idempotent, identity(0), annihilator(-1, 1), iterate(x & !(y | all) | !!x), \
         case(0, y) = y + 1",
        "R[i] = f(A[i], t[i]) where { t[i] = 2 * a[i] where { u[i] = 1 } w[] = 3 } schedule { none; }",
        "y[i] = a[i] schedule { pos(i -> p, T); coord(p -> i); collapse(i, j -> f); split(i -> a, b, 4); \
         split_up(i -> a, b, 4); reorder(i, j); precompute(a[i] * 2, i -> iw, W); \
         precompute(a[i], (i, j) -> (iw, jw), W); bound(i, 7); unroll(i, 2); parallelize(i, cpu_thread, no_races); \
         parallelize(i, gpu_warp, parallel_reduction); protocol(T[i], gallop); weigh(i, T, U); stage(sum(j: T[i,j]), t[i]); \
         store(t, dense); copy(T, {dense, compressed} order(1, 0)); }\nschedule { }",
    ] {
        let program = read(text);
        let printed = program.to_string();
        assert_eq!(read(&printed), program, "{printed}");
    }
}

fn messages(text: &str) -> Vec<String> {
    let (_, diagnostics) = parse(text);
    let rendered = render("p.loom", text, &diagnostics, false);
    rendered.lines().filter(|l| l.starts_with("p.loom:")).map(str::to_string).collect()
}

/// Several errors in one run, each with its place.
#[test]
fn several_errors() {
    let said = messages("tensor A: f65[I]\ny[i] = A[i] + \nz[i] = A[i] $ 3\nw[i] = (A[i]\ndim N 3\n");
    assert_eq!(said.len(), 5, "{said:#?}");
    assert_eq!(said[0], "p.loom:1:11: error: found `f65` where a type was expected");
    assert!(said[1].starts_with("p.loom:3:6: error: found `=` where "), "{said:#?}");
    assert_eq!(said[3], "p.loom:5:1: error: found `dim` where `)` or an operator was expected");
}

#[test]
fn comparisons_do_not_chain() {
    let said = messages("y[i] = a[i] < b[i] < c[i]");
    assert_eq!(said, ["p.loom:1:20: error: comparisons do not chain"]);
}

#[test]
fn numbers_that_are_too_large() {
    let said = messages("dim I = 99999999999999999999999\ny[] = 1e999");
    assert!(said.iter().any(|m| m.contains("`99999999999999999999999` is too large")), "{said:?}");
    assert!(said.iter().any(|m| m.contains("`1e999` is too large")), "{said:?}");
}

/// Whatever nests too deep is refused before anything recurses.
#[test]
fn deep_nesting_is_refused() {
    let n = 100_000;
    for text in [
        format!("y[] = {}1{}", "(".repeat(n), ")".repeat(n)),
        format!("y[] = {}1", "- ".repeat(n)),
        format!("y[] = 1{}", " + 1".repeat(n)),
        format!("y[] = {}1", "if true then 1 else ".repeat(n)),
        format!("y[] = 1 {}", "where { y[] = 1 ".repeat(n)),
        format!("y[{}", "a[".repeat(n)),
    ] {
        assert!(messages(&text)[0].contains("nests more than"), "{}", &text[..30]);
    }
}

/// No text makes the parser panic: prefixes and single-byte changes of a program that has everything.
#[test]
fn mutilated_programs() {
    let text = "dim I = 4\ntensor A: f64[I, J] fill -1.5e3 {dense, compressed} order(1, 0)\n\
                fn f(x: i64) -> i64 { let a = x; while a < 3 { a = a + 1; } a } where iterate(x | all)\n\
                y[i] = sum(j: concat((A[i,j], B[k,j(0:3:1)]), (i,k) -> l) * f(x[~j+1])) where { t[] = 1 }\n\
                schedule { split(i -> a, b, 4); }\n";
    for cut in 0..text.len() {
        let _ = messages(&text[..cut]);
        for byte in ["(", ")", "}", "=", "é", "9", " ", "~"] {
            let _ = messages(&format!("{}{byte}{}", &text[..cut], &text[cut + 1..]));
        }
    }
}

/// What stands behind `where`, `fill` or a property list is blamed itself, not what follows the item without it.
#[test]
fn the_furthest_error_is_reported() {
    for (text, place, says) in [
        ("y[i] = a[i] where {\n t[i] = \n}\nz[] = 1", "p.loom:3:1:", "found `}` where"),
        ("tensor A: f64[I] fill csr", "p.loom:1:23:", "found `csr` where a literal was expected"),
        ("fn f(x: i64) -> i64 { x } where associative, commutativ", "p.loom:1:46:", "a property"),
        ("y[i] = a b", "p.loom:1:11:", "where `[` was expected"),
        ("y[i] = a[i] schedule { unrol(i, 2); }", "p.loom:1:24:", "a schedule command"),
        ("tensor fill: f64[I]", "p.loom:1:8:", "found `fill` where a name was expected"),
        ("y[i] = sum(j: A[i,j]", "p.loom:1:21:", "found the end of the program where "),
        ("y[i] = a[i] ? 2", "p.loom:1:13:", "`?` begins no token"),
        ("y[i] = .5 * a[i]", "p.loom:1:8:", "`.` begins no token"),
        ("y[i] = a[i] + tensor", "p.loom:1:15:", "where an expression was expected"),
    ] {
        let said = messages(text);
        assert_eq!(said.len(), 1, "{text}: {said:#?}");
        assert!(said[0].starts_with(place) && said[0].contains(says), "{text}: {said:#?}");
    }
}

/// One box, in which a place stands once, whatever is said of it.
#[test]
fn a_drawing_is_one_box() {
    let text = "tensor A: f64[N, N] csr\ntensor x: f64[N] dense\n";
    let (a, x) = (Span::new(7, 8), Span::new(31, 32));
    let drawn = |d: Diagnostic| render("p.loom", text, &[d], false);
    let two = drawn(Diagnostic::new(x, "differs").label(x, "extent 4").label(a, "extent 3"));
    assert_eq!((two.matches("─[ p.loom").count(), two.matches("here").count()), (1, 0), "{two}");
    assert!(two.find("extent 3") < two.find("extent 4"), "{two}");
    let one = drawn(Diagnostic::new(a, "differs").label(a, "extent 3").label(a, "extent 4").label(a, "extent 3"));
    assert!(one.contains("── extent 3, extent 4\n"), "{one}");
}

/// A drawing has the line, the labels and the advice; columns count characters.
#[test]
fn drawings() {
    let text = "# é\ny[i] = sum(j: A[i,j]";
    let rendered = render("p.loom", text, &parse(text).1, false);
    assert!(rendered.contains("y[i] = sum(j: A[i,j]") && rendered.contains("this `(` is open"), "{rendered}");
    assert!(!rendered.contains('\u{1b}'), "no color unless asked");
    let text = "y[i] = é + inf[i]";
    assert!(messages(text)[0].starts_with("p.loom:1:8:"));
    assert!(render("p.loom", "dim fill = 2", &parse("dim fill = 2").1, false).contains("choose another name"));
}

/// More than two parts split one after the other.
#[test]
fn a_split_in_three() {
    let three = read("t[i,j,k] = split(a[m], m -> (i, j, k))");
    let twice = read("t[i,j,k] = split(split(a[m], m -> (i, j_k)), j_k -> (j, k))");
    assert_eq!(three, twice);
}

/// Trees at the limit are printed, compared and dropped on a small stack.
#[test]
fn the_deepest_trees_fit() {
    let n = DEEPEST / 4;
    let texts = [
        format!("y[] = {}1{}", "(".repeat(n), ")".repeat(n)),
        format!("y[] = {}x", "-".repeat(n)),
        format!("y[] = 1{}", " + 1".repeat(n)),
        format!("y[] = {}1", "if true then 1 else ".repeat(n)),
        format!("y[] = {}1{}", "f(1 + ".repeat(n), ")".repeat(n)),
        format!("y[] = {}1{}", "a[".repeat(n), "]".repeat(n)),
    ];
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        for text in texts {
            let program = read(&text);
            assert_eq!(read(&program.to_string()), program.clone());
        }
    });
    thread.expect("a thread").join().expect("no overflow");
}

/// A sequence of statements is no nesting.
#[test]
fn long_programs_are_not_deep() {
    let body = "if x < 1 { x = x + 1; } ".repeat(600);
    read(&format!("fn f(x: i64) -> i64 {{ {body} x }}\n{}", "y[i] = a[i] + b[i] * c[i]\n".repeat(600)));
}

/// Every example of the language page is one, and prints and reads back.
/// Items are read of some hundreds of tokens first: one of any length is read as if it stood alone.
#[test]
fn long_items_are_whole() {
    let rest = "z[i] = t[i] where { t[i] = x[i] } schedule { none; }\ntensor x: f64[I] {dense} order(0)\nw[i] = x[i]\n";
    let behind = read(rest).items;
    for terms in 0..160 {
        let first = format!("y[i] = x[i]{}", " + 1".repeat(terms));
        let statement = format!("{first} where {{ u[i] = 1 }} schedule {{ protocol(x[i], walk); none; }}\n");
        let items = read(&format!("{statement}{rest}")).items;
        assert_eq!(items.len(), 1 + behind.len(), "{terms}");
        assert!(
            matches!(&items[0], syntax::Item::Statement(s) if s.schedule.is_some() && s.locals.len() == 1),
            "{terms}"
        );
        let declared = format!("{first}\nschedule {{ none; }} {}", " schedule { none; }".repeat(2));
        assert_eq!(read(&declared).items.len(), 3, "{terms}");
    }
}

#[test]
fn the_language_page() {
    let page = include_str!("../../docs/language.md");
    let blocks: Vec<&str> = page.split("```loom\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 6, "{} blocks", blocks.len());
    for block in blocks {
        let program = read(block);
        assert_eq!(read(&program.to_string()), program, "{block}");
    }
}

/// The properties that the page's function declares are true of it.
#[test]
fn the_page_declares_what_is_so() {
    let page = include_str!("../../docs/language.md");
    let start = page.find("fn mygcd").expect("the page shows a function");
    let function = page[start..].split("\nR[i]").next().expect("a statement calls it");
    let text = format!("{function}\ntensor A: u64[I] sparse\ntensor R: u64[I] sparse\nR[i] = mygcd(A[i], 6)");
    fiberloom_passes::check::check(&read(&text)).expect("the checker takes it");
}

/// The reserved words that the page lists are those that cannot be names.
#[test]
fn reserved_words() {
    let words = "dim tensor fn fill order start where schedule let while if then else true false nan inf collapse split \
                 concat slice bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64";
    for word in words.split_whitespace() {
        let said = messages(&format!("dim {word} = 1"));
        assert_eq!(said, [format!("p.loom:1:5: error: found `{word}` where a name was expected")]);
    }
    read("dim all = 1\ndim none = 2\ndim csr = 3\ndim sum = 4\ndim commutative = 5\ndim reorder = 6");
}

/// What is read with any parentheses is printed with those that it needs.
#[test]
fn parentheses_are_minimal() {
    for (text, printed) in [
        ("y[] = ((a + b)) + (c)", "y[] = a + b + c\n"),
        ("y[] = a - (b - c)", "y[] = a - (b - c)\n"),
        ("y[] = (a * b) + (c << 1)", "y[] = a * b + (c << 1)\n"),
        ("y[] = (if a then b else c) * 2", "y[] = (if a then b else c) * 2\n"),
        ("y[] = if (a) then (b) else (c * 2)", "y[] = if a then b else c * 2\n"),
        ("y[] = (a < b) == (c < d)", "y[] = (a < b) == (c < d)\n"),
        ("y[] = -(-(a)) - -1 - (-(1))", "y[] = --a - -1 - -(1)\n"),
        ("y[] = -(a + b) * !(c)", "y[] = -(a + b) * !c\n"),
        ("y[] = -0.0 + -inf + 1e16 + 2", "y[] = -0.0 + -inf + 1e16 + 2\n"),
    ] {
        assert_eq!(read(text).to_string(), printed);
    }
}

/// Whole programs of every kind, among them some that only the checker refuses.
#[test]
fn whole_programs() {
    let all = include_str!("../testdata/programs.loom");
    let programs: Vec<&str> = all.split("# --- ").skip(1).filter_map(|p| p.split_once('\n')).map(|(_, p)| p).collect();
    assert!(programs.len() > 40, "{} programs", programs.len());
    for text in programs {
        let program = read(text);
        assert_eq!(read(&program.to_string()), program, "{text}");
    }
}
