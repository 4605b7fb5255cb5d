//! Programs that mean something else than their authors may think: what is said of them, and of those beside them nothing.

use fiberloom_core::notation::warnings;
use fiberloom_passes::check::check;

const TENSORS: &str = "tensor A: f64[I, J] csr\ntensor B: f64[J, K] csr\ntensor S: f64[K, K] csr\ntensor x: f64[J]\ntensor z: f64[I]\n\
    tensor n: i64[I]\ntensor p: i64[I]\ntensor b: bool[I]\n";

/// The warnings of a program behind these declarations, each with what it marks.
fn warned(text: &str) -> Vec<String> {
    let text = format!("{TENSORS}{text}");
    let (program, errors) = fiberloom_front::parse(&text);
    assert!(errors.is_empty(), "{text}\ndoes not parse: {errors:?}");
    let typed = check(&program.expect("parsed")).unwrap_or_else(|e| panic!("{text}\nis rejected: {e:?}"));
    let mark = |at: fiberloom_core::notation::Span| text[at.start as usize..at.end as usize].to_string();
    warnings(&typed).iter().map(|w| format!("{}: {}", mark(w.diagnostic.span), w.diagnostic.message)).collect()
}

#[track_caller]
fn warns(text: &str, expected: &[&str]) {
    let said = warned(text);
    let fits = said.len() == expected.len() && said.iter().zip(expected).all(|(said, start)| said.starts_with(start));
    assert!(fits, "{text}\nexpected: {expected:#?}\nsaid: {said:#?}");
}

#[test]
fn a_variable_that_occurs_once_in_a_product() {
    warns("y[i] = A[i,j] * x[k]", &["j: index variable `j` occurs once", "k: index variable `k` occurs once"]);
    warns("y[i] = z[i] + A[i,j] * z[i]", &["j: index variable `j` occurs once"]);
    warns("y[i] += A[i,j] * x[k]", &["j: index", "k: index"]);
    for quiet in [
        "y[i] = A[i,j] * x[j]",
        "y[i] = A[i,j]",
        "y[i] = 2.0 * A[i,j]",
        "y[i] = sum(j: A[i,j]) * z[i]",
        "y[i] = sum(j, k: A[i,j] * x[k])",
        "y[i] = A[i,j] * convert(j, f64) * z[i]",
        "y[i] = A[i,j] * slice(x[l], l -> j, 0:2)",
        "tensor y: f64[I]\ny[n[i]] += A[i,j] * x[j]",
        "C[i,k] = A[i,j] * B[j,k]",
        "y[j] = A[i,j] * x[p[i]]",
    ] {
        warns(quiet, &[]);
    }
}

#[test]
fn a_sum_of_a_functions_values() {
    /// What one program is said to mean, and what its author may mean.
    #[track_caller]
    fn doubtful(text: &str, name: &str, whole: &str, inside: &str) {
        let message = format!("the short form sums whole terms: this adds values of `{name}`");
        let said = warned(text);
        assert!(matches!(&said[..], [one] if one.ends_with(&message)), "{text}: {said:?}");
        let (program, _) = fiberloom_front::parse(&format!("{TENSORS}{text}"));
        let said = warnings(&check(&program.expect("parsed")).expect("it is right"));
        let help = said[0].diagnostic.help.as_deref().expect("both spellings");
        assert_eq!(help, format!("write `{whole}` if that is meant, `{inside}` if the sum is inside"));
    }
    doubtful("y[] = sqrt(z[i] * z[i])", "sqrt", "sum(i: sqrt(z[i] * z[i]))", "sqrt(sum(i: z[i] * z[i]))");
    doubtful(
        "y[i] = max(A[i,j] * x[j], 0.0)",
        "max",
        "sum(j: max(A[i,j] * x[j], 0.0))",
        "max(sum(j: A[i,j] * x[j]), 0.0)",
    );
    doubtful(
        "y[i] = 1.0 / (1.0 + exp(-(A[i,j] * x[j])))",
        "/",
        "sum(j: 1.0 / (1.0 + exp(-(A[i,j] * x[j]))))",
        "1.0 / (1.0 + exp(-sum(j: A[i,j] * x[j])))",
    );
    doubtful(
        "y[i] = if A[i,j] * x[j] > 0.5 then 1.0 else 0.0",
        "if",
        "sum(j: select(A[i,j] * x[j] > 0.5, 1.0, 0.0))",
        "select(sum(j: A[i,j] * x[j]) > 0.5, 1.0, 0.0)",
    );
    doubtful("y[] = 2.0 * (z[i] + 1.0)", "+", "sum(i: 2.0 * (z[i] + 1.0))", "2.0 * (sum(i: z[i]) + 1.0)");
    doubtful("y[] = 1.0 / z[i]", "/", "sum(i: 1.0 / z[i])", "1.0 / sum(i: z[i])");
    warns("y[k] = z[i] + sqrt(B[j,k] * x[j])", &["sqrt(B[j,k] * x[j]): the short form"]);
    for quiet in [
        "y[] = sum(i: sqrt(z[i] * z[i]))",
        "y[] = sqrt(sum(i: z[i] * z[i]))",
        "y[i] = max(sum(j: A[i,j] * x[j]), 0.0)",
        "y[i] = sqrt(z[i]) * A[i,j] * x[j]",
        "y[i] = exp(A[i,j]) * x[j]",
        "y[i] = -(2.0 * A[i,j] * x[j] / z[i])",
        "y[i] = mask(A[i,j] > 0.5, x[j])",
        "y[i] = if A[i,j] > 0.5 then 1.0 else 0.0",
        "c[] = convert(z[i] > 0.5, i64)",
        "y[] = convert(n[i], f64)",
        "y[] max= sqrt(z[i] * z[i])",
        "y[i] = sqrt(z[i] * z[i])",
    ] {
        warns(quiet, &[]);
    }
}

#[test]
fn a_fold_that_begins_with_a_fill() {
    warns("tensor y: f64[]\ny[] max= z[i]", &["y: `y` begins with its fill, 0"]);
    warns("tensor y: f64[] fill inf\ny[] min= z[i]", &[]);
    warns("tensor y: f64[]\ny[] += z[i]", &[]);
    warns("tensor y: f64[] fill 3\ny[] max= z[i]", &[]);
    warns("y[] max= z[i]", &[]);
    warns("tensor y: f64[]\ny[] = 1.0\ny[] max= z[i]", &[]);
}

#[test]
fn a_variable_of_a_where_block() {
    warns(
        "y[j] = w[j] * x[j] where { w[k] = A[i,j] * B[j,k] }",
        &["i: index variable `i` occurs once", "j: `j` in this `where` block"],
    );
    warns("y[j] = t[] * x[j] where { t[] = x[j] }", &["j: `j` in this `where` block"]);
    warns("y[j] = t[] * x[j] where { t[] = sum(j: x[j]) }", &[]);
    warns("y[j] = t[] * x[j] where { t[] = x[k] }", &[]);
}

#[test]
fn a_sum_of_truth_values() {
    warns("c[] = sum(i: z[i] > 0.0)", &["sum(i: z[i] > 0.0): a sum of truth values"]);
    warns("c[] = z[i] != 0.0", &["z[i] != 0.0: a sum of truth values"]);
    for quiet in ["c[] = count(i: z[i] > 0.0)", "c[] = any(i: z[i] > 0.0)", "c[] = sum(i: b[i])", "c[] = b[i] * b[i]"] {
        warns(quiet, &[]);
    }
}
