//! Calls that are asked to end.

use fiberloom::{Error, Interrupt, Options, Program, operands};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A product of vectors with some 10¹³ terms: no machine computes it while a test waits.
const ENDLESS: &str = "tensor x: f64[N] dense  tensor s: f64[] dense
    s[] = sum(i, j, k: if x[i] * x[j] < x[k] then sqrt(x[i] + x[j] * x[k]) else 0.0)";

#[test]
fn a_call_ends_when_it_is_asked_to() {
    let kernel = Program::parse(ENDLESS).unwrap().compile(&Options::default()).unwrap();
    let x: Vec<f64> = (0..20_000).map(f64::from).collect();
    let interrupt = Arc::new(Interrupt::new());
    let mut call = kernel.bind(&operands! { x: &x }).unwrap().until(interrupt.clone());
    call.compile().unwrap();
    let asks = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        interrupt.ask();
        Instant::now()
    });
    let ended = call.run();
    let waited = asks.join().unwrap().elapsed();
    assert!(matches!(&ended, Err(Error::Stopped(what)) if what.contains("asked to end")), "{ended:?}");
    assert!(waited < Duration::from_secs(1), "{waited:?}");
}

#[test]
fn a_call_that_was_asked_before_it_began_does_not_run() {
    let kernel = Program::parse(ENDLESS).unwrap().compile(&Options::default()).unwrap();
    let x: Vec<f64> = (0..20_000).map(f64::from).collect();
    let interrupt = Arc::new(Interrupt::new());
    interrupt.ask();
    assert!(interrupt.is_asked());
    let ended = kernel.bind(&operands! { x: &x }).unwrap().until(interrupt).run();
    assert!(matches!(ended, Err(Error::Stopped(_))));
}
